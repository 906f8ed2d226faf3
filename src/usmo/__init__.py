"""Exact, certified kernel classifiers from positive and unlabelled rows.

The names below are loaded when they are first used, so that ``usmo --help`` does not wait for a compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from usmo.estimators import PUSVC
    from usmo.files import load
    from usmo.homotopy import path
    from usmo.linear import LinearPUSVC
    from usmo.selection import PUSVCCV

_HOME = {
    "PUSVC": "usmo.estimators",
    "LinearPUSVC": "usmo.linear",
    "PUSVCCV": "usmo.selection",
    "load": "usmo.files",
    "path": "usmo.homotopy",
}

__all__ = ["PUSVC", "PUSVCCV", "LinearPUSVC", "load", "path"]
__version__ = "0.1.0.dev0"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'usmo' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})

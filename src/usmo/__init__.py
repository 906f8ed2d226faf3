"""Exact, certified kernel classifiers from positive and unlabelled rows.

The names below are imported when they are first used, so that ``usmo --help`` loads neither NumPy nor scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from usmo.system.version import __version__

if TYPE_CHECKING:
    from usmo.estimators.linear import LinearPUSVC
    from usmo.estimators.openset import OpenSetPUSVC
    from usmo.estimators.outliers import PUOutlierDetector
    from usmo.estimators.path import path
    from usmo.estimators.propensity import PropensityModel
    from usmo.estimators.pusvc import PUSVC
    from usmo.estimators.ramp import RampPUSVC
    from usmo.estimators.search import PUSVCCV
    from usmo.estimators.soft import fit_soft
    from usmo.files import load

__all__ = [
    "PUSVC", "PUSVCCV", "LinearPUSVC", "OpenSetPUSVC", "PUOutlierDetector", "PropensityModel", "RampPUSVC",
    "__version__", "fit_soft", "load", "path",
]  # fmt: skip

_HOME = {
    "PUSVC": "usmo.estimators.pusvc",
    "LinearPUSVC": "usmo.estimators.linear",
    "RampPUSVC": "usmo.estimators.ramp",
    "PUSVCCV": "usmo.estimators.search",
    "OpenSetPUSVC": "usmo.estimators.openset",
    "PropensityModel": "usmo.estimators.propensity",
    "PUOutlierDetector": "usmo.estimators.outliers",
    "fit_soft": "usmo.estimators.soft",
    "load": "usmo.files",
    "path": "usmo.estimators.path",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'usmo' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})

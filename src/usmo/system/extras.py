"""Libraries that come with an extra of the package, loaded where they are first needed."""

from __future__ import annotations

import importlib
from typing import Any


def load_extra(module: str, what: str, extra: str) -> Any:
    """The module; if it is not installed, an error that says what needs it and how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{what}: pip install 'usmo[{extra}]'") from error

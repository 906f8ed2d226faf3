"""Optional packages: imported where they are first needed, with a hint to the extra that installs them."""

from __future__ import annotations

import importlib
from typing import Any


def load_extra(module: str, purpose: str, extra: str) -> Any:
    """Import a module, or raise an ImportError that says what needs it and which extra installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f'{purpose}: pip install "usmo-learn[{extra}]"') from error

"""Exact, certified kernel classifiers from positive and unlabelled rows."""

from usmo.estimators import PUSVC
from usmo.homotopy import path

__all__ = ["PUSVC", "path"]
__version__ = "0.1.0.dev0"

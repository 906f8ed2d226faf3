"""Exact, certified kernel classifiers from positive and unlabelled rows."""

from usmo.estimators import PUSVC
from usmo.homotopy import path
from usmo.linear import LinearPUSVC

__all__ = ["PUSVC", "LinearPUSVC", "path"]
__version__ = "0.1.0.dev0"

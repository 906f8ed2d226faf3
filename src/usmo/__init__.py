"""Exact, certified kernel classifiers from positive and unlabelled rows."""

from usmo.estimators import PUSVC

__all__ = ["PUSVC"]
__version__ = "0.1.0.dev0"

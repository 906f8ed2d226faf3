"""Estimators of the prior for tests."""

from __future__ import annotations

from typing import Any

from usmo.priors import ESTIMATORS, PriorEstimator
from usmo.priors.base import BootstrappedPrior


def estimator(name: str, n_bootstrap: int, **parameters: Any) -> PriorEstimator:
    """The estimator of this name; ``n_bootstrap`` goes to those with a bootstrap interval."""
    cls = ESTIMATORS[name]
    return cls(**parameters, **({"n_bootstrap": n_bootstrap} if issubclass(cls, BootstrappedPrior) else {}))

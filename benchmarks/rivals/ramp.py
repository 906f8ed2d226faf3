"""RampPUSVC with its default λ and γ, the prior given (du Plessis, Niu, Sugiyama 2014)."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.estimators.ramp import RampPUSVC


def fit(X: Any, labels: np.ndarray, prior: float, seed: int) -> Any:
    return RampPUSVC(prior).fit(X, labels).decision_function

"""LinearPUSVC with its default λ, the prior given."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo import LinearPUSVC


def fit(X: Any, labels: np.ndarray, prior: float, seed: int) -> Any:
    return LinearPUSVC(prior).fit(X, labels).decision_function

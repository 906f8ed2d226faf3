"""A linear model with the non-negative PU risk (Kiryo et al. 2017), by pulearn."""

from __future__ import annotations

from typing import Any

import numpy as np


def fit(X: Any, labels: np.ndarray, prior: float, seed: int) -> Any:
    from pulearn import NNPUClassifier

    X = X.toarray() if hasattr(X, "toarray") else X
    model = NNPUClassifier(prior=prior, random_state=seed)
    model.fit(X, labels)
    return lambda Y: np.asarray(model.decision_function(Y.toarray() if hasattr(Y, "toarray") else Y)).ravel()

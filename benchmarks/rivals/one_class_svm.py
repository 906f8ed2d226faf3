"""One-class SVM on the labelled positives."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import OneClassSVM


def fit(X: Any, labels: np.ndarray, prior: float, seed: int) -> Any:
    return OneClassSVM(nu=0.1).fit(X[labels == 1]).decision_function

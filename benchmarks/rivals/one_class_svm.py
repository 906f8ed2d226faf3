"""One-class SVM on the labelled positives, thresholded so that a share π of the unlabelled rows is positive."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import OneClassSVM


def fit(X: Any, labels: np.ndarray, prior: float, seed: int) -> Any:
    model = OneClassSVM(nu=0.1).fit(X[labels == 1])
    threshold = np.quantile(model.decision_function(X[labels == 0]), 1.0 - prior)
    return lambda Y: model.decision_function(Y) - threshold

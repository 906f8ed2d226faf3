"""Mordelet and Vert's bagging SVM, by pulearn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import SVC


def fit(X: Any, labels: np.ndarray, prior: float, seed: int) -> Any:
    from pulearn import BaggingPuClassifier

    X = X.toarray() if hasattr(X, "toarray") else X
    samples = min(int(labels.sum()), int((labels == 0).sum()))
    model = BaggingPuClassifier(SVC(), n_estimators=20, max_samples=samples, oob_score=False, random_state=seed)
    model.fit(X, labels)
    return lambda Y: np.asarray(model.predict_proba(Y.toarray() if hasattr(Y, "toarray") else Y))[:, 1] - 0.5

"""Elkan and Noto's correction of SVC probabilities, by pulearn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import SVC


def fit(X: Any, labels: np.ndarray, prior: float, seed: int) -> Any:
    from pulearn import ElkanotoPuClassifier

    X = X.toarray() if hasattr(X, "toarray") else X
    for attempt in range(100):  # a random fifth of the rows is held out, and must contain a positive
        base = SVC(probability=True, random_state=seed)
        model = ElkanotoPuClassifier(base, hold_out_ratio=0.2, random_state=100 * seed + attempt)
        try:
            model.fit(X, labels)
            break
        except ValueError as error:
            if "hold-out" not in str(error) or attempt == 99:
                raise

    def decision(Y: Any) -> np.ndarray:
        values = np.asarray(model.predict_proba(Y.toarray() if hasattr(Y, "toarray") else Y))
        return (values[:, 1] if values.ndim == 2 else values) - 0.5

    return decision

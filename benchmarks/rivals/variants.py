"""Other ways to score rows with the learned kernels: by models that did not see them, and by several models.

Each function of ``(X, labels, test, seed, make)`` returns scores of the unlabelled rows and of held-out rows;
``make(seed)`` is a classifier that is not fitted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import StratifiedKFold

from benchmarks.rivals import tables

Scores = tuple[np.ndarray, np.ndarray]
Make = Callable[[int], Any]

FOLDS = 5
ENSEMBLE = 3


def plain(X: Any, labels: np.ndarray, test: Any, seed: int, make: Make) -> Scores:
    """One model, which has seen the unlabelled rows."""
    model = make(seed).fit(X, labels)
    return model.decision_function(X[labels == 0]), model.decision_function(test)


def cross_fitted(X: Any, labels: np.ndarray, test: Any, seed: int, make: Make) -> Scores:
    """Five models; each scores the unlabelled rows that it has not seen. All have seen the labelled rows."""
    scores, on_test = np.zeros(len(labels)), np.zeros(len(test))
    for kept, held in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, labels):
        kept = np.union1d(kept, np.flatnonzero(labels == 1))
        model = make(seed).fit(X[kept], labels[kept])
        scores[held] = model.decision_function(X[held])
        on_test += model.decision_function(test) / FOLDS
    return scores[labels == 0], on_test


def several(X: Any, labels: np.ndarray, test: Any, seed: int, make: Make) -> Scores:
    """The mean of f over three draws of the trees."""
    parts = [plain(X, labels, test, 1000 * k + seed, make) for k in range(ENSEMBLE)]
    return np.mean([u for u, _ in parts], axis=0), np.mean([t for _, t in parts], axis=0)


def with_votes(X: Any, labels: np.ndarray, test: Any, seed: int, make: Make) -> Scores:
    """The mean of the ranks of f and of the votes of PU bagging."""
    parts = plain(X, labels, test, seed, make), tables.pu_bagging(X, labels, test, seed, max_features="sqrt")
    on_u, on_test = (sum(rankdata(part[k]) for part in parts) for k in (0, 1))
    return on_u, on_test

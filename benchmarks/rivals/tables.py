"""Methods for tables that tell labelled from unlabelled rows: trees, boosting, logistic regression.

Each function of ``(X, labels, test, seed)`` returns scores of the unlabelled rows, from models that did not see
them (out of bag or five-fold cross-fitted), and of held-out rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

Scores = tuple[np.ndarray, np.ndarray]

TREES = 300


def pu_bagging(X: Any, labels: np.ndarray, test: Any, seed: int, max_features: Any = None) -> Scores:
    """Trees on all labelled rows against as many unlabelled ones, drawn with replacement; scores out of bag."""
    rng = np.random.default_rng(seed)
    X, test = X.astype(np.float32), test.astype(np.float32)
    P, U = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    total, count, held = np.zeros(len(U)), np.zeros(len(U)), np.zeros(len(test))
    y = np.repeat([1, 0], len(P))
    for k in range(TREES):
        drawn = rng.integers(len(U), size=len(P))
        tree = DecisionTreeClassifier(random_state=k, max_features=max_features)
        tree.fit(X[np.concatenate([P, U[drawn]])], y)
        out = np.ones(len(U), dtype=bool)
        out[drawn] = False
        total[out] += tree.predict_proba(X[U[out]])[:, 1]
        count[out] += 1
        held += tree.predict_proba(test)[:, 1]
    return total / np.maximum(count, 1), held / TREES


def random_forest(X: Any, labels: np.ndarray, test: Any, seed: int) -> Scores:
    """A random forest with balanced draws; scores out of bag."""
    model = RandomForestClassifier(
        TREES, min_samples_leaf=3, class_weight="balanced_subsample", oob_score=True, random_state=seed
    )
    model.fit(X, labels)
    return np.nan_to_num(model.oob_decision_function_[labels == 0, 1]), model.predict_proba(test)[:, 1]


def _cross_fitted(model: Any, X: Any, labels: np.ndarray, test: Any, seed: int) -> Scores:
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    scores = cross_val_predict(clone(model), X, labels, cv=folds, method="predict_proba")[:, 1]
    return scores[labels == 0], model.fit(X, labels).predict_proba(test)[:, 1]


def boosting(X: Any, labels: np.ndarray, test: Any, seed: int) -> Scores:
    """Histogram gradient boosting with balanced classes, cross-fitted."""
    model = HistGradientBoostingClassifier(class_weight="balanced", random_state=seed)
    return _cross_fitted(model, X, labels, test, seed)


def logistic(X: Any, labels: np.ndarray, test: Any, seed: int) -> Scores:
    """Logistic regression on standardised columns with balanced classes, cross-fitted."""
    model = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=300))
    return _cross_fitted(model, X, labels, test, seed)

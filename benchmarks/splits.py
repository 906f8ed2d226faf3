"""The tables of the quality benchmarks, and how their rows are labelled, unlabelled and held out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from usmo.datasets import LARGE, SMALL, load, make_pu

TASKS = {"shuttle": 1, "mnist": 3, "poker-hand": 0}
"""The positive class of tables with many classes."""

SKLEARN = {"breast cancer": (load_breast_cancer, 1), "digits": (load_digits, 3), "wine": (load_wine, 1)}
"""Tables of scikit-learn and their positive class."""

TABLES = (*SMALL, *LARGE, *SKLEARN)

IMAGES = tuple(f"{name} {digit}" for name in ("digits", "mnist") for digit in range(10))
"""Each digit of scikit-learn's images and of MNIST against the others, pixels from 0 to 1."""

MOST_ROWS = 4000
"""Unlabelled rows and held-out rows of a large table."""

Split = tuple[Any, np.ndarray, float, np.ndarray, Any, np.ndarray]


def split(name: str, draw: int, n_positives: int | None = None) -> Split:
    """X, labels, prior, the truth of the unlabelled rows, held-out rows and their truth.

    Small tables: a third of the rows is held out. Large tables: 4,000 unlabelled and 4,000 held-out rows. Columns of
    large tables and of those of scikit-learn are standardised, those of images are not. ``n_positives`` are labelled,
    at most half of those that are there; None is a fifth of them, and 100 in large tables.
    """
    rng = np.random.default_rng(draw)
    X, positive = _loaded(name)
    order = rng.permutation(len(positive))
    if len(positive) > 3 * MOST_ROWS:
        held, rest = order[:MOST_ROWS], order[MOST_ROWS:]
        labelled = rest[positive[rest]][: 100 if n_positives is None else n_positives]
        others = np.setdiff1d(rest, labelled, assume_unique=True)[:MOST_ROWS]
        rest = np.concatenate([labelled, rng.permutation(others)])
        labels = (np.arange(len(rest)) < len(labelled)).astype(int)
        prior = float(positive[rest[labels == 0]].mean())
    else:
        held, rest = order[: len(order) // 3], order[len(order) // 3 :]
        present = int(positive[rest].sum())
        number = round(0.2 * present) if n_positives is None else min(n_positives, present // 2)
        labels, prior = make_pu(positive[rest].astype(int), n_positives=number, random_state=draw)
    train, test = X[rest], X[held]
    if name in (*LARGE, *SKLEARN):
        scaler = MaxAbsScaler() if hasattr(X, "tocsr") else StandardScaler()
        train, test = scaler.fit_transform(train), scaler.transform(test)
    return train, labels, prior, positive[rest[labels == 0]], test, positive[held]


def dense_split(name: str, draw: int, n_positives: int | None = None) -> Split:
    """The same with dense rows."""
    X, labels, prior, truth, test, test_truth = split(name, draw, n_positives)
    X, test = (A.toarray() if hasattr(A, "toarray") else A for A in (X, test))
    return X, labels, prior, truth, test, test_truth


def _loaded(name: str) -> tuple[Any, np.ndarray]:
    """The rows of a table, and which of them are positive."""
    if name in SKLEARN:
        loader, positive = SKLEARN[name]
        X, y = loader(return_X_y=True)
        return X, y == positive
    if name in IMAGES:
        source, digit = name.split()
        X, y = load_digits(return_X_y=True) if source == "digits" else load(source)
        return X / X.max(), y == int(digit)
    X, y = load(name)
    return X, y == TASKS.get(name, 1)

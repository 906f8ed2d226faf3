"""Which columns matter, for all rows and for each: f is evaluated with a column of the table taken from other rows.

for a row x      effect_j = f(x) - mean_b f(x with column j of row b),   b random unlabelled rows
for all rows     loss_j = AUC of the rows - AUC of the rows with column j shuffled,   on held-out rows

A column of the table is all columns of X that encode it. Both need decision values only, so that they are the same for
every kernel.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score

from usmo.core.arrays import Array, Index

MOST_GROUPS = 120
"""Columns of the table up to which each is tried."""

_MOST_WIDTH = 3_000
"""Columns of a sparse X up to which its rows are made dense."""

_EVALUATED = 40_000
"""Rows evaluated for the effects, and again for the losses: some seconds at thousands of support vectors."""

_OTHERS = 16
"""Most random rows that a column is taken from."""

_SHUFFLED = 2_000
"""Most rows of a fold that are shuffled."""


def grouped(groups: Sequence[str]) -> dict[str, Index]:
    """The columns of X by the column of the table that they encode, in the order of the table."""
    order = {name: k for k, name in enumerate(dict.fromkeys(groups))}
    code = np.array([order[name] for name in groups], dtype=np.intp)
    return {name: np.flatnonzero(code == k) for name, k in order.items()}


def tried_columns(model: Any, X: Any, names: Sequence[str] | None) -> dict[str, Index]:
    """The columns of X by the column of the table that they encode; none if these are too many, or fewer than two."""
    groups = grouped([f"column {j + 1}" for j in range(X.shape[1])] if names is None else names)
    too_wide = sparse.issparse(X) and X.shape[1] > _MOST_WIDTH
    if getattr(model, "kernel", None) == "precomputed" or too_wide or not 2 <= len(groups) <= MOST_GROUPS:
        return {}
    return groups


def effects(
    decide: Callable[[Any], Array], X: Any, rows: Index, f: Array, groups: dict[str, Index], unlabelled: Index
) -> Array:
    """What each column adds to f of each row, compared with the same column of random unlabelled rows.

    ``f`` are the decision values of these rows.
    """
    size = len(rows) * len(groups)
    others = int(np.clip(_EVALUATED // max(1, size), 1, min(_OTHERS, len(unlabelled))))
    rng = np.random.default_rng(0)
    background = _dense(X, rng.choice(unlabelled, others, replace=False))
    own = _dense(X, rows)
    found = np.empty((len(rows), len(groups)))
    for k, columns in enumerate(groups.values()):
        replaced = np.repeat(own, others, axis=0)
        replaced[:, columns] = np.tile(background[:, columns], (len(rows), 1))
        found[:, k] = f - _values(decide, replaced).reshape(len(rows), others).mean(axis=1)
    return found


def losses(
    decide: Callable[[Any], Array],
    X: Any,
    rows: Index,
    labels: np.ndarray,
    groups: dict[str, Index],
    folds: int = 1,
) -> Array:
    """AUC of known positives against unlabelled rows that shuffling each column costs; ``labels`` are those of rows."""
    most = int(np.clip(_EVALUATED // (folds * len(groups)), 50, _SHUFFLED))
    rng = np.random.default_rng(0)
    parts = [np.flatnonzero(labels == kind) for kind in (1, 0)]
    some = np.concatenate([rng.permutation(part)[: most // 2] for part in parts])
    own, is_positive = _dense(X, rows[some]), labels[some] == 1
    base, lost = roc_auc_score(is_positive, _values(decide, own)), np.empty(len(groups))
    for k, columns in enumerate(groups.values()):
        shuffled = own.copy()
        shuffled[:, columns] = own[np.ix_(rng.permutation(len(own)), columns)]
        lost[k] = base - roc_auc_score(is_positive, _values(decide, shuffled))
    return lost


def _values(decide: Callable[[Any], Array], X: Array) -> Array:
    """Decision values of rows without names of columns, which scikit-learn warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(decide(X), dtype=np.float64)


def _dense(X: Any, rows: Index) -> Array:
    return np.asarray(X[rows].toarray() if sparse.issparse(X) else X[rows], dtype=np.float64)

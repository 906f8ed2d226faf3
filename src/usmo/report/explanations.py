"""Why a row stands where it does: the known positives nearest to it, and the columns that speak for it.

distance          ‖x - x_i‖ over the columns of X; of a kernel matrix, √(k_xx + k_ii - 2·k_xi)
linear models     w_j·(x_j - mean_U x_j): what column j adds to the score beyond the average unlabelled row
few columns       the share of the unlabelled rows that come as close to the nearest known positive in column j
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from usmo.core.arrays import Array, Index

FEW_COLUMNS = 64
"""Columns up to which single ones are compared; among more, some are close by chance."""

_RARE = 0.25
"""Largest share of rows as close for which a column is worth naming."""

_SAMPLE = 20_000
"""Unlabelled rows from which these shares are taken."""

_SHOWN = 3


class Neighbours(NamedTuple):
    """The nearest known positives of one row, nearest first: rows of the table and distances."""

    rows: Index
    distances: Array


def nearest_positives(
    X: Any, rows: Index, positives: Index, *, most: int = _SHOWN, precomputed: bool = False
) -> list[Neighbours]:
    """Up to ``most`` known positives for each of the rows; of two as near, the one that stands first."""
    most = min(most, len(positives))
    if precomputed:
        diag = np.asarray(X.diagonal(), dtype=np.float64)
        block = X[rows][:, positives]
        cross = np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)
        squared = diag[rows][:, None] + diag[positives][None, :] - 2.0 * cross
        distances = np.sqrt(np.maximum(0.0, squared))
        candidates = np.tile(np.arange(len(positives)), (len(rows), 1))
    else:
        # distances come in blocks and from products, whose rounding matters for near equals: take more, look again
        search = NearestNeighbors(n_neighbors=min(2 * most + 2, len(positives)), algorithm="brute")
        candidates = search.fit(X[positives]).kneighbors(X[rows], return_distance=False)
        distances = np.stack(
            [_distances(X, row, positives[some]) for row, some in zip(rows, candidates, strict=True)]
        )
    found = []
    for some, distance in zip(candidates, distances, strict=True):
        order = np.lexsort((some, distance))[:most]
        found.append(Neighbours(positives[some[order]], distance[order]))
    return found


def _distances(X: Any, row: int, others: Index) -> Array:
    if sparse.issparse(X):
        difference = X[others] - sparse.vstack([X[[row]]] * len(others)).tocsr()
        return np.sqrt(np.asarray(difference.multiply(difference).sum(axis=1), dtype=np.float64).ravel())
    return np.asarray(np.linalg.norm(np.asarray(X[others], dtype=np.float64) - X[row], axis=1))


def raising_columns(X: Any, coef: Array, rows: Index, unlabelled: Index) -> list[list[tuple[int, float]]]:
    """For each row the columns that raise its linear score most above the average, with what they add."""
    mean = np.asarray(X[unlabelled].mean(axis=0), dtype=np.float64).ravel()
    found = []
    for row in rows:
        x = X[[row]].toarray().ravel() if sparse.issparse(X) else np.asarray(X[row], dtype=np.float64)
        added = coef * (x - mean)
        best = np.argsort(-added, kind="stable")[:_SHOWN]
        found.append([(int(j), float(added[j])) for j in best if added[j] > 0])
    return found


def close_columns(
    X: Any, rows: Index, nearest: Index, unlabelled: Index, *, seed: int = 0
) -> list[list[tuple[int, float]]]:
    """For each row the columns in which few unlabelled rows come as close to its nearest known positive."""
    if len(unlabelled) > _SAMPLE:
        unlabelled = np.sort(np.random.default_rng(seed).choice(unlabelled, _SAMPLE, replace=False))
    share = np.empty((len(rows), X.shape[1]))
    for j in range(X.shape[1]):
        column = X[:, [j]].toarray().ravel() if sparse.issparse(X) else np.asarray(X[:, j])
        column = column.astype(np.float64)
        ordered, centre = np.sort(column[unlabelled]), column[nearest]
        # a hair wider, so that rounding does not lose the row itself
        reach = np.abs(column[rows] - centre) * (1.0 + 1e-12) + 1e-12 * np.abs(centre)
        inside = np.searchsorted(ordered, centre + reach, side="right")
        inside = inside - np.searchsorted(ordered, centre - reach, side="left")
        share[:, j] = np.maximum(1, inside) / len(unlabelled)
    found = []
    for part in share:
        best = np.argsort(part, kind="stable")[:_SHOWN]
        found.append([(int(j), float(part[j])) for j in best if part[j] <= _RARE])
    return found

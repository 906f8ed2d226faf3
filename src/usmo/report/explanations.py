"""Why a row ranks where it does: the known positives nearest to it, and the columns that speak for it.

distance          ‖x - x_i‖ over the columns of X; for a kernel matrix, √(k_xx + k_ii - 2·k_xi)
linear models     w_j·(x_j - mean_U x_j): what column j adds to the score beyond the average unlabelled row
text              w_j·x_j summed over the columns of a word: what the word adds to the score
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from usmo.core.arrays import Array, Index

_SHOWN = 3
"""Known positives, and columns, shown for each row."""

_WORDS = 5
"""Words shown that speak for a row, and that speak against it."""


class Neighbours(NamedTuple):
    """The nearest known positives of one row, nearest first: rows of the table and distances."""

    rows: Index
    distances: Array


def nearest_positives(
    X: Any, rows: Index, positives: Index, *, most: int = _SHOWN, precomputed: bool = False
) -> list[Neighbours]:
    """Up to ``most`` known positives for each of the rows; of two equally near, the first in the table."""
    most = min(most, len(positives))
    if precomputed:
        diag = np.asarray(X.diagonal(), dtype=np.float64)
        block = X[rows][:, positives]
        cross = np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)
        squared = diag[rows][:, None] + diag[positives][None, :] - 2.0 * cross
        distances = np.sqrt(np.maximum(0.0, squared))
        candidates = np.tile(np.arange(len(positives)), (len(rows), 1))
    else:
        # the search gets distances from products, which round: take more candidates, compute theirs directly
        search = NearestNeighbors(n_neighbors=min(2 * most + 2, len(positives)), algorithm="brute")
        candidates = search.fit(X[positives]).kneighbors(X[rows], return_distance=False)
        distances = np.stack(
            [_distances(X, row, positives[some]) for row, some in zip(rows, candidates, strict=True)]
        )
    neighbours = []
    for some, distance in zip(candidates, distances, strict=True):
        order = np.lexsort((some, distance))[:most]
        neighbours.append(Neighbours(positives[some[order]], distance[order]))
    return neighbours


def _distances(X: Any, row: int, others: Index) -> Array:
    if sparse.issparse(X):
        difference = X[others] - sparse.vstack([X[[row]]] * len(others)).tocsr()
        return np.sqrt(np.asarray(difference.multiply(difference).sum(axis=1), dtype=np.float64).ravel())
    return np.asarray(np.linalg.norm(np.asarray(X[others], dtype=np.float64) - X[row], axis=1))


def raising_columns(X: Any, coef: Array, rows: Index, unlabelled: Index) -> list[list[tuple[int, float]]]:
    """For each row, the columns that raise its linear score most above the average, with what they add."""
    mean = np.asarray(X[unlabelled].mean(axis=0), dtype=np.float64).ravel()
    columns = []
    for row in rows:
        x = X[[row]].toarray().ravel() if sparse.issparse(X) else np.asarray(X[row], dtype=np.float64)
        added = coef * (x - mean)
        best = np.argsort(-added, kind="stable")[:_SHOWN]
        columns.append([(int(j), float(added[j])) for j in best if added[j] > 0])
    return columns


def speaking_words(
    X: Any, coef: Array, rows: Index, words: list[str]
) -> list[tuple[list[tuple[str, float]], list[tuple[str, float]]]]:
    """For each row, the words that raise its linear score most and those that lower it most, with what they add."""
    table, spoken = sparse.csr_matrix(X[rows]), []
    for start, end in pairwise(table.indptr):
        added: dict[str, float] = defaultdict(float)
        for j, value in zip(table.indices[start:end].tolist(), table.data[start:end].tolist(), strict=True):
            added[words[j]] += float(coef[j]) * value
        order = sorted(added.items(), key=lambda item: (-item[1], item[0]))
        below = [item for item in reversed(order) if item[1] < 0]
        spoken.append(([item for item in order if item[1] > 0][:_WORDS], below[:_WORDS]))
    return spoken

"""Samples of rows that depend only on which rows there are and with what total weight.

Neither the order of the rows matters, nor whether a row is repeated or has that weight: equal rows become one with the
sum of their weights, and every draw follows a pseudo-random key of the row's values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from usmo.core.arrays import Array, Index
from usmo.kernels.row_blocks import PartFeatures, as_features
from usmo.kernels.tables import over_chunks, tile_slices

Keys = NDArray[np.uint64]

_MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)
"""Odd constants of the hash splitmix64."""


def row_keys(X: Any, seed: int, rows: Index | None = None) -> Keys:
    """A pseudo-random number for each row, or each of ``rows``, that depends only on its values and the seed.

    The same for sparse and dense rows: the key is a hash of the sum of hashes of the entries that are not zero.
    """
    features = as_features(X)
    keys = np.empty(X.shape[0] if rows is None else len(rows), dtype=np.uint64)
    columns = np.arange(1, X.shape[1] + 1, dtype=np.uint64)
    salts = _mixed(_MULTIPLIERS[0] * (columns + _MULTIPLIERS[1:2] * np.uint64(seed)))

    def work(part: slice) -> None:
        block = features.read(part) if rows is None else features.take(rows[part])
        if sparse.issparse(block):
            block = block.tocsr(copy=True)
            block.sum_duplicates()
            ends = np.append(np.uint64(0), np.cumsum(_entry_hashes(block.data, salts[block.indices])))
            keys[part] = np.diff(ends[block.indptr])
        else:
            keys[part] = _entry_hashes(np.asarray(block), salts).sum(axis=1, dtype=np.uint64)

    size = len(keys), entries_per_row(X)
    if isinstance(features, PartFeatures):  # few reads of files, one after the other
        for part in tile_slices(*size):
            work(part)
    else:
        over_chunks(work, *size)
    return _mixed(keys)


def _entry_hashes(values: Any, salts: Keys) -> Keys:
    """A hash of each entry and its column, 0 for entries that are 0; sums of them wrap around."""
    bits = np.add(values, 0.0, dtype=np.float64, order="C").view(np.uint64)  # + 0.0 turns -0.0 into 0.0
    hashes = _mixed(bits ^ salts)
    hashes[bits == 0] = 0
    return hashes


def _mixed(x: Keys) -> Keys:
    """The last steps of splitmix64, a permutation of the numbers of 64 bits."""
    x = (x ^ (x >> np.uint64(30))) * _MULTIPLIERS[1]
    x = (x ^ (x >> np.uint64(27))) * _MULTIPLIERS[2]
    return x ^ (x >> np.uint64(31))


def entries_per_row(X: Any) -> int:
    """Numbers that a row of the table holds, on average if it is sparse."""
    return max(1, -(-X.nnz // max(1, X.shape[0])) if sparse.issparse(X) else X.shape[1])


def take_rows(X: Any, rows: Index) -> Any:
    """Rows of a table in any order, in memory."""
    if not isinstance(X, PartFeatures):
        return X[rows]
    order = np.argsort(rows)
    return X.take(rows[order])[np.argsort(order)]


def distinct_rows(
    X: Any, rows: Index, weight: Array | None, seed: int, most: int | None = None, groups: Index | None = None
) -> tuple[Index, Array]:
    """The distinct ones among ascending ``rows`` of a table in the order of their keys, with their total weights.

    Of more than ``most`` a sample is taken in proportion to the weights: the weight returned is the number of times
    that a row was drawn, and their sum is ``most``. ``weight`` and ``groups`` have an entry for every row of the
    table. Equal rows of different groups are distinct.
    """
    keys: Any = row_keys(X, seed, rows)
    if groups is not None:
        keys = np.rec.fromarrays([keys, groups[rows]])
    _, first, equal = np.unique(keys, return_index=True, return_inverse=True)
    mass = np.bincount(equal, weights=None if weight is None else weight[rows]).astype(np.float64)
    chosen = rows[first]
    if most is None or len(chosen) <= most:
        return chosen, mass
    # in the random order of the keys every k-th row of equal weights is a random sample; the offset keeps the sums of
    # weights away from integers, so that their rounding decides nothing
    ends = np.cumsum(mass)
    count = np.diff(np.floor(ends / ends[-1] * most + 0.382), prepend=0.0)
    return chosen[count > 0], count[count > 0]


def distinct_rows_by_kind(
    X: Any, kinds: list[Index], weight: Array | None, seed: int, most: int, groups: Index | None
) -> tuple[list[tuple[Index, Array]], Index | None]:
    """The distinct rows of each kind with their weights, and the groups; None if no group has two of these rows."""
    found = [distinct_rows(X, rows, weight, seed, most, groups) for rows in kinds]
    if groups is not None and np.bincount(groups[np.concatenate([rows for rows, _ in found])]).max() == 1:
        return distinct_rows_by_kind(X, kinds, weight, seed, most, None)
    return found, groups

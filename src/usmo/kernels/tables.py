"""Dense or CSR tables: joining them, cutting them into tiles, and when a sparse one is better held dense."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from usmo.core.arrays import Array, Index
from usmo.kernels.dense_loops import (
    LARGE,
    mark_varying,
    over_pieces,
    suits_loops,
    write_centred,
    write_norms,
)
from usmo.kernels.threads import over_tiles

TILE_BYTES = 32 * 2**20
"""Largest temporary block: it fits the last-level cache of a desktop processor."""

_VANISHING = 745.0
"""exp(-t) is 0 in float64 for any larger t."""

FAR_ABOVE = 2.0**24
"""γ·max‖x‖² above which ‖x‖² + ‖y‖² - 2x·y loses more than 24 bits of centred rows, too: distances of near rows are
then computed from their differences. gamma="scale" stays below on dense tables of fewer rows."""

_CHUNK_BYTES = 2**18
"""Rows that are read once are read in chunks of this size as float64, which stay in the cache of a core."""

_FIRST = 256
"""Rows that are compared first to find constant columns: most columns differ in them."""

_THIN = 0.02
"""Share of non-zeros above which tiles of a sparse table are dense: fits on adult (11 %) take 0.4 of the time."""


def rows_together(parts: list[Any]) -> Any:
    """Stack the rows of several tables, all dense or all CSR."""
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def worth_dense(X: Any) -> bool:
    """Whether parts of a sparse table are multiplied faster as dense ones."""
    return bool(X.nnz > _THIN * X.shape[0] * X.shape[1])


def squared_norms(X: Any) -> Any:
    """‖x‖² of every row, in float64."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return squared_distances(X, 0.0)


def squared_distances(X: Any, origin: float) -> Array:
    """Σ(x - origin)² over the entries of every row of a dense table, in float64."""
    out = np.empty(X.shape[0])

    def work(part: slice) -> None:
        chunk = np.subtract(X[part], origin, dtype=np.float64)
        np.einsum("ij,ij->i", chunk, chunk, out=out[part])

    if suits_loops(X):
        centre = np.full(X.shape[1], float(origin))
        over_pieces(lambda first, last: write_norms(X, centre, first, last, out), len(X))
    else:
        over_chunks(work, *X.shape)
    return out


def squared_distances_from(products: Array, a2: Array, b2: Array) -> Array:
    """‖a - b‖² = ‖a‖² + ‖b‖² - 2a·b, in the place of the products."""
    products *= -2.0
    products += a2[:, None]
    products += b2
    return np.maximum(products, 0.0, out=products)


def correct_near(squares: Array, A: Any, B: Any, norms: tuple[Array, Array], gamma: float) -> None:
    """Compute ‖a - b‖² anew, from a - b, for rows that are far from the origin and may be near each other.

    ``squares`` holds ‖a‖² + ‖b‖² - 2a·b, whose rounding error is a share of ``norms``, ‖a‖² and ‖b‖². Two rows
    that are near each other are about as far from the origin, so pairs with a row that is not far need no correction.
    """
    far = tuple(np.flatnonzero(gamma * each > FAR_ABOVE / 4.0) for each in norms)
    if not all(map(len, far)):
        return
    places, A, B = np.ix_(*far), A[far[0]], B[far[1]]
    if not sparse.issparse(A):
        squares[places] = cdist(A, B, "sqeuclidean")
        return
    part = squares[places]
    reach = norms[0][far[0], None] + norms[1][far[1]]
    reach *= (A.shape[1] + 10.0) * float(np.finfo(squares.dtype).eps)
    reach += _VANISHING / gamma
    left, right = np.nonzero(part <= reach)
    for pairs in tile_slices(len(left), 4 * (A.nnz // max(1, A.shape[0]) + 1)):
        i, j = left[pairs], right[pairs]
        part[i, j] = squared_norms(A[i] - B[j])
    squares[places] = part


def centred(X: Any, centre: Array, scale: float, dtype: Any, columns: Index | None = None) -> Array:
    """(X - centre)·scale for some columns, or all, computed in float64 without a float64 copy of the whole table."""
    if columns is None:
        columns = np.arange(X.shape[1])
    out, centre = np.empty((X.shape[0], len(columns)), dtype=dtype), centre[columns]

    def work(part: slice) -> None:
        chunk = X[part] if len(columns) == X.shape[1] else X[part].take(columns, axis=1)
        out[part] = (chunk - centre) * scale

    if suits_loops(X):
        over_pieces(lambda first, last: write_centred(X, columns, centre, scale, first, last, out), len(X))
    else:
        over_chunks(work, *X.shape)
    return out


def varying_columns(X: Any) -> Index:
    """The columns of a dense table in which not all rows are equal. The others add nothing to a distance."""
    if suits_loops(X):
        varying = np.zeros(X.shape[1], dtype=np.bool_)
        mark_varying(X, 0, len(X), varying)
        return np.flatnonzero(varying)
    same = np.arange(X.shape[1])
    for part in (slice(_FIRST), slice(_FIRST, None)):
        same = same[(X[part, same] == X[:1, same]).all(axis=0)]
    return np.delete(np.arange(X.shape[1]), same)


def over_chunks(work: Callable[[slice], None], n_rows: int, n_cols: int) -> None:
    """Call ``work`` on consecutive rows of a dense table that is read once, in threads if it is large."""
    step = max(1, _CHUNK_BYTES // (8 * max(1, n_cols)))
    if n_rows * n_cols >= LARGE:
        over_tiles(work, n_rows, step)
    else:
        for start in range(0, n_rows, step):
            work(slice(start, min(start + step, n_rows)))


def tile_slices(n_rows: int, n_cols: int) -> Iterator[slice]:
    """Consecutive rows in slices whose ``n_cols`` columns take at most ``TILE_BYTES`` in float64."""
    step = max(1, TILE_BYTES // (8 * max(1, n_cols)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))

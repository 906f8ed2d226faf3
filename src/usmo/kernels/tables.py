"""Dense or CSR tables: joining them, cutting them into tiles, and when a sparse one is better held dense."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array
from usmo.kernels.threads import over_tiles

TILE_BYTES = 32 * 2**20
"""Largest temporary block: it fits the last-level cache of a desktop processor."""

_CHUNK_BYTES = 2**18
"""Rows that are read once are read in chunks of this size as float64, which stay in the cache of a core."""

_THREADED = 2**20
"""Entries of a table from which threads read the chunks."""

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
    out = np.empty(X.shape[0])

    def work(part: slice) -> None:
        chunk = X[part].astype(np.float64, copy=False)
        np.einsum("ij,ij->i", chunk, chunk, out=out[part])

    over_chunks(work, *X.shape)
    return out


def centred(X: Any, centre: Array, scale: float, dtype: Any) -> Array:
    """(X - centre)·scale, computed in float64 chunk by chunk to avoid a float64 copy of the whole table."""
    out = np.empty(X.shape, dtype=dtype)

    def work(part: slice) -> None:
        out[part] = (X[part] - centre) * scale

    over_chunks(work, *X.shape)
    return out


def without_constant_columns(X: Any) -> Any:
    """A dense table without the columns in which all rows are equal: these add nothing to a distance."""
    same = np.arange(X.shape[1])
    for part in (slice(_FIRST), slice(_FIRST, None)):
        same = same[(X[part, same] == X[:1, same]).all(axis=0)]
    return X.take(np.delete(np.arange(X.shape[1]), same), axis=1) if len(same) else X


def over_chunks(work: Callable[[slice], None], n_rows: int, n_cols: int) -> None:
    """Call ``work`` on consecutive rows of a dense table that is read once, in threads if it is large."""
    step = max(1, _CHUNK_BYTES // (8 * max(1, n_cols)))
    if n_rows * n_cols >= _THREADED:
        over_tiles(work, n_rows, step)
    else:
        for start in range(0, n_rows, step):
            work(slice(start, min(start + step, n_rows)))


def tile_slices(n_rows: int, n_cols: int) -> Iterator[slice]:
    """Consecutive rows in slices whose ``n_cols`` columns take at most ``TILE_BYTES`` in float64."""
    step = max(1, TILE_BYTES // (8 * max(1, n_cols)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))

"""Parts of a Dask collection: their number, width and rows, and checks of their contents."""

from __future__ import annotations

from typing import Any, NamedTuple

import dask
import numpy as np
from dask.base import is_dask_collection
from dask.utils import is_dataframe_like, is_series_like
from scipy import sparse

from usmo.core.arrays import Array


class Block(NamedTuple):
    """Rows with their labels and, if there are any, their weights."""

    X: Any
    y: np.ndarray
    weight: Array | None


def width_of(X: Any) -> tuple[int, list[str] | None]:
    """The number of columns of a collection, and their names if they are texts."""
    if is_dataframe_like(X):
        for name, kind in X.dtypes.items():
            if getattr(kind, "kind", "O") not in "biuf":
                raise ValueError(f"X must hold numbers, got column {name!r} of type {kind}")
        columns = list(X.columns)
        width, names = len(columns), [str(name) for name in columns]
        if not all(isinstance(name, str) for name in columns):
            names = []
    else:
        if getattr(X, "ndim", 0) != 2 or np.isnan(X.shape[1]):
            raise ValueError(f"X must be a table of known width, got shape {getattr(X, 'shape', None)}")
        width, names = int(X.shape[1]), []
    if width == 0:
        raise ValueError("X must have at least one column, got none")
    return width, names or None


def row_parts(X: Any) -> list[Any]:
    """The rows of a collection as delayed values, one per block.

    The graph is not optimised here, so that rows and labels from one source are read once, in the same parts.
    """
    if is_dataframe_like(X):
        return list(X.to_delayed(optimize_graph=False))
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return list(X.to_delayed(optimize_graph=False).ravel())


def row_counts(X: Any) -> list[int] | None:
    """The number of rows of each part, None if the collection does not know it."""
    sizes = None if is_dataframe_like(X) else X.chunks[0]
    return None if sizes is None or np.isnan(sizes).any() else [int(size) for size in sizes]


def aligned(y: Any, name: str, parts: int, sizes: list[int] | None) -> list[Any]:
    """Labels or weights in the same parts as the rows."""
    if is_dataframe_like(y):
        raise ValueError(f"{name} must be a series or a one-dimensional array, got a data frame")
    if not is_dask_collection(y):
        assert sizes is not None
        y = np.asarray(y)
        if y.shape != (sum(sizes),):
            raise ValueError(f"{name} must have one value per row, {sum(sizes)}; got shape {y.shape}")
        return np.split(y, np.cumsum(sizes)[:-1])
    delayed = y.to_delayed(optimize_graph=False)
    delayed = list(delayed) if is_series_like(y) else list(delayed.ravel())
    if not is_series_like(y) and y.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {y.shape}")
    if len(delayed) != parts:
        raise ValueError(
            f"{name} must be in the same {parts} parts as X, got {len(delayed)}: rechunk or repartition it"
        )
    return delayed


def as_rows(part: Any, columns: int, where: str) -> Any:
    """A chunk or partition as an array or CSR matrix of floats; errors name the part."""
    if is_dataframe_like(part):
        part = part.to_numpy(dtype=np.float64, na_value=np.nan)
    if sparse.issparse(part):
        part = part.tocsr()
        if not part.has_canonical_format:
            part = part.copy()  # the chunk is not ours
            part.sum_duplicates()
    else:
        part = np.asarray(part)
    if part.dtype.kind not in "biuf":
        raise ValueError(f"{where} must hold numbers, got type {part.dtype}")
    if part.ndim != 2 or part.shape[1] != columns:
        raise ValueError(f"{where} must have {columns} columns, got shape {part.shape}")
    if part.dtype not in (np.float32, np.float64):
        part = part.astype(np.float64)
    if not np.isfinite(part.data if sparse.issparse(part) else part).all():
        raise ValueError(f"{where} contains NaN or infinity")
    return part


def checked_block(k: int, columns: int, part: Any, label: Any, weight: Any) -> Block:
    """Make a block; errors name the part and what is wrong with it."""
    where = f"partition {k} of X"
    if part.shape[0] == 0:
        raise ValueError(f"{where} has no rows: repartition the table")
    X, y = as_rows(part, columns, where), np.asarray(label)
    if y.shape != (X.shape[0],):
        raise ValueError(f"y must have one value per row: {where} has {X.shape[0]} rows, y has shape {y.shape}")
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise ValueError(f"y must be finite; partition {k} has infinity")
    if weight is not None:
        weight = np.asarray(weight, dtype=np.float64)
        if weight.shape != y.shape:
            raise ValueError(f"sample_weight must have one value per row, {len(y)} in {where}; got {weight.shape}")
        if not (np.isfinite(weight).all() and (weight >= 0).all()):
            raise ValueError(f"sample_weight must be finite and non-negative; partition {k} has other values")
    return Block(X, y, weight)


def length(part: Any) -> int:
    return int(part.shape[0])


def delayed_lengths(parts: list[Any]) -> list[Any]:
    return [dask.delayed(length)(part) for part in parts]

"""Columns of vectors, such as embeddings of sentences: a list of numbers in every row, all of the same length.

Each of the numbers is standardised, (x - mean) / scale. The scale is √d times the standard deviation, so that the mean
squared length of a row is 1, that of a text column. A row without a vector is the average one, a row of zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.columns.frames import ColumnValues, FrameView
from usmo.columns.scaling import matrix_scaling, standardise
from usmo.io import TableError
from usmo.io.errors import quote
from usmo.io.libraries import polars

Schema = dict[str, Any]

MOST_NUMBERS = 65_536
"""Numbers of a vector: sixteen times as many as embeddings in use have."""


def vector_schema(name: str, values: ColumnValues, view: FrameView) -> Schema:
    """The schema of a column of vectors: their length, and the mean and scale of each number."""
    X = _matrix(name, values, view, None)
    present = X[~np.isnan(X[:, 0])]
    if not len(present):
        raise TableError(f"{view.source}: column {quote(name)} holds no list of numbers, all are missing")
    _, mean, scale = matrix_scaling(present)
    varied = max(1, int(np.count_nonzero(present.max(axis=0) > present.min(axis=0))))
    return {
        "name": name, "kind": "vector", "mean": mean, "scale": scale * varied**0.5,
        "n_missing": len(X) - len(present),
    }  # fmt: skip


def vector_block(schema: Schema, values: ColumnValues, view: FrameView) -> np.ndarray:
    """The rows of a column of vectors, standardised."""
    X = _matrix(schema["name"], values, view, len(schema["mean"]))
    return standardise(np.where(np.isnan(X), schema["mean"], X), schema["mean"], schema["scale"])


def _matrix(name: str, values: ColumnValues, view: FrameView, length: int | None) -> np.ndarray:
    """The vectors as rows, nan where one is missing; an error names the first that is not like the others."""
    where = f"column {quote(name)}"
    if values.lists is None:
        raise TableError(f"{view.source}: {where} must hold lists of numbers, got values of type {values.kind}")
    pl = polars()
    try:
        column = pl.Series(values.lists.to_list() if not isinstance(values.lists, pl.Series) else values.lists)
        column = column.cast(pl.List(pl.Float64))
    except (pl.exceptions.PolarsError, TypeError) as error:
        raise TableError(f"{view.source}: {where} must hold lists of numbers ({error})".split("\n")[0]) from None
    lengths = column.list.len().fill_null(-1).to_numpy().astype(np.int64)
    if length is None:
        length = int(lengths.max(initial=-1))
        if length < 0:
            return np.full((len(column), 1), np.nan)
    present = lengths >= 0
    if not 0 < length <= MOST_NUMBERS or (lengths[present] != length).any():
        row = int(np.argmax(present & ((lengths != length) | (length > MOST_NUMBERS))))
        raise TableError(
            f"{view.source}: {view.place(row)}: {where} holds {lengths[row]:,} numbers, others {length:,}: give every "
            f"row as many, from 1 to {MOST_NUMBERS:,}, or leave it empty"
        )
    X = np.full((len(column), length), np.nan)
    X[present] = column.drop_nulls().explode().to_numpy().reshape(-1, length)
    if not np.isfinite(X[present]).all():
        row = int(np.argmax(present & ~np.isfinite(X).all(axis=1)))
        raise TableError(f"{view.source}: {view.place(row)}: {where} holds a number that is missing or infinite")
    return X

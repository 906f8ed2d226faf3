"""Checks of what users give to a review."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usmo.core.targets import missing


def checked_labels(labels: Any, n_rows: int) -> NDArray[np.int8]:
    """Labels as 1, 0 and -1; an error unless they have these values and at least one positive."""
    values = np.asarray(labels)
    if values.shape != (n_rows,):
        raise ValueError(f"labels must have one entry for each of the {n_rows:,} rows, got shape {values.shape}")
    values = np.where(missing(values), 0, values.astype(object))
    try:
        numbers = values.astype(float)
    except (TypeError, ValueError):
        numbers = np.full(n_rows, np.nan)
    if not np.isin(numbers, (-1.0, 0.0, 1.0)).all():
        shown = ", ".join(repr(value) for value in list(dict.fromkeys(values.tolist()))[:5])
        raise ValueError(f"labels must be 1 (positive), 0 or missing (unlabelled) or -1 (negative), got {shown}")
    kinds = numbers.astype(np.int8)
    if not (kinds == 1).any():
        raise ValueError("labels must mark at least one row as positive (1), got none")
    if not (kinds == 0).any():
        raise ValueError("labels leave no row to review: all are 1 or -1")
    return kinds


def checked_ids(ids: Sequence[str] | None, n_rows: int) -> list[str]:
    """Names of the rows; numbers from 1 if none are given."""
    if ids is None:
        return [str(k) for k in range(1, n_rows + 1)]
    if len(ids) != n_rows:
        raise ValueError(f"ids must have one entry for each of the {n_rows:,} rows, got {len(ids):,}")
    return [str(one) for one in ids]


def checked_decisions(ids: Any, labels: Any, n_rows: int) -> tuple[list[int], list[int]]:
    """Row numbers, each once, and labels 1, 0 or -1; True and False are 1 and -1."""
    rows = np.atleast_1d(np.asarray(ids))
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise ValueError(f"ids must be row numbers, got {ids!r:.60}")
    outside = rows[(rows < 0) | (rows >= n_rows)]
    if len(outside):
        raise ValueError(f"ids must lie between 0 and {n_rows - 1}, got {outside[0]}")
    named, times = np.unique(rows, return_counts=True)
    if (times > 1).any():
        raise ValueError(f"ids must name each row once, got row {named[np.argmax(times)]} in {times.max()} places")
    values = np.asarray(labels)
    if values.dtype == bool:
        values = np.where(values, 1, -1)
    values = np.broadcast_to(values, rows.shape) if values.ndim == 0 else values
    if values.shape != rows.shape:
        raise ValueError(f"labels must have one entry for each of the {len(rows)} ids, got shape {values.shape}")
    if rows.size and (values.dtype.kind not in "iuf" or not np.isin(values, (-1, 0, 1)).all()):
        raise ValueError(f"labels must be 1 or True, -1 or False, or 0 to put a row off, got {labels!r:.60}")
    return rows.tolist(), values.astype(int).tolist()


def n_rows(table: Any) -> int:
    """The number of rows of an array, a matrix or a frame."""
    shape = getattr(table, "shape", None)
    return int(shape[0]) if shape is not None else len(table)

"""Vectors from a ``.npy`` file beside a table, such as embeddings of its texts: one row for each row of the table."""

from __future__ import annotations

import numpy as np

from usmo.io.errors import TableError, no_file, one_line
from usmo.io.libraries import polars
from usmo.io.limits import limit_of
from usmo.io.sheet import Sheet

NAME = "embeddings"
"""The column that holds the vectors of a file."""


def with_vectors(sheet: Sheet, path: str, max_bytes: float | None = None) -> Sheet:
    """The table with a column ``embeddings`` that holds the rows of a .npy file; nothing in the file is executed."""
    try:
        stored = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise TableError(no_file(path)) from None
    except OSError as error:
        raise TableError(f"{path} cannot be read ({error.strerror or one_line(error)})") from None
    except Exception as error:  # a dozen types, as for .npz
        raise TableError(f"{path} is damaged or not a .npy file of numbers ({one_line(error)})") from None
    if not isinstance(stored, np.ndarray) or stored.ndim != 2 or stored.dtype.kind not in "fiu":
        got = f"{stored.dtype} of shape {stored.shape}" if isinstance(stored, np.ndarray) else "several arrays"
        raise TableError(f"{path} must hold a matrix of numbers, one row per row of the table, got {got}")
    if len(stored) != sheet.n_rows or not stored.shape[1]:
        raise TableError(
            f"{path} holds {stored.shape[1]:,} numbers for {len(stored):,} rows, {sheet.source} has {sheet.n_rows:,} "
            "rows: give as many, in the same order"
        )
    limit_of(path, stored.nbytes, max_bytes).check_table(*stored.shape, per_column=0)
    if sheet.frame is None:
        raise TableError(f"{sheet.source} is a matrix: put the columns of {path} beside its own")
    if NAME in sheet.names:
        raise TableError(f"{sheet.source} has a column {NAME!r} already: rename it, or take it as the vectors")
    return sheet.with_column(NAME, polars().Series(NAME, np.array(stored, dtype=np.float64)))

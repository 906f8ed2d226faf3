"""A table in memory: named columns, and the line of each row in its file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from usmo.io.errors import TableError, no_column


class Sheet:
    """Named columns of equal length: a Polars data frame, or a numeric matrix with columns beside it.

    Parameters
    ----------
    data : polars.DataFrame, array or CSR matrix
        Stored as ``frame`` or as ``matrix``; the other attribute is None.
    names : list of str, optional
        Names of the matrix columns; x0, x1, ... by default.
    beside : dict of arrays, optional
        Columns of a matrix table that are not features: label, ids.
    source : str
        Name of the table in messages.
    lines : array of int, optional
        The line of each row in its file.
    """

    def __init__(
        self, data: Any, names: Sequence[str] | None = None, *, beside: dict[str, np.ndarray] | None = None,
        source: str = "the table", lines: np.ndarray | None = None, _rows: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        is_matrix = isinstance(data, np.ndarray) or sparse.issparse(data)
        self.matrix: Any = data if is_matrix else None
        self.frame: Any = None if is_matrix else data
        self.beside = dict(beside or {})
        if self.matrix is not None:
            self.matrix_names = [f"x{i}" for i in range(data.shape[1])] if names is None else list(names)
        self.source, self._lines, self._rows = source, lines, _rows

    @property
    def n_rows(self) -> int:
        return int((self.frame if self.matrix is None else self.matrix).shape[0])

    def __len__(self) -> int:
        return self.n_rows

    @property
    def names(self) -> list[str]:
        return list(self.frame.columns) if self.frame is not None else [*self.beside, *self.matrix_names]

    def column(self, name: str) -> np.ndarray:
        """The values of a column; a missing value is nan in numbers, NaT in dates, None in text."""
        if name not in self.names:
            raise TableError(no_column(name, self.names, self.source))
        if self.frame is not None:
            return np.asarray(self.frame[name].to_numpy())
        if name in self.beside:
            return self.beside[name]
        column = self.matrix[:, [self.matrix_names.index(name)]]
        return (column.toarray() if sparse.issparse(column) else column).ravel()

    def drop(self, names: Iterable[str]) -> Sheet:
        """The table without these columns."""
        dropped = set(names)
        for name in dropped - set(self.names):
            raise TableError(no_column(name, self.names, self.source))
        if self.frame is not None:
            return self._with(self.frame.drop(list(dropped)), None, {}, self._rows)
        beside = {name: values for name, values in self.beside.items() if name not in dropped}
        kept = [i for i, name in enumerate(self.matrix_names) if name not in dropped]
        if len(kept) == len(self.matrix_names):
            return self._with(self.matrix, self.matrix_names, beside, self._rows)
        return self._with(self.matrix[:, kept], [self.matrix_names[i] for i in kept], beside, self._rows)

    def with_column(self, name: str, values: Any) -> Sheet:
        """The table of a data frame with one more column, a Polars series."""
        return self._with(self.frame.with_columns(values.alias(name)), None, {}, self._rows)

    def take(self, rows: Any) -> Sheet:
        """The rows with these indices, in this order."""
        rows = np.asarray(rows, dtype=np.int64)
        origin = rows if self._rows is None else self._rows[rows]
        if self.frame is not None:
            return self._with(self.frame[rows], None, {}, origin)
        beside = {name: values[rows] for name, values in self.beside.items()}
        return self._with(self.matrix[rows], self.matrix_names, beside, origin)

    def filter(self, mask: Any) -> Sheet:
        """The rows where the mask is true."""
        mask = np.asarray(mask)
        if mask.dtype != bool or mask.shape != (self.n_rows,):
            raise ValueError(f"mask must hold {self.n_rows} booleans, got {mask.dtype} of shape {mask.shape}")
        return self.take(np.flatnonzero(mask))

    def place(self, row: int) -> str:
        """The place of a row in its file: "line 17" of a text file, else "row 16", counted from 1."""
        origin = int(row if self._rows is None else self._rows[row])
        return f"row {origin + 1}" if self._lines is None else f"line {self._lines[origin]}"

    def _with(self, data: Any, names: Any, beside: dict[str, np.ndarray], rows: np.ndarray | None) -> Sheet:
        return Sheet(data, names, beside=beside, source=self.source, lines=self._lines, _rows=rows)


def need_column(sheet: Sheet, name: str, option: str) -> None:
    """Raise an error with the most similar name unless the sheet has the column; ``option`` is what named it."""
    if name not in sheet.names:
        raise TableError(f"{option}: {no_column(name, sheet.names, sheet.source)}")

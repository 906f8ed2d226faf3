"""A table in memory: named columns, and the line of each row in its file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from usmo.io.errors import TableError, no_column, quote
from usmo.io.libraries import polars


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
    decimal : {"", ",", "."}
        The decimal mark of the file, if it is known: it decides for a column that does not.
    notes : list of str
        What was decided while reading: encoding, lines above the header, names of columns.
    """

    def __init__(
        self, data: Any, names: Sequence[str] | None = None, *, beside: dict[str, np.ndarray] | None = None,
        source: str = "the table", lines: np.ndarray | None = None, decimal: str = "",
        notes: Sequence[str] = (), _rows: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        is_matrix = isinstance(data, np.ndarray) or sparse.issparse(data)
        self.matrix: Any = data if is_matrix else None
        self.frame: Any = None if is_matrix else data
        self.beside = dict(beside or {})
        if self.matrix is not None:
            self.matrix_names = [f"x{i}" for i in range(data.shape[1])] if names is None else list(names)
        self.source, self._lines, self._rows = source, lines, _rows
        self.decimal, self.notes = decimal, list(notes)
        self._spellings: dict[str, list[str]] = {}
        self._files: tuple[list[str], np.ndarray] | None = None

    @property
    def n_rows(self) -> int:
        return int((self.frame if self.matrix is None else self.matrix).shape[0])

    def __len__(self) -> int:
        return self.n_rows

    @property
    def names(self) -> list[str]:
        return list(self.frame.columns) if self.frame is not None else [*self.beside, *self.matrix_names]

    def column(self, name: str) -> np.ndarray:
        """The values of a column; a missing value is nan in numbers, NaT in dates, None in text and huge integers."""
        if name not in self.names:
            raise TableError(no_column(name, self.names, self.source))
        if self.frame is not None:
            column = self.frame[name]
            is_huge = column.dtype.is_integer() and "128" in str(column.dtype)  # NumPy has no such integers
            return np.array(column.to_list(), dtype=object) if is_huge else np.asarray(column.to_numpy())
        if name in self.beside:
            return self.beside[name]
        column = self.matrix[:, [self.matrix_names.index(name)]]
        return (column.toarray() if sparse.issparse(column) else column).ravel()

    def values(self, name: str) -> list[Any]:
        """The values of a column as Python objects; integers stay integers beside missing values."""
        if self.frame is not None and name in self.frame.columns:
            return list(self.frame[name].to_list())
        return list(self.column(name).tolist())

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
        file = ""
        if self._files is not None:
            part = int(np.searchsorted(self._files[1], origin, side="right")) - 1
            file = f"{self._files[0][part]}: "
            if self._lines is None:
                origin -= int(self._files[1][part])
        return f"{file}row {origin + 1}" if self._lines is None else f"{file}line {self._lines[origin]}"

    def note_missing(self, name: str, spellings: Iterable[str]) -> None:
        """Remember texts of a column that were taken as missing values; an empty cell needs no note."""
        own = self._spellings.setdefault(name, [])
        own += [text for text in spellings if text.strip() and text not in own]

    def remarks(self) -> list[str]:
        """The notes, and which texts were taken as missing values, for the user."""
        columns: dict[str, list[str]] = {}
        for name, spellings in self._spellings.items():
            for text in spellings:
                columns.setdefault(text, []).append(name)
        return [
            *self.notes,
            *(f"{quote(text)} counts as missing in {some(names)}" for text, names in columns.items()),
        ]

    def with_missing(self, texts: Sequence[str], except_for: Iterable[str] = ()) -> Sheet:
        """The table of a data frame with these values, texts or numbers, as missing values in all but some columns."""
        if not texts:
            return self
        if self.frame is None:
            raise TableError(f"{self.source} is a matrix of numbers: write nan for its missing values")
        pl, kept, columns = polars(), set(except_for), []
        for column in self.frame.get_columns():
            if column.name not in kept and (column.dtype == pl.String or column.dtype.is_numeric()):
                is_text = column.dtype == pl.String
                numbers = pl.Series(texts).cast(pl.Float64, strict=False).drop_nulls().to_list()
                values = column.str.strip_chars() if is_text else column.cast(pl.Float64)
                gaps = values.is_in(list(texts) if is_text else numbers).fill_null(False)
                if gaps.any():
                    self.note_missing(column.name, column.filter(gaps).cast(pl.String).unique().to_list())
                    column = column.set(gaps, None)
            columns.append(column)
        return self._with(pl.DataFrame(columns), None, {}, self._rows)

    @classmethod
    def joined(cls, sheets: Sequence[Sheet], source: str) -> Sheet:
        """The rows of several tables with the same columns, below each other; a row keeps its file and line."""
        pl, first = polars(), sheets[0]
        frames = []
        for sheet in sheets:
            if sheet.frame is None:
                raise TableError(f"{sheet.source} is a matrix: tables in several files must have named columns")
            for name in first.names:
                if name not in sheet.names:
                    raise TableError(f"{no_column(name, sheet.names, sheet.source)}, which {first.source} has")
            for name in sheet.names:
                if name not in first.names:
                    raise TableError(f"{no_column(name, first.names, first.source)}, which {sheet.source} has")
            frames.append(sheet.frame.select(first.names))
        for name in first.names:
            types = {frame[name].dtype for frame in frames}
            if pl.String in types and len(types) > 1:
                frames = [frame.with_columns(frame[name].cast(pl.String)) for frame in frames]
        lines = [sheet._lines for sheet in sheets if sheet._lines is not None]
        table = cls(
            pl.concat(frames, how="vertical_relaxed"), source=source, decimal=first.decimal,
            lines=np.concatenate(lines) if len(lines) == len(sheets) else None,
            notes=list(dict.fromkeys(note for sheet in sheets for note in sheet.notes)),
        )  # fmt: skip
        for sheet in sheets:
            for name, spellings in sheet._spellings.items():
                table.note_missing(name, spellings)
        starts = np.cumsum([0, *(frame.height for frame in frames)])[:-1]
        table._files = [sheet.source for sheet in sheets], starts
        return table

    def _with(self, data: Any, names: Any, beside: dict[str, np.ndarray], rows: np.ndarray | None) -> Sheet:
        other = Sheet(data, names, beside=beside, source=self.source, lines=self._lines, _rows=rows)
        other.decimal, other.notes = self.decimal, self.notes
        other._spellings, other._files = self._spellings, self._files
        return other


def need_column(sheet: Sheet, name: str, option: str) -> None:
    """Raise an error with the most similar name unless the sheet has the column; ``option`` is what named it."""
    if name not in sheet.names:
        raise TableError(f"{option}: {no_column(name, sheet.names, sheet.source)}")


def some(names: Sequence[str]) -> str:
    """The first columns of a list of names, for a message."""
    shown = ", ".join(map(quote, names[:3]))
    return shown + (f" and {len(names) - 3} more columns" if len(names) > 3 else "")

"""A table in memory: named columns, the places of its rows in their file, and the rows known to be positive."""

from __future__ import annotations

import difflib
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from usmo.io.errors import TableError
from usmo.io.numerals import MISSING, PLAIN, truth


class Sheet:
    """Named columns of equal length: a Polars data frame, or a numeric matrix with columns beside it.

    Parameters
    ----------
    data : polars.DataFrame, array or CSR matrix
        Becomes ``frame``, or ``matrix``; the other one is None.
    names : list of str, optional
        Names of the matrix columns; x0, x1, ... by default.
    beside : dict of arrays, optional
        Columns that belong to the rows of a matrix but not into it: label, ids.
    source : str
        Where the rows come from, for messages.
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
        """The values of a column; missing ones are nan in numbers, NaT in dates, None in text."""
        if name not in self.names:
            raise TableError(no_column(name, self.names, self.source))
        if self.frame is not None:
            return np.asarray(self.frame[name].to_numpy())
        if name in self.beside:
            return self.beside[name]
        found = self.matrix[:, [self.matrix_names.index(name)]]
        return (found.toarray() if sparse.issparse(found) else found).ravel()

    def drop(self, names: Iterable[str]) -> Sheet:
        """The table without these columns."""
        gone = set(names)
        for name in gone - set(self.names):
            raise TableError(no_column(name, self.names, self.source))
        if self.frame is not None:
            return self._with(self.frame.drop(list(gone)), None, {}, self._rows)
        beside = {name: values for name, values in self.beside.items() if name not in gone}
        kept = [i for i, name in enumerate(self.matrix_names) if name not in gone]
        if len(kept) == len(self.matrix_names):
            return self._with(self.matrix, self.matrix_names, beside, self._rows)
        return self._with(self.matrix[:, kept], [self.matrix_names[i] for i in kept], beside, self._rows)

    def take(self, rows: Any) -> Sheet:
        """The rows with these numbers, counted from 0, in this order."""
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
        """Where a row stands in its file: "line 17" of a text, "row 16" (from 1) of anything else."""
        origin = int(row if self._rows is None else self._rows[row])
        return f"row {origin + 1}" if self._lines is None else f"line {self._lines[origin]}"

    def _with(self, data: Any, names: Any, beside: dict[str, np.ndarray], rows: np.ndarray | None) -> Sheet:
        return Sheet(data, names, beside=beside, source=self.source, lines=self._lines, _rows=rows)


def near(name: str, names: Iterable[str]) -> str:
    """A question after the nearest of the names, nothing if none is near."""
    lower = {each.lower(): each for each in names}
    found = difflib.get_close_matches(name.lower(), lower, n=1)
    return f"did you mean {lower[found[0]]!r}?" if found else ""


def no_column(name: str, names: Sequence[str], source: str) -> str:
    """What to say of a column that is not there."""
    shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return f"no column {name!r} in {source}: {near(name, names)} (columns: {shown})".replace(":  (", " (")


def no_file(name: str) -> str:
    """What to say of a file that is not there."""
    folder = os.path.dirname(name) or "."
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return f"no file {name!r}: {near(os.path.basename(name), names) or 'check the path'}"


def need_column(sheet: Sheet, name: str, option: str) -> None:
    """An error with the nearest name unless the sheet has the column; ``option`` is where the name was given."""
    if name not in sheet.names:
        raise TableError(f"{option}: {no_column(name, sheet.names, sheet.source)}")


def cell(table: Any, row: int, value: Any, name: str) -> str:
    """Where a value stands, for messages; the table is a sheet or anything else with ``source`` and ``place``."""
    return f"{table.source}: {table.place(row)}: {value!r} in column {name!r}"


def labels(sheet: Sheet, column: str, positive: str) -> np.ndarray:
    """Which rows are known positives: those with the value ``positive``; any other, or none, is unlabelled."""
    values = sheet.column(column).tolist()
    counts = Counter(value for value in values if value is not None and value == value)
    for marker in [value for value in counts if str(value).strip().lower() in MISSING]:
        del counts[marker]
    wanted = _wanted(counts, positive)
    if not wanted:
        texts = {
            f"{value:g}" if isinstance(value, float) else str(value): n for value, n in counts.most_common(10)
        }
        shown = ", ".join(f"{text!r} in {n:,} rows" for text, n in texts.items())
        more = f" and {len(counts) - 10} more" if len(counts) > 10 else ""
        raise TableError(
            f"no row has {positive!r} in column {column!r} of {sheet.source}: {near(positive, texts)} "
            f"(values: {shown or 'all missing'}{more})".replace(":  (", " (")
        )
    found = np.array([value in wanted for value in values])
    if found.all():
        raise TableError(
            f"all {len(found):,} rows have {positive!r} in column {column!r} of {sheet.source}: add rows that are "
            "not known to be positive, with another value there or none"
        )
    return found


def marked(sheet: Sheet, column: str, positive: str) -> np.ndarray:
    """The same for a part of a table, which may have none or nothing else."""
    values = sheet.column(column).tolist()
    wanted = _wanted({value for value in values if value is not None and value == value}, positive)
    return np.array([value in wanted for value in values])


def _wanted(values: Iterable[Any], positive: str) -> set[Any]:
    return {value for value in values if _meaning(value) == _meaning(positive)}


def _meaning(value: Any) -> float | str:
    """What a label says: 1, 1.0, "1" and "true" are the same."""
    text = str(value).strip()
    said = float(text) if PLAIN.fullmatch(text) else truth(text)
    return text if np.isnan(said) else said

"""A row of the table as the page shows it: texts, values, and where its numbers lie among the known positives."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from usmo.columns import TableEncoder
from usmo.columns.reading import ColumnReader
from usmo.core.arrays import Array, Index
from usmo.io import Sheet
from usmo.report.formatting import clean, percent, shorten

MOST_COLUMNS = 200
"""Columns of a row that the page shows."""

_LONGEST = 100_000
"""Characters of a cell that the page shows."""

_TITLE = "title"
_TITLE_LENGTH = 300
_FEWEST = 3
"""Known positives from which a range of theirs is shown."""

_MOST_OUTSIDE = 3
"""Columns named in which a row lies outside the range of the known positives."""

_PLACED = {"number": "above", "date": "later than"}
"""Kinds of columns whose values lie somewhere among those of other rows, and the word for the greater."""

Cell = dict[str, Any]


class _Scale(NamedTuple):
    """The finite values of a column, sorted, and some of their quantiles."""

    ordered: Array
    low: float
    high: float
    spread: float

    @classmethod
    def of(cls, values: Array) -> _Scale:
        ordered = np.sort(values[np.isfinite(values)])
        if not len(ordered):
            return cls(ordered, 0.0, 0.0, 0.0)
        first, tenth, ninth, last = np.quantile(ordered, [0.01, 0.1, 0.9, 0.99]).tolist()
        return cls(ordered, first, last, ninth - tenth)


class Cards:
    """The columns of a sheet, without those of label and ids, read as the encoder reads them."""

    def __init__(
        self, sheet: Sheet, hidden: list[str], ids: list[str], encoder: TableEncoder | None = None
    ) -> None:
        self.sheet, self.ids = sheet, ids
        self.names = [name for name in sheet.names if name not in hidden]
        self._reader = ColumnReader(sheet, encoder)
        self._kinds = {name: self._kind(name) for name in self.names[:MOST_COLUMNS]}
        self._frame = None if sheet.frame is None else sheet.frame.select(self.names[:MOST_COLUMNS])
        self._scales: dict[str, _Scale] = {}

    def _kind(self, name: str) -> str:
        """How a column is shown."""
        kind = self._reader.kind(name)
        return "category" if kind == "boolean" else kind

    @cached_property
    def titled(self) -> str | None:
        """The text column that names rows: the one called title, or the shortest."""
        texts = [name for name, kind in self._kinds.items() if kind == "text"]
        called = [name for name in texts if name.strip().lower() == _TITLE]
        if called or not texts:
            return called[0] if called else None
        frame = self.sheet.frame
        return min(texts, key=lambda name: float(frame[name].str.len_chars().mean() or math.inf))

    @property
    def text_columns(self) -> list[str]:
        return [name for name, kind in self._kinds.items() if kind == "text"]

    def title(self, row: int) -> str:
        """The title of a row; empty if the table has no text."""
        if self.titled is None:
            return ""
        return shorten(" ".join(clean(self.sheet.frame[self.titled][row] or "").split()), _TITLE_LENGTH)

    def about(self, row: int) -> str:
        """A line that tells what a row is: its title, or its first values."""
        if self.titled is not None:
            return self.title(row)
        cells = self.cells(row, np.empty(0, dtype=np.intp), most=4)
        return ", ".join(f"{shorten(cell['name'], 30)} {shorten(cell['value'], 40)}" for cell in cells)

    def cells(self, row: int, positives: Index, *, most: int = MOST_COLUMNS) -> list[Cell]:
        """The values of a row; of a sparse matrix those that are not 0."""
        names, values = self._values(row, most)
        return [self._cell(name, value, row, positives) for name, value in zip(names, values, strict=True)]

    def left_out(self, row: int) -> int:
        """The columns that ``cells`` does not show."""
        if sparse.issparse(self.sheet.matrix):
            return max(0, int(self.sheet.matrix[[row]].nnz) - MOST_COLUMNS)
        return max(0, len(self.names) - MOST_COLUMNS)

    def _values(self, row: int, most: int) -> tuple[list[str], list[Any]]:
        if self._frame is not None:
            return self.names[:most], list(self._frame.row(row))[:most] if self.names else []
        matrix = self.sheet.matrix
        if sparse.issparse(matrix):
            entries = matrix[[row]].tocoo()
            columns, values = entries.col.tolist()[:most], entries.data.tolist()[:most]
            return [self.sheet.matrix_names[j] for j in columns], values
        names = [name for name in self.names if name in self._matrix_places][:most]
        return names, [float(matrix[row, self._matrix_places[name]]) for name in names]

    def _cell(self, name: str, value: Any, row: int, positives: Index) -> Cell:
        kind = self._kinds.get(name, "number")
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return {"name": clean(name), "kind": "missing", "value": ""}
        cell = {"name": clean(name), "kind": kind, "value": shorten(clean(_shown(value)), _LONGEST)}
        if kind in _PLACED and len(positives) and not sparse.issparse(self.sheet.matrix):
            cell["place"] = self._place(name, row, positives)
        elif kind == "category" and len(positives):
            cell["place"] = self._share(name, value, positives)
        return cell

    def _place(self, name: str, row: int, positives: Index) -> dict[str, Any] | None:
        """Where a number lies: the shares of rows below it in words, and positions on a scale from 0 to 100."""
        scale = self._scale(name)
        numbers = self._numbers(name)
        value, own = float(numbers[row]), numbers[positives]
        own = np.sort(own[np.isfinite(own)])
        if not len(own) or not math.isfinite(value):
            return None
        among = [_below(values, value) for values in (own, scale.ordered)]
        above = _PLACED[self._kinds.get(name, "number")]
        words = f"{above} {percent(among[0])} of the known positives and {percent(among[1])} of all rows"
        low, high = min(scale.low, own[0]), max(scale.high, own[-1])
        if len(own) < _FEWEST or not high > low:
            return {"words": words, "among": among[0]}
        marks = np.quantile(own, [0.0, 0.25, 0.5, 0.75, 1.0])
        at = np.clip(100.0 * (np.append(marks, value) - low) / (high - low), 0.0, 100.0).round(2).tolist()
        return {"words": words, "among": among[0], "marks": at[:5], "at": at[5]}

    def _share(self, name: str, value: Any, positives: Index) -> dict[str, Any] | None:
        """How often a category occurs among the known positives and in all rows; None for one that occurs once."""
        column = self.sheet.frame[name]
        own, everywhere = (int((some == value).sum() or 0) for some in (column[positives], column))
        if everywhere < 2:
            return None
        of_all = percent(everywhere / max(1, len(column)))
        return {"words": f"{own:,} of {len(positives):,} known positives and {of_all} of all rows"}

    @cached_property
    def _matrix_places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.sheet.matrix_names)}

    def _numbers(self, name: str) -> Array:
        if self.sheet.frame is not None:
            return self._reader.numbers(name)
        if name in self._matrix_places:
            return np.asarray(self.sheet.matrix[:, self._matrix_places[name]], dtype=np.float64)
        return np.asarray(self.sheet.column(name), dtype=np.float64)

    def _scale(self, name: str) -> _Scale:
        """The scale of a column, made once."""
        if name not in self._scales:
            self._scales[name] = _Scale.of(self._numbers(name))
        return self._scales[name]

    def outside(self, row: int, positives: Index) -> list[str]:
        """Columns whose number lies outside the range of the known positives, the farthest first."""
        if sparse.issparse(self.sheet.matrix) or len(positives) < _FEWEST:
            return []
        far = []
        for name in self._values(row, MOST_COLUMNS)[0]:
            if self._kinds.get(name) not in _PLACED or not math.isfinite(value := float(self._numbers(name)[row])):
                continue
            own = self._numbers(name)[positives]
            own, spread = own[np.isfinite(own)], self._scale(name).spread
            if len(own) >= _FEWEST and spread > 0.0:
                far.append((max(own.min() - value, value - own.max()) / spread, name))
        return [clean(name) for distance, name in sorted(far, reverse=True)[:_MOST_OUTSIDE] if distance > 0]


def _below(ordered: Array, value: float) -> float:
    """The share of sorted values below one; values equal to it count half."""
    low, high = np.searchsorted(ordered, value, side="left"), np.searchsorted(ordered, value, side="right")
    return float(low + high) / (2 * len(ordered))


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return ", ".join(map(str, value[:8])) + ", …" if isinstance(value, list) and len(value) > 8 else str(value)

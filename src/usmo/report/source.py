"""The columns of the table that a page is about, as their author wrote them: values of rows, and typical values."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from usmo.columns import TableEncoder
from usmo.columns.reading import ORDERED, ColumnReader
from usmo.core.arrays import Array, Index
from usmo.io import Sheet
from usmo.io.infer_types import infer_type
from usmo.io.parsing import is_missing, parse

_EXACT = 2.0**53
"""Whole numbers below this are exact as float."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")

_TYPICAL_ROWS = 5_000
"""Rows from which a typical value is taken; of more, the first of a random order."""

_UNORDERED = ("boolean", "category", "text")
"""Kinds of columns that have no median."""

_RARE = 0.1
"""A text that a smaller share of the rows has is typical of nothing."""


def cells(sheet: Sheet, names: Iterable[str], rows: Any) -> dict[str, list[Any]]:
    """Columns of some rows as plain values: text, numbers, None."""
    part = sheet.take(rows)
    return {name: _whole_numbers([_plain(value) for value in part.values(name)]) for name in names}


def _whole_numbers(values: list[Any]) -> list[Any]:
    """Values as int if all are whole numbers, or missing: a column with gaps is read as float."""
    present = [value for value in values if value is not None]
    if all(isinstance(value, float) and value.is_integer() and abs(value) < _EXACT for value in present):
        return [None if value is None else int(value) for value in values]
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value if value is None or isinstance(value, str | int | bool) else str(value)


class SourceColumns:
    """The columns of a :class:`usmo.io.Sheet`, or of a mapping of names to sequences, one value per row.

    Those of a sheet are read as the ``encoder`` reads them.
    """

    def __init__(
        self, columns: Sheet | Mapping[str, Sequence[Any]], rows: int, encoder: TableEncoder | None = None
    ) -> None:
        self._sheet = columns if isinstance(columns, Sheet) else None
        self._reader = ColumnReader(columns, encoder) if isinstance(columns, Sheet) else None
        self._columns = {} if isinstance(columns, Sheet) else {str(name): each for name, each in columns.items()}
        self.names = list(self._columns) if self._sheet is None else list(self._sheet.names)
        self._rows = rows
        self._notation = cache(self._find_notation)
        lengths = [len(each) for each in self._columns.values()] if self._sheet is None else [self._sheet.n_rows]
        if any(length != rows for length in lengths):
            raise ValueError(f"cells must hold a value for each of the {rows} rows, got {sorted(set(lengths))}")

    def values(self, name: str, rows: Index) -> list[Any]:
        """The values of a column in these rows."""
        if self._sheet is not None:
            return cells(self._sheet, [name], rows)[name]
        column = self._columns[name]
        return _whole_numbers([_plain(column[row]) for row in rows.tolist()])

    def typical(self, name: str, rows: Index) -> Any:
        """The median of numbers and dates, the most frequent text; None if the rows have no typical value.

        The median of numbers and dates that are written as text is the text of one of them, the lower of two.
        """
        kind = "" if self._reader is None else self._reader.kind(name)
        if kind == "vector":
            return None
        rows = _sample(rows)
        values = self.values(name, rows)
        present = np.array([k for k, value in enumerate(values) if not _is_gap(value)], dtype=np.intp)
        if not len(present):
            return None
        values = [values[k] for k in present]
        if kind not in _UNORDERED:
            if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
                return float(np.median(np.asarray(values, dtype=np.float64)))
            if (middle := _median(self._numbers(name, rows[present], values))) is not None:
                text = str(values[middle])
                return text[:10] if _DATE.match(text) else text
        text, often = Counter(map(str, values)).most_common(1)[0]
        return text if (often > 1 and often >= _RARE * len(values)) or len(values) == 1 else None

    def _numbers(self, name: str, rows: Index, values: Sequence[Any]) -> Array:
        """Values in some rows as numbers, dates as days; nan where they are neither."""
        if self._reader is not None:
            known = self._reader.kind(name) in ORDERED
            return self._reader.numbers(name)[rows] if known else np.full(len(rows), np.nan)
        kind, notation = self._notation(name)
        return np.full(len(rows), np.nan) if kind == "text" else parse(kind, list(map(str, values)), notation)

    def _find_notation(self, name: str) -> tuple[str, str]:
        """The kind of a column of texts, and its notation. Rows of the whole table decide: a few may not tell day from
        month."""
        texts = [str(value) for value in self.values(name, _sample(np.arange(self._rows))) if not _is_gap(value)]
        place = {text: k for k, text in enumerate(dict.fromkeys(texts))}
        codes = np.array([place[text] for text in texts], dtype=np.intp)
        found = infer_type(list(place), codes, kinds=ORDERED)
        return found.kind, found.notation


def _sample(rows: Index) -> Index:
    """The rows, or some of them if they are many."""
    if len(rows) <= _TYPICAL_ROWS:
        return rows
    return np.random.default_rng(0).choice(rows, _TYPICAL_ROWS, replace=False)


def _is_gap(value: Any) -> bool:
    return value is None or is_missing(str(value))


def _median(numbers: Array) -> int | None:
    """The place of the median of the finite numbers, the lower of two; None if there are none."""
    finite = np.flatnonzero(np.isfinite(numbers))
    if not len(finite):
        return None
    return int(finite[np.argsort(numbers[finite], kind="stable")[(len(finite) - 1) // 2]])

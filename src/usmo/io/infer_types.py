"""Numbers and missing values in the text columns of a table that was read."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.io.errors import TableError
from usmo.io.libraries import polars
from usmo.io.numerals import MARKERS, MIXED, mostly_numbers, parse_numbers
from usmo.io.sheet import Sheet, cell


def recognised(sheet: Sheet, text: frozenset[str], *, comma: bool) -> Sheet:
    """The sheet with markers of missing values and numbers found in its text columns."""
    pl = polars()
    for name in sheet.names:
        column = sheet.frame[name]
        if column.dtype == pl.String and name not in text:
            column = column.str.strip_chars()
            column = column.set(column.is_in(MARKERS).fill_null(False), None)
            sheet.frame = sheet.frame.with_columns(_numbers_in(column, sheet, comma))
    return sheet


def _numbers_in(column: Any, sheet: Sheet, comma: bool) -> Any:
    """A text column as numbers if it holds numbers; an error if nearly all of it does."""
    pl = polars()
    missing = column.null_count()
    for dtype in (pl.Int64, pl.Float64):
        cast = column.cast(dtype, strict=False)
        if cast.null_count() == missing:
            return cast
    if cast.null_count() == len(column) and not column.str.contains(",", literal=True).any():
        return column
    if not column.str.contains(r"^[+-]?[0-9.,]*[0-9][0-9.,]*([eE][+-]?[0-9]+)?$").any():
        return column
    found = column.drop_nulls().value_counts()
    texts, counts = found[column.name].to_list(), found["count"].to_numpy()
    numbers, _ = parse_numbers(texts, comma=comma)
    bad = np.isnan(numbers)
    if bad.any():
        first = column.is_in([texts[i] for i in np.flatnonzero(bad)]).fill_null(False).arg_max()
        if counts[bad].sum() == 1 and first == 0 and counts.sum() > 3:
            advice = "looks like a second header line: remove it"
        elif mostly_numbers(bad, counts):
            advice = MIXED
        else:
            return column
        raise TableError(f"{cell(sheet, first, column[first], column.name)} {advice}")
    return column.replace_strict(texts, numbers, default=None, return_dtype=pl.Float64)

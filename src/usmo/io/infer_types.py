"""Types of text columns. ``infer_type`` is the only place that decides: for files, and for data frames in ``columns``.

A text column holds numbers, booleans or dates if all of its texts are of that kind. If nearly all of them are
numbers, or nearly all dates, the others are probably mistakes, and an error names the first one. Otherwise the column
stays text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from usmo.io.errors import TableError, cell
from usmo.io.libraries import polars
from usmo.io.parsing import MISSING_SPELLINGS, parse
from usmo.io.sheet import Sheet

MIXED = "stands among numbers: write a number or leave it empty (codes: put a letter before all of them)"
"""Advice on a text in a column of numbers."""

_MIXED_DATES = "stands among dates: write it as 2024-12-31, or leave it empty"
_FIRST = frozenset("0123456789+-.tTfFiI")
"""First characters of numbers, "true", "false", "inf" and dates."""

_GROUP = 1 << 14
"""Cells that are converted together: a call of Polars takes 0.1 ms for any number of rows."""

_NUMBER_LIKE = r"^[+-]?[0-9.,]*[0-9][0-9.,]*([eE][+-]?[0-9]+)?$"


def infer_type(
    name: str, texts: Sequence[str], codes: np.ndarray, table: Any, *,
    kinds: Sequence[str] = ("number", "boolean", "date"), comma: bool = False, from_file: bool = False,
) -> tuple[str, np.ndarray | None, bool]:  # fmt: skip
    """The kind of a text column, one number per row (None for "text"), and whether they have a decimal comma.

    ``texts`` are the different texts of the column ``name``, ``codes`` the index of its text for each row, -1 where
    it is missing. The ``kinds`` are tried in this order. A column in which 1,234 may be both 1234 and 1.234 is read
    as 1234, with ``comma`` as 1.234. With ``from_file``, a single text above numbers is a second header line. A
    TableError names the first text that looks like a mistake, by ``table.source`` and ``table.place(row)``.
    """
    if not any(text[:1] in _FIRST for text in texts):
        return "text", None, False
    counts = np.bincount(codes[codes >= 0], minlength=len(texts))
    for kind in kinds:
        numbers, with_comma = parse(kind, texts, comma=comma)
        bad = np.isnan(numbers)
        if not bad.any():
            return kind, np.append(numbers, np.nan)[codes], with_comma
        if bad.all():
            continue
        row = int(np.argmax(np.append(bad, False)[codes]))
        if from_file and row == 0 and counts[bad].sum() == 1 and counts.sum() > 3:
            advice = "looks like a second header line: remove it"
        elif kind != "boolean" and mostly_numbers(bad, counts):
            advice = MIXED if kind == "number" else _MIXED_DATES
        else:
            continue
        raise TableError(f"{cell(table, row, texts[codes[row]], name)} {advice}")
    return "text", None, False


def mostly_numbers(bad: np.ndarray, counts: np.ndarray) -> bool:
    """Whether the bad texts look like mistakes: in at most 10 % of the rows, or at most 5 against 20 good ones.

    ``bad`` is a mask of the different texts, ``counts`` the number of rows with each of them.
    """
    return bool(counts[bad].sum() <= 0.1 * counts.sum() or (bad.sum() <= 5 and (~bad).sum() >= 20))


def groups_of(columns: Sequence[Any], n_rows: int) -> Iterator[Sequence[Any]]:
    """The columns in groups of about ``_GROUP`` cells."""
    width = max(1, _GROUP // max(1, n_rows))
    return (columns[start : start + width] for start in range(0, len(columns), width))


def stack(columns: Sequence[Any]) -> Any:
    """Polars columns of one type as a single one, below each other."""
    return polars().concat([column.alias("") for column in columns])


def text_codes(column: Any) -> tuple[list[str], np.ndarray]:
    """The different texts of a Polars column, and the index of its text for each row, -1 where it is null."""
    pl = polars()
    texts = column.drop_nulls().unique()
    codes = column.cast(pl.Enum(texts)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    return texts.to_list(), codes


def texts_by_column(texts: list[str], codes: np.ndarray) -> list[tuple[list[str], np.ndarray]]:
    """For each row of codes into texts the texts that occur, in the same order, and codes into these.

    A single row has all texts.
    """
    if len(codes) == 1:
        return [(texts, codes[0])]
    order = np.argsort(codes, axis=1, kind="stable")
    ordered = np.take_along_axis(codes, order, axis=1)
    is_first = (np.diff(ordered, axis=1, prepend=-2) != 0) & (ordered >= 0)
    own = np.empty_like(codes)
    np.put_along_axis(own, order, np.cumsum(is_first, axis=1) - 1, axis=1)
    different = [texts[code] for code in ordered[is_first].tolist()]
    ends = np.cumsum(is_first.sum(axis=1)).tolist()
    return [(different[i:j], column) for i, j, column in zip([0, *ends], ends, own, strict=False)]


def convert_text_columns(sheet: Sheet, keep: frozenset[str], *, comma: bool) -> Sheet:
    """Replace markers of missing values by null, and text that is numbers by numbers, except in columns to keep.

    Booleans and dates stay text: a file written from the sheet then holds them as they were read.
    """
    pl = polars()
    columns, n_rows = sheet.frame.get_columns(), sheet.frame.height
    sheet.frame = None  # each group of text columns is freed as soon as it is converted
    places = [i for i, column in enumerate(columns) if column.dtype == pl.String and column.name not in keep]
    for group in groups_of(places, n_rows):
        for i, column in zip(group, _converted([columns[i] for i in group], sheet, comma), strict=True):
            columns[i] = column
    sheet.frame = pl.DataFrame(columns)
    return sheet


def _converted(columns: list[Any], sheet: Sheet, comma: bool) -> list[Any]:
    """Text columns, as numbers where ``infer_type`` finds numbers; Polars decides the clear cases at full speed."""
    pl, n = polars(), len(columns[0])

    def by_column(mask: Any) -> np.ndarray:
        return np.asarray(mask.fill_null(False).to_numpy().reshape(len(columns), n))

    text = stack(columns).str.strip_chars()
    text = text.set(text.is_in(MISSING_SPELLINGS).fill_null(False), None)
    present, source = by_column(text.is_not_null()), [text] * len(columns)
    is_text = np.ones(len(columns), bool)
    for dtype in (pl.Int64, pl.Float64):
        numbers = text.cast(dtype, strict=False)
        for i in np.flatnonzero(is_text & (by_column(numbers.is_not_null()) == present).all(axis=1)):
            source[i], is_text[i] = numbers, False
        if not is_text.any():
            break
    else:
        # the regular expression is slow: most texts are no numbers and hold no comma
        is_text &= by_column(numbers.is_not_null() | text.str.contains(",", literal=True)).any(axis=1)
        if is_text.any():
            is_text &= by_column(text.str.contains(_NUMBER_LIKE)).any(axis=1)
    converted = [each.slice(i * n, n).alias(columns[i].name) for i, each in enumerate(source)]
    unclear = np.flatnonzero(is_text)
    if len(unclear):
        texts, codes = text_codes(stack([converted[i] for i in unclear]))
        for i, (own, column) in zip(unclear, texts_by_column(texts, codes.reshape(-1, n)), strict=True):
            name, kinds = converted[i].name, ("number",)
            values = infer_type(name, own, column, sheet, kinds=kinds, comma=comma, from_file=True)[1]
            if values is not None:
                converted[i] = pl.Series(name, values, nan_to_null=True)
    return converted

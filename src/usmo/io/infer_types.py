"""Kinds of text columns. ``infer_type`` is the only place that decides: for files, and for data frames in ``columns``.

A text column holds numbers, booleans or dates if all of its texts are of that kind, in one notation
(:mod:`usmo.io.notation`, :mod:`usmo.io.dates`). If nearly all of them are numbers, or nearly all dates, the others
count as missing, and are reported. Otherwise the column stays text; so do codes, texts of digits of which some have
leading zeros.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from usmo.io.dates import recognise_format
from usmo.io.libraries import polars
from usmo.io.notation import is_code, recognise, sample_of
from usmo.io.parsing import MISSING_SPELLINGS, parse
from usmo.io.sheet import Sheet

KINDS = ("number", "boolean", "date")
"""Kinds of text columns that become numbers, in the order in which they are tried."""

SHARE = 0.1
"""Share of the rows that may hold other texts in a column of numbers or dates."""

_FEW, _MANY = 5, 20
"""Different texts that may stand among at least this many different numbers or dates, in any number of rows."""

CODE = "^[+-]?0[0-9]+$"
"""A text of digits with a leading zero, as a regular expression: an integer that would not be written back so."""

_THOUSANDS = r"^[+-]?[0-9]{1,3}(\.[0-9]{3})*$"
"""Numbers that are 1234 if they have a decimal comma: such columns stay text in a table with decimal commas."""

_GROUP = 1 << 14
"""Cells that are converted together: a call of Polars takes 0.1 ms for any number of rows."""

_DIGIT = re.compile(r"\d|inf", re.IGNORECASE)
UNREAD = 20
"""Texts that are not of the kind of their column, as far as they are reported."""


class Inference(NamedTuple):
    """The kind of a text column, one number per row (None for "text"), their notation, and what could not be read."""

    kind: str
    numbers: np.ndarray | None = None
    notation: str = ""
    sure: bool = True
    """Whether the column decides its notation: the decimal mark, or the order of day and month."""
    unread: tuple[str, ...] = ()
    """The most frequent texts that count as missing, because the others are of the kind."""
    n_unread: int = 0
    mixed: dict[str, int] | None = None
    """The units of a column that has several, with their rows: it is not a column of numbers."""


TEXT = Inference("text")


def infer_type(
    texts: Sequence[str], codes: np.ndarray, *, kinds: Sequence[str] = KINDS, decimal: str = "", forced: bool = False,
    notation: str | None = None,
) -> Inference:  # fmt: skip
    """The kind of a text column, and its values as numbers.

    ``texts`` are the different texts of the column, ``codes`` the index of its text for each row, -1 where it is
    missing. The ``kinds`` are tried in this order. ``decimal`` is the decimal mark of other columns of the table, for
    a column in which 1,234 may be both 1234 and 1.234. A ``forced`` kind is taken if any text is of it, whatever the
    others are, and in a given ``notation`` if there is one.
    """
    if not len(texts):
        return TEXT
    counts = np.bincount(codes[codes >= 0], minlength=len(texts))
    mixed = None
    for kind in kinds if forced else _possible(texts, counts, kinds):
        code, sure = notation or "", True
        if notation is None and kind == "number":
            found = recognise(texts, counts, decimal)
            if found is None or (not forced and is_code(texts)):
                continue
            code, sure, mixed = found.code, found.sure, found.mixed
        elif notation is None and kind == "date":
            format = recognise_format(texts, counts)
            if format is None:
                continue
            code, sure = format
        numbers = parse(kind, texts, code)
        bad = np.isnan(numbers)
        if bad.all() or (bad.any() and not forced and (kind == "boolean" or not mostly_numbers(bad, counts))):
            continue
        rows = np.where(bad, counts, 0)
        most = np.argsort(-rows, kind="stable")[: min(UNREAD, int(bad.sum()))]
        values = np.append(numbers, np.nan)[codes]
        return Inference(kind, values, code, sure, tuple(texts[i] for i in most), int(rows.sum()))
    return TEXT._replace(mixed=mixed)


def _possible(texts: Sequence[str], counts: np.ndarray, kinds: Sequence[str]) -> list[str]:
    """The kinds that a look at some of the texts does not exclude: numbers and dates have digits."""
    some, _ = sample_of(texts, counts)
    with_digits = sum(1 for text in some if _DIGIT.search(text, 0, 100))
    excluded = set() if 2 * with_digits >= len(some) else {"number", "date"}
    return [kind for kind in kinds if kind not in excluded and not (kind == "boolean" and len(some) > 10)]


def mostly_numbers(bad: np.ndarray, counts: np.ndarray) -> bool:
    """Whether the bad texts are exceptions: in at most 10 % of the rows, or at most 5 against 20 good ones.

    ``bad`` is a mask of the different texts, ``counts`` the number of rows with each of them.
    """
    few = bad.sum() <= _FEW and (~bad).sum() >= _MANY
    return bool(counts[bad].sum() <= SHARE * counts.sum() or few)


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


def convert_text_columns(sheet: Sheet, keep: frozenset[str]) -> Sheet:
    """Replace markers of missing values by null, and text that is plain numbers by numbers, except in columns to keep.

    Other numbers, booleans and dates stay text: a file written from the sheet then holds them as they were read, and
    ``infer_type`` reads them. The spellings of missing values are noted.
    """
    pl = polars()
    columns, n_rows = sheet.frame.get_columns(), sheet.frame.height
    sheet.frame = None  # each group of text columns is freed as soon as it is converted
    places = [i for i, column in enumerate(columns) if column.dtype == pl.String and column.name not in keep]
    for group in groups_of(places, n_rows):
        for i, column in zip(group, _converted([columns[i] for i in group], sheet), strict=True):
            columns[i] = column
    sheet.frame = pl.DataFrame(columns)
    return sheet


def _converted(columns: list[Any], sheet: Sheet) -> list[Any]:
    """Text columns, as numbers where all of their texts are plain numbers without leading zeros."""
    pl, n = polars(), len(columns[0])

    def by_column(mask: Any) -> np.ndarray:
        return np.asarray(mask.fill_null(False).to_numpy().reshape(len(columns), n))

    text = stack(columns).str.strip_chars()
    gaps = text.is_in(MISSING_SPELLINGS).fill_null(False)
    for i in np.flatnonzero(by_column(gaps).any(axis=1)):
        own = text.slice(i * n, n).filter(gaps.slice(i * n, n))
        sheet.note_missing(columns[i].name, own.unique(maintain_order=True).to_list())
    text = text.set(gaps, None)
    present, source = by_column(text.is_not_null()), [text] * len(columns)
    is_text = np.ones(len(columns), bool)
    for dtype in (pl.Int64, pl.Float64):
        numbers = text.cast(dtype, strict=False)
        plain = is_text & (by_column(numbers.is_not_null()) == present).all(axis=1)
        if plain.any() and dtype == pl.Int64:
            codes = plain & by_column(text.str.contains(CODE)).any(axis=1)
            is_text &= ~codes
            plain &= ~codes
        elif plain.any() and sheet.decimal == ",":
            plain &= ~by_column(text.is_null() | text.str.contains(_THOUSANDS)).all(axis=1)
        for i in np.flatnonzero(plain):
            source[i], is_text[i] = numbers, False
        if not is_text.any():
            break
    return [each.slice(i * n, n).alias(columns[i].name) for i, each in enumerate(source)]

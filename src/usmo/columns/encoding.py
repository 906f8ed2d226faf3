"""The entries that a column makes in the output matrix, by its schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from usmo.columns.clock import clock_columns
from usmo.columns.frames import ColumnValues, FrameView, as_text
from usmo.columns.scaling import standardise
from usmo.columns.schema import Schema, number_rows, raise_together, width
from usmo.columns.tails import compressed
from usmo.columns.vectors import vector_block
from usmo.columns.words import joined_texts, text_block
from usmo.io import TableError
from usmo.io.dates import compact_days
from usmo.io.errors import cell, quote
from usmo.io.infer_types import UNREAD, infer_type
from usmo.io.parsing import parse
from usmo.system.caller import warn

_CATEGORY_ENTRY = 0.5**0.5
"""Two rows of different categories differ by this in two output columns: their distance is √(½ + ½) = 1, as that of
true and false."""

_UNREAD_COLUMNS = 10
"""Columns with cells that cannot be read, as far as a warning names them."""

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Rows, columns and values."""


def encode(
    schemas: list[Schema], view: FrameView, unknown: str, kinds: Mapping[str, str], scale: float = 1.0
) -> Iterator[Entries]:
    """The entries that the columns with these schemas make in the output matrix.

    ``kinds`` are those that the user gave. The entries of columns other than text and vectors are multiplied by
    ``scale``.
    """
    widths = [width(schema) for schema in schemas]
    firsts = dict(zip((schema["name"] for schema in schemas), np.cumsum([0, *widths]).tolist(), strict=False))
    by_name = {schema["name"]: schema for schema in schemas}
    texts: dict[str, ColumnValues] = {}
    problems: list[str] = []
    unread: list[str] = []
    for group in view.groups(list(by_name)):
        numeric: list[tuple[str, np.ndarray]] = []
        for name, values in group:
            schema = by_name[name]
            try:
                if schema["kind"] == "text":
                    texts[name] = _as_text(values, view, name)
                elif schema["kind"] in ("vector", "category"):
                    rows, columns, entries = _block(schema, values, view, unknown)
                    yield rows, columns + firsts[name], entries * (scale if schema["kind"] == "category" else 1.0)
                else:
                    is_given = kinds.get(name) in ("decimal-comma", "decimal-point")
                    numeric.append((name, read_numbers(schema, values, view, unread, is_given)))
            except TableError as error:
                problems.append(str(error))
        if numeric:
            for rows, columns, numbers in _number_entries(numeric, by_name, firsts, view):
                yield rows, columns, numbers * scale
    raise_together(problems)
    for schema in schemas:
        if schema["kind"] == "text" and schema["joined"]:
            block = text_block(schema, joined_texts([texts[name] for name in schema["joined"]])).tocoo()
            yield block.row, block.col + firsts[schema["name"]], block.data
    if unread:
        more = f"; and in {len(unread) - _UNREAD_COLUMNS:,} more columns" if len(unread) > _UNREAD_COLUMNS else ""
        warn(
            "cells that are not like their column in the training table count as missing: "
            f"{'; '.join(unread[:_UNREAD_COLUMNS])}{more}",
            topic="cells-that-cannot-be-read",
        )


def _block(schema: Schema, values: ColumnValues, view: FrameView, unknown: str) -> Entries:
    """The entries of a column of vectors or categories, its output columns counted from 0."""
    if schema["kind"] == "vector":
        X = vector_block(schema, values, view)
        rows, columns = np.indices(X.shape).reshape(2, -1)
        return rows, columns, X.ravel()
    columns = _category_columns(schema, values, view, unknown)
    rows = np.flatnonzero(columns >= 0)
    return rows, columns[rows], np.full(len(rows), _CATEGORY_ENTRY)


def _number_entries(
    columns: list[tuple[str, np.ndarray]], schemas: dict[str, Schema], firsts: dict[str, int], view: FrameView
) -> Iterator[Entries]:
    """Standardised numbers, the clocks of dates, and ones where a number or date is missing."""
    X = number_rows([name for name, _ in columns], [numbers for _, numbers in columns], view)
    used = [schemas[name] for name, _ in columns]
    median, mean, scale, tail = (
        np.array([[schema[key]] for schema in used]) for key in ("median", "mean", "scale", "tail")
    )
    missing = np.isnan(X)
    out = standardise(compressed(np.where(missing, median, X), tail), mean, scale)
    if not np.isfinite(out).all():
        i, row = np.argwhere(~np.isfinite(out))[0]
        raise TableError(
            f"{cell(view, int(row), float(X[i, row]), columns[i][0])} is too large for the scale "
            f"{used[i]['scale']:g} of this column in the training table: check its unit"
        )
    first = np.array([firsts[name] for name, _ in columns])
    yield np.tile(np.arange(X.shape[1]), len(X)), np.repeat(first, X.shape[1]), out.ravel()
    clocks = [clock_columns(schema.get("clock", []), days) for schema, days in zip(used, X, strict=True)]
    for start, clock in zip(first.tolist(), clocks, strict=True):
        for column, values in enumerate(clock, start + 1):
            yield np.arange(len(values)), np.full(len(values), column), values
    gaps, rows = np.nonzero(missing & np.array([[schema["missing"]] for schema in used]))
    after = first + 1 + [len(clock) for clock in clocks]
    yield rows, after[gaps], np.ones(len(rows))


def read_numbers(
    schema: Schema, values: ColumnValues, view: FrameView, unread: list[str], is_given: bool
) -> np.ndarray:
    """The column as numbers of the kind in the schema, nan where missing; an error if it is of another kind.

    Texts that are not written as those of the training table are missing, and described in ``unread``. The decimal mark
    may be another one, unless it ``is_given``.
    """
    kind, name, x = schema["kind"], schema["name"], values.numbers
    if x is not None and kind == "date" and values.kind == "number" and _are_compact(schema, x):
        values = _as_text(values, view, name)
    if values.codes is not None:
        numbers = parse(kind, values.texts, schema["notation"])
        if kind == "number" and not is_given:
            numbers = _with_own_mark(numbers, values, schema, view.decimal)
        bad = np.isnan(numbers)
        rows = np.append(bad, False)[values.codes]
        n_bad = int(rows.sum())
        if n_bad > 1 and bad.all():
            row = int(np.argmax(rows))
            raise TableError(
                f"{cell(view, row, values.texts[values.codes[row]], name)} {_not_of_kind(schema, values)}"
            )
        texts = [text for text, is_bad in zip(values.texts, bad, strict=True) if is_bad]
        is_training_table = len(schema["unread"]) == UNREAD and n_bad == schema["n_unread"]
        if not set(texts) <= set(schema["unread"]) and not is_training_table:
            unread.append(f"{n_bad:,} in {quote(name)} ({first_ten(texts)})")
        return np.append(numbers, np.nan)[values.codes]
    is_kind = values.kind == kind or (kind == "number" and values.kind == "boolean")
    if x is not None and kind == "boolean" and values.kind == "number":
        is_kind = bool(np.isin(x[~np.isnan(x)], (0, 1)).all())
    if x is None or not (is_kind or np.isnan(x).all()):
        raise TableError(
            f"{view.source}: column {quote(name)} holds {values.kind} values, but {kind}s in the training table"
        )
    return x


def _are_compact(schema: Schema, x: np.ndarray) -> bool:
    """Whether numbers in a column of dates are meant as dates such as 20200331."""
    return schema["notation"] == "compact" or not np.isnan(compact_days(x[~np.isnan(x)])).any()


def _with_own_mark(numbers: np.ndarray, values: ColumnValues, schema: Schema, decimal: str) -> np.ndarray:
    """The numbers read in the notation of training, or with the other decimal mark if the new table evidently has it.

    That is so if more rows can be read with the other mark, or as many, it is the mark of the table, ``decimal``, and
    the numbers are then more like those of training.
    """
    notation = schema["notation"]
    mark = "," if notation[:1] == "." else "."
    if decimal != mark and not np.isnan(numbers).any():
        return numbers
    others = parse("number", values.texts, mark + notation[1:])
    assert values.codes is not None
    rows = np.bincount(values.codes[values.codes >= 0], minlength=len(numbers))
    more = int(rows[~np.isnan(others)].sum()) - int(rows[~np.isnan(numbers)].sum())
    is_other = more > 0 or (more == 0 and decimal == mark and _are_more_usual(others, numbers, schema))
    return others if is_other else numbers


def _are_more_usual(others: np.ndarray, numbers: np.ndarray, schema: Schema) -> bool:
    """Whether the first reading is nearer in magnitude to the numbers of training than the second."""
    usual = max(abs(schema["median"]), schema["tail"] or schema["scale"])
    differ = (others != numbers) & ~np.isnan(others) & ~np.isnan(numbers)
    first, second = (np.median(np.abs(x[differ])) / usual if differ.any() else 1.0 for x in (others, numbers))
    return bool(abs(np.log(first)) < abs(np.log(second)))


def _not_of_kind(schema: Schema, values: ColumnValues) -> str:
    """Why a column without a value of its kind is refused: they are of another kind, or written otherwise."""
    kind, notation = schema["kind"], schema["notation"]
    assert values.codes is not None
    if kind == "boolean" or infer_type(values.texts, values.codes, kinds=[kind], forced=True).numbers is None:
        return (
            f"is not a {kind}, but this column holds {kind}s in the training table: correct it or leave it empty"
        )
    unit = notation[1:] or "without a unit"
    written = unit if kind == "number" else notation.replace("-", " ")
    return f"is not written as the {kind}s of this column in the training table ({written}): write all of them so"


def _category_columns(schema: Schema, values: ColumnValues, view: FrameView, unknown: str) -> np.ndarray:
    """The output column of each row, counted from the first one of this input column; -1 for none."""
    name, position = schema["name"], {category: i for i, category in enumerate(schema["categories"])}
    values = _as_text(values, view, name)
    assert values.codes is not None
    columns = np.array([position.get(text, -2) for text in values.texts] + [-1])[values.codes]
    if schema["missing"]:
        columns[columns == -1] = len(position) + schema["other"]
    is_new = columns == -2
    if schema["other"]:
        columns[is_new] = len(position)
    elif is_new.any() and unknown == "error":
        row = int(np.argmax(is_new))
        raise TableError(
            f"{cell(view, row, values.texts[values.codes[row]], name)} is not in the training table (known: "
            f"{first_ten(list(position))}): correct it, or give unknown='ignore' to count it as no category"
        )
    return columns


def _as_text(values: ColumnValues, view: FrameView, name: str) -> ColumnValues:
    """A column that is text in the training table; here it may hold only texts that look like numbers."""
    texts = as_text(values)
    if texts is None:
        raise TableError(
            f"{view.source}: column {quote(name)} holds {values.kind} values, but text in the training table"
        )
    return texts


def first_ten(names: list[str]) -> str:
    """At most ten names, for a message."""
    return ", ".join(map(quote, names[:10])) + (", ..." if len(names) > 10 else "")

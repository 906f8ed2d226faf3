"""The entries that a column makes in the output matrix, by its schema."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.columns.frames import ColumnValues, FrameView, text_column
from usmo.columns.scaling import standardise
from usmo.columns.schema import Schema, require_finite
from usmo.io import TableError
from usmo.io.errors import cell
from usmo.io.parsing import parse

_CATEGORY_ENTRY = 0.5**0.5
"""Two rows of different categories differ by this in two output columns: their distance is √(½ + ½) = 1, as that of
true and false."""

Entries = tuple[np.ndarray, Any, Any]
"""Rows, columns and values."""


def encode(schema: Schema, view: FrameView, unknown: str) -> list[Entries]:
    """The entries of one input column; output columns are counted from the first one of this input column."""
    values = view.column(schema["name"])
    if schema["kind"] == "category":
        columns = _category_columns(schema, values, view, unknown)
        rows = np.flatnonzero(columns >= 0)
        return [(rows, columns[rows], np.full(len(rows), _CATEGORY_ENTRY))]
    x = require_finite(_numbers(schema, values, view), schema["name"], view)
    missing = np.isnan(x)
    out = standardise(np.where(missing, schema["median"], x), schema["mean"], schema["scale"])
    if not np.isfinite(out).all():
        row = int(np.argmin(np.isfinite(out)))
        raise TableError(
            f"{cell(view, row, float(x[row]), schema['name'])} is too large for the scale {schema['scale']:g} of "
            "this column in the training table: check its unit"
        )
    entries: list[Entries] = [(np.arange(view.n_rows), 0, out)]
    if schema["missing"]:
        rows = np.flatnonzero(missing)
        entries.append((rows, 1, np.ones(len(rows))))
    return entries


def _numbers(schema: Schema, values: ColumnValues, view: FrameView) -> np.ndarray:
    """The column as numbers of the kind in the schema, nan where missing; an error if it is of another kind."""
    kind, name, x = schema["kind"], schema["name"], values.numbers
    if values.codes is not None:
        numbers = parse(kind, values.texts, comma=schema["comma"])[0]
        bad = np.append(np.isnan(numbers), False)[values.codes]
        if bad.any():
            row = int(np.argmax(bad))
            raise TableError(
                f"{cell(view, row, values.texts[values.codes[row]], name)} is not a {kind}, but this column holds "
                f"{kind}s in the training table: correct it or leave it empty"
            )
        return np.append(numbers, np.nan)[values.codes]
    is_kind = values.kind == kind or (kind == "number" and values.kind == "boolean")
    if x is not None and kind == "boolean" and values.kind == "number":
        is_kind = bool(np.isin(x[~np.isnan(x)], (0, 1)).all())
    if x is None or not (is_kind or np.isnan(x).all()):
        raise TableError(
            f"{view.source}: column {name!r} holds {values.kind} values, but {kind}s in the training table"
        )
    return x


def _category_columns(schema: Schema, values: ColumnValues, view: FrameView, unknown: str) -> np.ndarray:
    """The output column of each row, counted from the first one of this input column; -1 for none."""
    name, position = schema["name"], {category: i for i, category in enumerate(schema["categories"])}
    if values.numbers is not None and values.kind != "date":
        # a column of codes, of which this table holds only codes that look like numbers
        numbers, codes = np.unique(values.numbers, return_inverse=True)
        shown = [str(bool(v)) if values.kind == "boolean" else f"{v:.0f}" if v % 1 == 0 else repr(float(v))
                 for v in numbers]  # fmt: skip
        values = text_column(codes, shown)
    if values.codes is None:
        raise TableError(
            f"{view.source}: column {name!r} holds {values.kind} values, but text in the training table"
        )
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


def first_ten(names: list[str]) -> str:
    """At most ten names, for a message."""
    return ", ".join(repr(name) for name in names[:10]) + (", ..." if len(names) > 10 else "")

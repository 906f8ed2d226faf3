"""From a column and its record to entries of the output matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.columns.frames import Values, View, text_values
from usmo.columns.scaling import standardised
from usmo.columns.schema import finite, parsed
from usmo.io import TableError
from usmo.io.sheet import cell

_ONE = 0.5**0.5

Entries = tuple[np.ndarray, Any, Any]
"""Rows, columns and values."""


def encode(record: dict[str, Any], view: View, unknown: str) -> list[Entries]:
    """Entries of the output columns of one input column: rows, columns from its first one, values."""
    values = view.column(record["name"])
    if record["kind"] == "category":
        columns = _categories(record, values, view, unknown)
        rows = np.flatnonzero(columns >= 0)
        return [(rows, columns[rows], np.full(len(rows), _ONE))]
    x = finite(_numbers(record, values, view), record["name"], view)
    missing = np.isnan(x)
    out = standardised(np.where(missing, record["median"], x), record["mean"], record["scale"])
    if not np.isfinite(out).all():
        row = int(np.argmin(np.isfinite(out)))
        raise TableError(
            f"{cell(view, row, float(x[row]), record['name'])} is too large: write it in the usual unit"
        )
    entries: list[Entries] = [(np.arange(view.n_rows), 0, out)]
    if record["missing"]:
        rows = np.flatnonzero(missing)
        entries.append((rows, 1, np.ones(len(rows))))
    return entries


def _numbers(record: dict[str, Any], values: Values, view: View) -> np.ndarray:
    """The column as numbers of the kind that it had in training, nan where missing."""
    kind, name = record["kind"], record["name"]
    x = values.numbers
    if values.codes is not None:
        found = parsed(kind, values.texts, comma=record["comma"])
        bad = np.append(np.isnan(found), False)[values.codes]
        if bad.any():
            row = int(np.argmax(bad))
            raise TableError(
                f"{cell(view, row, values.texts[values.codes[row]], name)} is no {kind}, as this column is in the "
                "training table: mend it or leave it empty"
            )
        return np.append(found, np.nan)[values.codes]
    is_kind = values.kind == kind or (kind == "number" and values.kind == "boolean")
    if x is not None and kind == "boolean" and values.kind == "number":
        is_kind = bool(np.isin(x[~np.isnan(x)], (0, 1)).all())
    if x is None or not (is_kind or np.isnan(x).all()):
        raise TableError(
            f"{view.source}: column {name!r} holds {values.kind} values, in the training table {kind}s"
        )
    return x


def _categories(record: dict[str, Any], values: Values, view: View, unknown: str) -> np.ndarray:
    """The output column of each row, from the first one of the category; -1 for none."""
    name, known = record["name"], {category: i for i, category in enumerate(record["categories"])}
    if values.numbers is not None and values.kind != "date":
        # codes of which only those that look like numbers occur
        numbers, codes = np.unique(values.numbers, return_inverse=True)
        shown = [str(bool(v)) if values.kind == "boolean" else f"{v:.0f}" if v % 1 == 0 else repr(float(v))
                 for v in numbers]  # fmt: skip
        values = text_values(codes, shown)
    if values.codes is None:
        raise TableError(f"{view.source}: column {name!r} holds {values.kind} values, in the training table text")
    columns = np.array([known.get(text, -2) for text in values.texts] + [-1])[values.codes]
    if record["missing"]:
        columns[columns == -1] = len(known) + record["other"]
    strange = columns == -2
    if record["other"]:
        columns[strange] = len(known)
    elif strange.any() and unknown == "error":
        row = int(np.argmax(strange))
        raise TableError(
            f"{cell(view, row, values.texts[values.codes[row]], name)} is not in the training table (known: "
            f"{first_ten(list(known))}): mend it, or give unknown='ignore' to count it as no category"
        )
    return columns


def first_ten(names: list[str]) -> str:
    """Names for a message, which has no room for all of many."""
    return ", ".join(repr(name) for name in names[:10]) + (", ..." if len(names) > 10 else "")

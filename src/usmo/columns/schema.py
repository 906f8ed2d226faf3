"""The schema of a column: its kind and the values that encoding it needs, as a dict of plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.columns.frames import ColumnValues, FrameView
from usmo.columns.scaling import column_scaling
from usmo.io import TableError
from usmo.io.errors import cell
from usmo.io.infer_types import infer_type

_ID_ROWS, _ID_SHARE = 10, 0.9
"""A column with at least this many values, and more than this share of them different texts, looks like ids."""

Schema = dict[str, Any]


def column_schema(name: str, view: FrameView, max_categories: int) -> Schema:
    """The schema of one column of a training table."""
    values, comma = view.column(name), False
    if values.codes is not None:
        if not values.texts:
            return _ignored(name, "all missing")
        kind, numbers, comma = infer_type(name, values.texts, values.codes, view)
        if numbers is None:
            return _category_schema(name, values, max_categories)
        values = ColumnValues(kind, numbers)
    if values.numbers is None:
        return _ignored(name, f"holds values of type {values.kind}")
    x = require_finite(values.numbers, name, view)
    missing = int(np.isnan(x).sum())
    present = x[~np.isnan(x)]
    if not len(present):
        return _ignored(name, "all missing")
    if not missing and present.min() == present.max():
        return _ignored(name, "constant")
    if values.integer and len(x) >= _ID_ROWS and not missing and (np.diff(x) == 1).all():
        return _ignored(name, f"counts the rows from {x[0]:.0f}: looks like an id")
    median, mean, scale = column_scaling(x)
    if values.kind == "boolean":
        median, mean, scale = float(present.mean() > 0.5), 0.0, 1.0
    schema = {"name": name, "kind": values.kind, "median": median, "mean": mean, "scale": scale}
    return {**schema, "missing": missing > 0, "n_missing": missing, "comma": bool(comma)}


def _ignored(name: str, why: str) -> Schema:
    return {"name": name, "kind": "ignored", "why": why}


def _category_schema(name: str, values: ColumnValues, max_categories: int) -> Schema:
    """The schema of a text column: categories, or ignored if constant or nearly all texts are different."""
    assert values.codes is not None
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.texts))
    different, present = len(counts), int(counts.sum())
    missing = len(values.codes) - present
    too_many = different > max_categories
    if different == 1 and not missing:
        return _ignored(name, "constant")
    if (present >= _ID_ROWS and different > _ID_SHARE * present) or (too_many and different > present / 2):
        return _ignored(name, f"text with {different:,} different values: looks like an id or free text")
    most_frequent = np.argsort(-counts, kind="stable")[: max_categories - 1]
    categories = [values.texts[i] for i in np.sort(most_frequent)] if too_many else list(values.texts)
    return {
        "name": name, "kind": "category", "categories": categories, "other": too_many, "different": different,
        "missing": missing > 0, "n_missing": missing,
    }  # fmt: skip


def require_finite(x: np.ndarray, name: str, view: FrameView) -> np.ndarray:
    """The numbers of a column unchanged; an error names the first infinite one."""
    if np.isinf(x).any():
        row = int(np.argmax(np.isinf(x)))
        raise TableError(
            f"{cell(view, row, float(x[row]), name)} is infinite: write a finite number or leave it empty"
        )
    return x


def output_names(schema: Schema) -> list[str]:
    """Names of the output columns of an input column."""
    if schema["kind"] == "ignored":
        return []
    name = schema["name"]
    names = [name]
    if schema["kind"] == "category":
        names = [f"{name}={category}" for category in schema["categories"] + ["(other)"] * schema["other"]]
    return names + [f"{name}=(missing)"] * schema["missing"]


def summary_line(schema: Schema) -> str:
    """The kind of a column and its missing values, or why it is ignored, in one line."""
    kind, name = schema["kind"], schema["name"]
    if kind == "ignored":
        return f"{name}: ignored, {schema['why']}"
    if kind == "category":
        kept = len(schema["categories"])
        rest = f" (the {kept} most frequent of {schema['different']:,}, and the rest)" if schema["other"] else ""
        gaps = f", {schema['n_missing']:,} missing" if schema["missing"] else ""
        return f"{name}: {kept + schema['other']} categories{rest}{gaps}"
    filling = f"median {schema['median']:g}"
    if kind == "date":
        filling = f"median {np.datetime64(int(schema['median'] // 1), 'D')}"
    elif kind == "boolean":
        filling = "true" if schema["median"] else "false"
    return f"{name}: {kind}" + (f" ({schema['n_missing']:,} missing → {filling})" if schema["missing"] else "")

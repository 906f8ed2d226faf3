"""The schema of a column: its kind and the values that encoding it needs, as a dict of plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.columns.frames import ColumnValues, FrameView
from usmo.columns.scaling import scaling
from usmo.io import TableError
from usmo.io.errors import cell, short
from usmo.io.infer_types import infer_type
from usmo.system.terminal import printable

_ID_ROWS, _ID_SHARE = 10, 0.9
"""A column with at least this many values, and more than this share of them different texts, looks like ids."""

Schema = dict[str, Any]


def column_schemas(view: FrameView, max_categories: int) -> list[Schema]:
    """The schema of each column of a training table."""
    schemas: dict[str, Schema] = {}
    for group in view.groups(view.names):
        numeric: list[tuple[str, ColumnValues]] = []
        for name, values in group:
            if values.codes is not None:
                kind, numbers, comma = infer_type(name, values.texts, values.codes, view)
                if not values.texts or numbers is None:
                    schemas[name] = _category_schema(name, values, max_categories)
                    continue
                values = ColumnValues(kind, numbers, comma=comma)
            if values.numbers is None:
                schemas[name] = _ignored(name, f"holds values of type {values.kind}")
            else:
                numeric.append((name, values))
        if numeric:
            schemas.update({schema["name"]: schema for schema in _number_schemas(numeric, view)})
    return [schemas[name] for name in view.names]


def _number_schemas(columns: list[tuple[str, ColumnValues]], view: FrameView) -> list[Schema]:
    """The schemas of columns of numbers, booleans and dates."""
    X = number_rows([name for name, _ in columns], [values.numbers for _, values in columns], view)
    n = X.shape[1]
    n_missing = np.isnan(X).sum(axis=1).tolist()
    is_constant = np.fmin.reduce(X, axis=1) == np.fmax.reduce(X, axis=1)
    scalings = np.transpose(scaling(X)).tolist()
    schemas = []
    for i, (name, values) in enumerate(columns):
        missing, (median, mean, scale) = n_missing[i], scalings[i]
        if missing == n:
            schemas.append(_ignored(name, "all missing"))
        elif not missing and is_constant[i]:
            schemas.append(_ignored(name, "constant"))
        elif values.integer and n >= _ID_ROWS and _counts_rows(X[i]):
            schemas.append(_ignored(name, f"counts the rows from {X[i, 0]:.0f}: looks like an id"))
        else:
            if values.kind == "boolean":
                median, mean, scale = float(np.nansum(X[i]) > 0.5 * (n - missing)), 0.0, 1.0
            schema = {"name": name, "kind": values.kind, "median": median, "mean": mean, "scale": scale}
            schemas.append({**schema, "missing": missing > 0, "n_missing": missing, "comma": values.comma})
    return schemas


def _counts_rows(x: np.ndarray) -> bool:
    return bool(x[-1] - x[0] == len(x) - 1 and (np.diff(x) == 1).all())


def number_rows(names: list[str], columns: list[Any], view: FrameView) -> np.ndarray:
    """Columns of numbers as the rows of a matrix; an error names the first infinite number."""
    X = np.array(columns, dtype=np.float64)
    if np.isinf(X).any():
        column, row = np.argwhere(np.isinf(X))[0]
        raise TableError(
            f"{cell(view, int(row), float(X[column, row]), names[column])} is infinite: write a finite number "
            "or leave it empty"
        )
    return X


def _ignored(name: str, why: str) -> Schema:
    return {"name": name, "kind": "ignored", "why": why}


def _category_schema(name: str, values: ColumnValues, max_categories: int) -> Schema:
    """The schema of a text column: categories, or ignored if constant or nearly all texts are different."""
    assert values.codes is not None
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.texts))
    different, present = len(counts), int(counts.sum())
    missing = len(values.codes) - present
    too_many = different > max_categories
    if not different:
        return _ignored(name, "all missing")
    if different == 1 and not missing:
        return _ignored(name, "constant")
    if (present >= _ID_ROWS and different > _ID_SHARE * present) or (too_many and different > present / 2):
        return _ignored(name, f"text with {different:,} different values: looks like an id or free text")
    categories = list(values.texts)
    if too_many:
        most_frequent = np.argsort(-counts, kind="stable")[: max_categories - 1]
        categories = [values.texts[i] for i in np.sort(most_frequent)]
    return {
        "name": name, "kind": "category", "categories": categories, "other": too_many, "different": different,
        "missing": missing > 0, "n_missing": missing,
    }  # fmt: skip


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
    kind, name = schema["kind"], printable(short(schema["name"]))
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

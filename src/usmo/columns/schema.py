"""The schema of a column: its kind and the values that encoding it needs, as a dict of plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from usmo.columns.frames import ColumnValues, FrameView
from usmo.columns.scaling import scaling
from usmo.columns.vectors import vector_schema
from usmo.columns.words import term_names, text_schema
from usmo.io import TableError, no_column
from usmo.io.errors import cell, quote, short
from usmo.io.infer_types import infer_type
from usmo.io.prose import is_prose
from usmo.system.terminal import printable

_ID_ROWS, _ID_SHARE = 10, 0.9
"""A column with at least this many values, and more than this share of them different texts, looks like ids."""

Schema = dict[str, Any]


class Choice(NamedTuple):
    """What the encoder's parameters say of columns: how text is encoded, and names of text and vector columns."""

    max_categories: int
    text: str
    text_columns: Sequence[str]
    embedding_columns: Sequence[str]


def column_schemas(view: FrameView, choice: Choice) -> list[Schema]:
    """The schema of each column of a training table."""
    for name in (*choice.text_columns, *choice.embedding_columns):
        if name not in view.names:
            raise TableError(no_column(name, view.names, view.source))
    schemas: dict[str, Schema] = {}
    for group in view.groups(view.names):
        numeric: list[tuple[str, ColumnValues]] = []
        for name, values in group:
            if name in choice.embedding_columns:
                schemas[name] = vector_schema(name, values, view)
                continue
            if name in choice.text_columns:
                schemas[name] = _text_schema(name, values, choice, view)
                continue
            if values.codes is not None:
                kind, numbers, comma = infer_type(name, values.texts, values.codes, view)
                if not values.texts or numbers is None:
                    schemas[name] = _category_schema(name, values, choice)
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


def _text_schema(name: str, values: ColumnValues, choice: Choice, view: FrameView) -> Schema:
    """The schema of a column that is said to be text."""
    if values.codes is None:
        raise TableError(
            f"{view.source}: column {quote(name)} is to be text, and holds values of type {values.kind}"
        )
    method = "hash" if choice.text == "hash" else "tfidf"
    return text_schema(name, values, method) or _ignored(name, "text without words")


def _category_schema(name: str, values: ColumnValues, choice: Choice) -> Schema:
    """The schema of a column of texts: categories; if nearly all are different, text with words, or ignored."""
    assert values.codes is not None
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.texts))
    different, present = len(counts), int(counts.sum())
    missing = len(values.codes) - present
    max_categories = choice.max_categories
    too_many = different > max_categories
    if not different:
        return _ignored(name, "all missing")
    if different == 1 and not missing:
        return _ignored(name, "constant")
    if (present >= _ID_ROWS and different > _ID_SHARE * present) or (too_many and different > present / 2):
        if not is_prose(values.texts):
            return _ignored(name, f"text with {different:,} different values: looks like ids, codes or names")
        found = None if choice.text == "none" else text_schema(name, values, choice.text)
        return found or _ignored(name, f"text with {different:,} different values")
    categories = list(values.texts)
    if too_many:
        most_frequent = np.argsort(-counts, kind="stable")[: max_categories - 1]
        categories = [values.texts[i] for i in np.sort(most_frequent)]
    return {
        "name": name, "kind": "category", "categories": categories, "other": too_many, "different": different,
        "missing": missing > 0, "n_missing": missing,
    }  # fmt: skip


def width(schema: Schema) -> int:
    """The number of output columns of an input column."""
    if schema["kind"] in ("text", "vector"):
        return len(schema["idf" if schema["kind"] == "text" else "mean"])
    return len(output_names(schema))


def output_names(schema: Schema) -> list[str]:
    """Names of the output columns of an input column."""
    if schema["kind"] == "ignored":
        return []
    name = schema["name"]
    names = [name]
    if schema["kind"] == "text":
        return [f"{name}: {term}" for term in term_names(schema)]
    if schema["kind"] == "vector":
        return [f"{name}[{i}]" for i in range(len(schema["mean"]))]
    if schema["kind"] == "category":
        names = [f"{name}={category}" for category in schema["categories"] + ["(other)"] * schema["other"]]
    return names + [f"{name}=(missing)"] * schema["missing"]


def summary_line(schema: Schema) -> str:
    """The kind of a column and its missing values, or why it is ignored, in one line."""
    kind, name = schema["kind"], printable(short(schema["name"]))
    if kind == "ignored":
        return f"{name}: ignored, {schema['why']}"
    gaps = f", {schema['n_missing']:,} missing" if schema["n_missing"] else ""
    if kind == "text":
        terms = f"{len(schema['idf']):,} {'hashed ' if schema['method'] == 'hash' else ''}words and pairs of words"
        return f"{name}: text, {terms}{gaps}"
    if kind == "vector":
        return f"{name}: vectors of {len(schema['mean']):,} numbers{gaps}"
    if kind == "category":
        kept = len(schema["categories"])
        rest = f" (the {kept} most frequent of {schema['different']:,}, and the rest)" if schema["other"] else ""
        return f"{name}: {kept + schema['other']} categories{rest}{gaps}"
    filling = f"median {schema['median']:g}"
    if kind == "date":
        filling = f"median {np.datetime64(int(schema['median'] // 1), 'D')}"
    elif kind == "boolean":
        filling = "true" if schema["median"] else "false"
    return f"{name}: {kind}" + (f" ({schema['n_missing']:,} missing → {filling})" if schema["missing"] else "")

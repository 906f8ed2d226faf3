"""The schema of a column: its kind and the values that encoding it needs, as a dict of plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from usmo.columns.clock import clock_of
from usmo.columns.frames import ColumnValues, FrameView, as_text
from usmo.columns.ids import ID_ROWS, ID_SHARE, id_reason, is_postal
from usmo.columns.scaling import scaling
from usmo.columns.tails import compressed, tail_scale
from usmo.columns.vectors import vector_schema
from usmo.columns.words import term_names, text_schemas
from usmo.io import TableError, no_column
from usmo.io.dates import are_compact, compact_days
from usmo.io.errors import cell, quote, short
from usmo.io.infer_types import Inference, infer_type
from usmo.io.prose import is_prose
from usmo.system.caller import warn
from usmo.system.terminal import printable

KINDS = (
    "number", "category", "date", "text", "boolean", "ignore", "decimal-comma", "decimal-point", "day-first",
    "month-first",
)  # fmt: skip
"""What may be said of a column: its kind, or the notation of its numbers or dates."""

_FORCED = {
    "number": ("number", None), "decimal-comma": ("number", ","), "decimal-point": ("number", "."),
    "date": ("date", None), "day-first": ("date", "day-first"),
    "month-first": ("date", "month-first"), "boolean": ("boolean", ""),
}  # fmt: skip
"""The kind, and the notation or decimal mark, that one of the words above gives to a column."""

_PROBLEMS = 10
"""Columns that cannot be used, as far as an error names them."""

Schema = dict[str, Any]


class Choice(NamedTuple):
    """What the encoder's parameters say of columns: how text is encoded, names of text and vector columns, kinds."""

    max_categories: int
    text: str
    text_columns: Sequence[str]
    embedding_columns: Sequence[str]
    kinds: Mapping[str, str]


class _Numeric(NamedTuple):
    """A column of numbers, booleans or dates, and how it was written."""

    name: str
    values: ColumnValues
    found: Inference
    given: bool
    """Whether its kind is given."""


class _Text(NamedTuple):
    """A column of text. Those of a table get their schemas together."""

    name: str
    values: ColumnValues


def column_schemas(view: FrameView, choice: Choice) -> list[Schema]:
    """The schema of each column of a training table; an error names all columns that cannot be used."""
    for name in (*choice.text_columns, *choice.embedding_columns, *choice.kinds):
        if name not in view.names:
            raise TableError(no_column(name, view.names, view.source))
    schemas: dict[str, Schema] = {}
    texts: dict[str, ColumnValues] = {}
    problems: list[str] = []
    for group in view.groups(view.names):
        numeric: list[_Numeric] = []
        for name, values in group:
            try:
                made = _schema_or_values(name, values, view, choice)
            except TableError as error:
                problems.append(str(error))
                continue
            if isinstance(made, _Numeric):
                numeric.append(made)
            elif isinstance(made, _Text):
                texts[made.name] = made.values
            else:
                schemas[name] = made
        if numeric:
            schemas.update({schema["name"]: schema for schema in _number_schemas(numeric, view, problems)})
    raise_together(problems)
    if texts:
        found = text_schemas(texts, "hash" if choice.text == "hash" else "tfidf")
        unused = [_ignored(name, "text without words") for name in texts]
        schemas.update({schema["name"]: schema for schema in found or unused})
    return [schemas[name] for name in view.names]


def _schema_or_values(
    name: str, values: ColumnValues, view: FrameView, choice: Choice
) -> Schema | _Numeric | _Text:
    """The schema of a column of vectors or categories, or else its numbers or texts."""
    kind = choice.kinds.get(name)
    if kind == "ignore":
        return _ignored(name, "as asked")
    if name in choice.embedding_columns:
        return vector_schema(name, values, view)
    if name in choice.text_columns or kind == "text":
        return _said_text(name, values, view)
    if kind == "category" or (kind is None and values.integer and is_postal(name)):
        texts = as_text(values)
        if texts is None:
            raise TableError(
                f"{view.source}: column {quote(name)} of type {values.kind} cannot be a category: {past(name)}"
            )
        return _category_schema(name, texts, choice, given=kind == "category")
    if kind is not None:
        return _given_numbers(name, values, view, *_FORCED[kind])
    if values.codes is not None:
        found = infer_type(values.texts, values.codes, decimal=view.decimal)
        if found.mixed:
            units = ", ".join(f"{unit} ({n:,})" for unit, n in found.mixed.items())
            warn(f"column {quote(name)} mixes units ({units}): it is not read as numbers", topic="mixed-units")
        if found.numbers is None:
            return _category_schema(name, values, choice)
        return _Numeric(name, ColumnValues(found.kind, found.numbers), found, False)
    if values.numbers is None:
        return _ignored(name, f"holds values of type {values.kind}")
    if values.integer and are_compact(values.numbers[~np.isnan(values.numbers)]):
        days = ColumnValues("date", compact_days(values.numbers))
        return _Numeric(name, days, Inference("date", notation="compact"), False)
    return _Numeric(name, values, _plain(values.kind), False)


def _plain(kind: str) -> Inference:
    """The notation of values that are not text."""
    return Inference(kind, notation={"number": ".", "date": "year-first"}.get(kind, ""))


def _given_numbers(name: str, values: ColumnValues, view: FrameView, kind: str, notation: str | None) -> _Numeric:
    """A column as numbers of the kind that is given; an error if no value is of this kind."""
    if kind == "date" and values.kind == "number":
        values, notation = as_text(values) or values, "compact"
    if values.codes is not None and kind == "number" and notation is not None:
        found = infer_type(values.texts, values.codes, kinds=["number"], decimal=notation, forced=True)
        code = notation + found.notation[1:]
        found = infer_type(values.texts, values.codes, kinds=["number"], notation=code, forced=True)
    elif values.codes is not None:
        infer = partial(infer_type, values.texts, values.codes, kinds=[kind], decimal=view.decimal, forced=True)
        found = infer(notation=notation or None)
    else:
        same = values.kind == kind or (kind == "number" and values.kind == "boolean")
        found = _plain(kind)._replace(numbers=values.numbers if same else None)
    if found.numbers is None or np.isnan(found.numbers).all():
        raise TableError(
            f"{view.source}: column {quote(name)} holds no {kind}s, which it was said to: {past(name)}"
        )
    return _Numeric(name, ColumnValues(kind, found.numbers), found, True)


def raise_together(problems: list[str]) -> None:
    """Raise an error that names the first problems, if there are any."""
    if problems:
        more = f"; and {len(problems) - _PROBLEMS:,} more" if len(problems) > _PROBLEMS else ""
        raise TableError("; ".join(problems[:_PROBLEMS]) + more)


def past(name: str) -> str:
    """How to go on without a column."""
    return f"give it another kind, or leave it out with --kind {short(name)}=ignore"


def _number_schemas(columns: list[_Numeric], view: FrameView, problems: list[str]) -> list[Schema]:
    """The schemas of columns of numbers, booleans and dates."""
    X = np.array([column.values.numbers for column in columns], dtype=np.float64)
    if np.isinf(X).any():
        columns = [column for column in columns if not _is_infinite(column, view, problems)]
        if not columns:
            return []
        X = np.array([column.values.numbers for column in columns], dtype=np.float64)
    n = X.shape[1]
    n_missing = np.isnan(X).sum(axis=1).tolist()
    is_constant = np.fmin.reduce(X, axis=1) == np.fmax.reduce(X, axis=1)
    tails = [
        tail_scale(x) if column.values.kind == "number" else 0.0 for x, column in zip(X, columns, strict=True)
    ]
    medians, means, scales = scaling(X)
    if any(tails):
        _, means, scales = scaling(compressed(X, np.array(tails)[:, None]))
    scalings = np.transpose([medians, means, scales]).tolist()
    schemas = []
    for i, (name, values, found, given) in enumerate(columns):
        missing, (median, mean, scale) = n_missing[i], scalings[i]
        whole = values.kind == "number" and (values.integer or (missing > 0 and not (X[i] % 1 > 0).any()))
        why = id_reason(name, X[i][~np.isnan(X[i])]) if whole and not given else None
        if missing == n:
            schemas.append(_ignored(name, "all missing"))
        elif not missing and is_constant[i]:
            is_large = values.integer and abs(X[i][0]) >= 2**53
            schemas.append(_ignored(name, "constant in the first 15 digits" if is_large else "constant"))
        elif why is not None:
            schemas.append(_ignored(name, why))
        else:
            if values.kind == "boolean":
                median, mean, scale = float(np.nansum(X[i]) > 0.5 * (n - missing)), 0.0, 1.0
            schemas.append(
                {
                    "name": name, "kind": values.kind, "median": median, "mean": mean, "scale": scale,
                    "missing": missing > 0, "n_missing": missing, "notation": found.notation, "sure": found.sure,
                    "unread": list(found.unread), "n_unread": found.n_unread, "tail": tails[i],
                }
            )  # fmt: skip
            if values.kind == "date" and (clock := clock_of(X[i])):
                schemas[-1]["clock"] = clock
    return schemas


def _is_infinite(column: _Numeric, view: FrameView, problems: list[str]) -> bool:
    """Whether a column holds an infinite number, which is then named among the problems."""
    try:
        number_rows([column.name], [column.values.numbers], view)
    except TableError as error:
        problems.append(str(error))
        return True
    return False


def number_rows(names: list[str], columns: list[Any], view: FrameView) -> np.ndarray:
    """Columns of numbers as the rows of a matrix; an error names the first infinite number."""
    X = np.array(columns, dtype=np.float64)
    if np.isinf(X).any():
        column, row = np.argwhere(np.isinf(X))[0]
        raise TableError(
            f"{cell(view, int(row), float(X[column, row]), names[column])} is infinite: write a finite number, leave "
            f"it empty, or fit without the column (--ignore {short(names[column])})"
        )
    return X


def _ignored(name: str, why: str) -> Schema:
    return {"name": name, "kind": "ignored", "why": why}


def _said_text(name: str, values: ColumnValues, view: FrameView) -> _Text:
    """A column that is said to be text."""
    if values.codes is None:
        raise TableError(
            f"{view.source}: column {quote(name)} is to be text, and holds values of type {values.kind}"
        )
    return _Text(name, values)


def _category_schema(name: str, values: ColumnValues, choice: Choice, given: bool = False) -> Schema | _Text:
    """The schema of a column of texts: categories; if nearly all are different, it is text with words, or ignored.

    A column that is ``given`` as categories is, whatever its values are.
    """
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
    scattered = (present >= ID_ROWS and different > ID_SHARE * present) or (too_many and different > present / 2)
    if scattered and not given:
        if not is_prose(values.texts):
            return _ignored(name, f"text with {different:,} different values: looks like ids, codes or names")
        if choice.text == "none":
            return _ignored(name, f"text with {different:,} different values")
        return _Text(name, values)
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
        return [f"{' + '.join(schema['joined'])}: {term}" for term in term_names(schema)]
    if schema["kind"] == "vector":
        return [f"{name}[{i}]" for i in range(len(schema["mean"]))]
    if schema["kind"] == "category":
        names = [f"{name}={category}" for category in schema["categories"] + ["(other)"] * schema["other"]]
    names += [f"{name} ({own['part']})" for own in schema.get("clock", [])]
    return names + [f"{name}=(missing)"] * schema["missing"]


def summary_line(schema: Schema) -> str:
    """The kind of a column and its missing values, or why it is ignored, in one line."""
    kind, name = schema["kind"], printable(short(schema["name"]))
    if kind == "ignored":
        return f"{name}: ignored, {schema['why']}"
    gaps = f", {schema['n_missing']:,} missing" if schema["n_missing"] else ""
    if kind == "text":
        if not schema["joined"]:
            return f"{name}: text, read together with the other text{gaps}"
        terms = f"{len(schema['idf']):,} {'hashed ' if schema['method'] == 'hash' else ''}words and pairs of words"
        others = " of all text columns" if len(schema["joined"]) > 1 else ""
        return f"{name}: text, {terms}{others}{gaps}"
    if kind == "vector":
        return f"{name}: vectors of {len(schema['mean']):,} numbers{gaps}"
    if kind == "category":
        kept = len(schema["categories"])
        rest = f" (the {kept} most frequent of {schema['different']:,}, and the rest)" if schema["other"] else ""
        return f"{name}: {kept + schema['other']} categories{rest}{gaps}"
    filling = f"median {schema['median']:g}"
    if kind == "date":
        kind = "date and time of day" if "clock" in schema else kind
        filling = f"median {np.datetime64(int(schema['median'] // 1), 'D')}"
    elif kind == "boolean":
        filling = "true" if schema["median"] else "false"
    gaps = f" ({schema['n_missing']:,} missing → {filling})" if schema["missing"] else ""
    return f"{name}: {kind}{_written(schema)}{gaps}{_doubts(schema)}"


def _written(schema: Schema) -> str:
    """How the numbers or dates of a column are written, if not plainly."""
    notation = schema["notation"]
    if schema["kind"] == "number":
        unit = f" in {printable(notation[1:])}" if notation[1:] else ""
        comma = ", decimal comma" if notation[:1] == "," else ""
        return unit + comma + (", heavy tails on a log scale" if schema["tail"] else "")
    return f", {notation.replace('-', ' ')}" if notation in ("day-first", "month-first") else ""


def _doubts(schema: Schema) -> str:
    """What could not be decided or read in a column."""
    name, notation, doubts = printable(short(schema["name"])), schema["notation"], ""
    if not schema["sure"]:
        if schema["kind"] == "date":
            other = "month-first" if notation == "day-first" else "day-first"
            doubts = f"; no value tells day and month apart, --kind {name}={other} reads it the other way"
        else:
            example, other = ("1.234", "decimal-point") if notation[:1] == "," else ("1234", "decimal-comma")
            doubts = f"; 1,234 is read as {example}, --kind {name}={other} reads it the other way"
    if schema["n_unread"]:
        texts = ", ".join(quote(text) for text in schema["unread"][:5])
        doubts += f"; {schema['n_unread']:,} are not {schema['kind']}s and count as missing: {printable(texts)}"
    return doubts

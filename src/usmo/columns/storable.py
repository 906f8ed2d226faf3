"""What model files hold of this room: the encoder, whose schemas must have the fields of their kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.columns.clock import PARTS
from usmo.columns.encoder import TableEncoder
from usmo.columns.schema import KINDS, width
from usmo.columns.vectors import MOST_NUMBERS
from usmo.columns.words import HASHED_TERMS, MOST_IDF, is_vocabulary
from usmo.files import register
from usmo.files.errors import need
from usmo.files.rules import (
    Rule,
    array,
    check_attribute,
    conform,
    count,
    instance,
    number,
    optional,
    or_none,
    reals,
    size,
)
from usmo.io.dates import FORMATS

_TEXT, _TRUTH = instance(str), instance(bool)
_NAMES = Rule(
    "a list of different texts",
    lambda value, sizes: isinstance(value, list) and all(isinstance(name, str) for name in value),
    lambda value, sizes: len(set(value)) == len(value),
)
_SELECTED = Rule(
    "names of columns",
    lambda value, sizes: isinstance(value, list | tuple) and all(isinstance(name, str) for name in value),
)
_KINDS = Rule(
    "kinds by the names of columns",
    lambda value, sizes: (
        isinstance(value, dict) and all(isinstance(name, str) and kind in KINDS for name, kind in value.items())
    ),
)
_TAIL = Rule(
    "a finite number, 0 or more", lambda value, sizes: isinstance(value, float) and 0.0 <= value < float("inf")
)
_NUMBERS = {
    "name": _TEXT, "kind": _TEXT, "median": number(), "mean": number(), "scale": number(0), "missing": _TRUTH,
    "n_missing": count(), "notation": _TEXT, "sure": _TRUTH, "unread": _NAMES, "n_unread": count(),
    "tail": _TAIL,
}  # fmt: skip
_DAY = number(-2e8, 2e8)
"""Days since 1970 that a column of dates can hold: microseconds in 64 bits."""

_PART = {"part": _TEXT, "median": number(), "mean": number(), "scale": number(0)}
"""The fields of a part of the clock of a column of dates (:mod:`usmo.columns.clock`)."""

_METHOD = Rule("tfidf or hash", lambda value, sizes: isinstance(value, str) and value in ("tfidf", "hash"))
_IDF = array(
    f"numbers from 1 to {MOST_IDF:.0f}",
    "f",
    "terms",
    values=lambda idf, sizes: ((idf >= 1) & (idf <= MOST_IDF)).all(),
)


def _scales(name: str) -> Rule:
    return array(
        "positive numbers", "f", name, values=lambda scale, sizes: ((scale > 0) & np.isfinite(scale)).all()
    )


_FIELDS: dict[str, dict[str, Rule]] = {
    "number": _NUMBERS,
    "boolean": _NUMBERS,
    "date": {**_NUMBERS, "median": _DAY},
    "category": {
        "name": _TEXT, "kind": _TEXT, "categories": _NAMES, "other": _TRUTH, "different": count(),
        "missing": _TRUTH, "n_missing": count(),
    },
    "text": {
        "name": _TEXT, "kind": _TEXT, "method": _METHOD, "terms": instance(list), "idf": _IDF, "different": count(),
        "n_missing": count(), "markup": _TRUTH, "pair_weight": number(0), "joined": _NAMES,
    },
    "vector": {
        "name": _TEXT, "kind": _TEXT, "mean": reals("numbers"), "scale": _scales("numbers"), "n_missing": count()
    },
    "ignored": {"name": _TEXT, "kind": _TEXT, "why": _TEXT},
}  # fmt: skip
"""The fields of a schema by the kind of its column (:mod:`usmo.columns.schema`)."""

_SCALING = {"matrix_median_": reals("matrix"), "matrix_mean_": reals("matrix"), "matrix_scale_": _scales("matrix")}


def _check_encoder(encoder: TableEncoder) -> None:
    """Require one valid schema per column of a data frame, or names and scaling per column of a matrix."""
    encoder.columns_ = [_current(schema) for schema in encoder.columns_]
    for i, schema in enumerate(encoder.columns_):
        _check_schema(f"columns_[{i}]", schema)
    names = [schema["name"] for schema in encoder.columns_] or encoder.matrix_names_
    unique = len(set(names)) == len(names) == encoder.n_features_in_
    need(unique, f"the encoder has {encoder.n_features_in_} columns, and {len(set(names))} names of columns")
    texts = encoder.named("text")
    joined = [name for schema in encoder.columns_ if schema["kind"] == "text" for name in schema["joined"]]
    need(sorted(joined) == sorted(texts), "every text column must be joined to one text")
    width = 0 if encoder.columns_ else encoder.n_features_in_
    conform(encoder, _SCALING, matrix=width)
    need(encoder.sparse_output_ or not encoder.named("text"), "sparse_output_ must be True for a table with text")
    need(len(encoder.matrix_names_) == width, f"matrix_names_ must be {width} names")


def _current(schema: Any) -> Any:
    """A schema of a file of an earlier version, in the form of this version.

    An earlier schema had a truth value for the decimal comma and ISO dates only. Every text column had its own terms,
    those of markup included, and pairs of words had the weight of words.
    """
    if isinstance(schema, dict) and schema.get("kind") == "text":
        return {"markup": False, "pair_weight": 1.0, "joined": [schema.get("name")], **schema}
    if not isinstance(schema, dict) or type(schema.get("comma")) is not bool or "notation" in schema:
        return schema
    comma = schema["comma"]
    notation = {"number": "," if comma else ".", "date": "year-first"}.get(str(schema.get("kind")), "")
    kept = {name: value for name, value in schema.items() if name != "comma"}
    return {**kept, "notation": notation, "sure": True, "unread": [], "n_unread": 0, "tail": 0.0}


def _check_schema(owner: str, schema: Any) -> None:
    kind = schema.get("kind") if isinstance(schema, dict) else None
    fields = _FIELDS.get(kind) if isinstance(kind, str) else None
    need(fields, f"{owner} must be the schema of a column, of the kind {', '.join(_FIELDS)}")
    assert fields is not None
    if kind == "date" and "clock" in schema:
        fields = {**fields, "clock": instance(list)}
    need(set(schema) == set(fields), f"{owner} must have the fields {', '.join(fields)}, as a {kind} has")
    sizes: dict[str, int] = {}
    for name, rule in fields.items():
        check_attribute(owner, name, schema[name], rule, sizes)
    if kind == "number":
        need(schema["notation"][:1] in (".", ","), f"{owner}.notation must be a decimal mark and a unit")
    if kind == "date":
        need(schema["notation"] in FORMATS, f"{owner}.notation must be one of {', '.join(FORMATS)}")
        _check_clock(f"{owner}.clock", schema.get("clock"))
    if kind == "vector":
        need(0 < sizes["numbers"] <= MOST_NUMBERS, f"{owner} must be of 1 to {MOST_NUMBERS:,} numbers")
    if kind == "text" and not schema["joined"]:
        need(not schema["terms"] and sizes["terms"] == 0, f"{owner} must have no terms, because it is joined")
    elif kind == "text" and schema["method"] == "hash":
        need(not schema["terms"] and sizes["terms"] == HASHED_TERMS, f"{owner} must have {HASHED_TERMS:,} idf")
    elif kind == "text":
        good = is_vocabulary(schema["terms"]) and sizes["terms"] == len(schema["terms"])
        need(good, f"{owner}.terms must be sorted words and pairs of words, each once and with an idf")


def _check_clock(owner: str, clock: list[Any] | None) -> None:
    """Require the parts of a clock, each at most once and in their order; dates without times have no clock."""
    if clock is None:
        return
    for i, own in enumerate(clock):
        good = isinstance(own, dict) and set(own) == set(_PART)
        need(good, f"{owner}[{i}] must have the fields {', '.join(_PART)}")
        for name, rule in _PART.items():
            check_attribute(f"{owner}[{i}]", name, own[name], rule, {})
    parts = [own["part"] for own in clock]
    known = parts and parts == [part for part in PARTS if part in parts]
    need(known, f"{owner} must have one or more of the parts {', '.join(PARTS)}, each once and in this order")


register(
    TableEncoder,
    attributes=(),
    rules={
        "n_features_in_": size("columns"), "columns_": instance(list), "sparse_output_": _TRUTH,
        "matrix_names_": _NAMES, **_SCALING, **optional(other_scale_=number(0)), "text_columns": or_none(_SELECTED),
        "embedding_columns": or_none(_SELECTED), "kinds": or_none(_KINDS),
    },
    check=_check_encoder,
    outputs=lambda encoder: sum(map(width, encoder.columns_)) or encoder.n_features_in_,
)  # fmt: skip

"""What model files hold of this room: the encoder, whose schemas must have the fields of their kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.columns.encoder import TableEncoder
from usmo.columns.schema import output_names
from usmo.files import register
from usmo.files.errors import need
from usmo.files.rules import Rule, array, check_attribute, conform, count, instance, number, reals, size

_TEXT, _TRUTH = instance(str), instance(bool)
_NAMES = Rule(
    "a list of different texts",
    lambda value, sizes: isinstance(value, list) and all(isinstance(name, str) for name in value),
    lambda value, sizes: len(set(value)) == len(value),
)
_NUMBERS = {
    "name": _TEXT, "kind": _TEXT, "median": number(), "mean": number(), "scale": number(0), "missing": _TRUTH,
    "n_missing": count(), "comma": _TRUTH,
}  # fmt: skip
_DAY = number(-2e8, 2e8)
"""Days since 1970 that a column of dates can hold: microseconds in 64 bits."""

_FIELDS: dict[str, dict[str, Rule]] = {
    "number": _NUMBERS,
    "boolean": _NUMBERS,
    "date": {**_NUMBERS, "median": _DAY},
    "category": {
        "name": _TEXT, "kind": _TEXT, "categories": _NAMES, "other": _TRUTH, "different": count(),
        "missing": _TRUTH, "n_missing": count(),
    },
    "ignored": {"name": _TEXT, "kind": _TEXT, "why": _TEXT},
}  # fmt: skip
"""The fields of a schema by the kind of its column (:mod:`usmo.columns.schema`)."""

_POSITIVE = array(
    "positive numbers", "f", "matrix", values=lambda scale, sizes: ((scale > 0) & np.isfinite(scale)).all()
)
_SCALING = {"matrix_median_": reals("matrix"), "matrix_mean_": reals("matrix"), "matrix_scale_": _POSITIVE}


def _check_encoder(encoder: TableEncoder) -> None:
    """Require one valid schema per column of a data frame, or names and scaling per column of a matrix."""
    for i, schema in enumerate(encoder.columns_):
        _check_schema(f"columns_[{i}]", schema)
    names = [schema["name"] for schema in encoder.columns_] or encoder.matrix_names_
    unique = len(set(names)) == len(names) == encoder.n_features_in_
    need(unique, f"the encoder has {encoder.n_features_in_} columns, and {len(set(names))} names of columns")
    width = 0 if encoder.columns_ else encoder.n_features_in_
    conform(encoder, _SCALING, matrix=width)
    need(len(encoder.matrix_names_) == width, f"matrix_names_ must be {width} names")


def _check_schema(owner: str, schema: Any) -> None:
    kind = schema.get("kind") if isinstance(schema, dict) else None
    fields = _FIELDS.get(kind) if isinstance(kind, str) else None
    need(fields, f"{owner} must be the schema of a column, of the kind {', '.join(_FIELDS)}")
    assert fields is not None
    need(set(schema) == set(fields), f"{owner} must have the fields {', '.join(fields)}, as a {kind} has")
    for name, rule in fields.items():
        check_attribute(owner, name, schema[name], rule, {})


register(
    TableEncoder,
    attributes=(),
    rules={
        "n_features_in_": size("columns"), "columns_": instance(list), "sparse_output_": _TRUTH,
        "matrix_names_": _NAMES, **_SCALING,
    },
    check=_check_encoder,
    outputs=lambda encoder: sum(len(output_names(schema)) for schema in encoder.columns_) or encoder.n_features_in_,
)  # fmt: skip

"""Kinds and numbers of the columns of a table, for pages that show them: as the encoder reads them."""

from __future__ import annotations

from functools import cache

import numpy as np

from usmo.columns.encoder import TableEncoder
from usmo.columns.encoding import read_numbers
from usmo.columns.frames import ColumnValues, view_of
from usmo.core.arrays import Array
from usmo.io import Sheet
from usmo.io.infer_types import infer_type
from usmo.io.prose import is_prose

ORDERED = ("number", "date")
"""Kinds of columns whose values have an order and a median."""


class ColumnReader:
    """Kinds and numbers of the columns of a sheet.

    Columns that the encoder ignores, or all without an encoder, are read by what they look like.
    """

    def __init__(self, sheet: Sheet, encoder: TableEncoder | None = None) -> None:
        self._view = view_of(sheet) if sheet.matrix is None else None
        self._given = dict(encoder.kinds or {}) if encoder is not None else {}
        schemas = encoder.columns_ if encoder is not None else []
        self._schemas = {schema["name"]: schema for schema in schemas if schema["kind"] != "ignored"}
        self._read = cache(self._find)

    def kind(self, name: str) -> str:
        """The kind of a column: "number", "date", "boolean", "category", "text", "vector", or "value" for any other."""
        if self._view is None:
            return "number"
        return self._schemas[name]["kind"] if name in self._schemas else self._read(name)[0]

    def numbers(self, name: str) -> Array:
        """An ordered column of a data frame as numbers, dates as days, nan where a value is missing."""
        return self._read(name)[1]

    def _find(self, name: str) -> tuple[str, Array]:
        values, nothing = self._values(name), np.empty(0)
        if name in self._schemas:
            schema = self._schemas[name]
            assert schema["kind"] in ORDERED
            assert self._view is not None
            is_given = self._given.get(name) in ("decimal-comma", "decimal-point")
            return schema["kind"], read_numbers(schema, values, self._view, [], is_given)
        if values.kind in ORDERED and values.numbers is not None:
            return values.kind, values.numbers
        if values.codes is not None:
            assert self._view is not None
            found = infer_type(values.texts, values.codes, kinds=ORDERED, decimal=self._view.decimal)
            if found.numbers is not None:
                return found.kind, found.numbers
            return ("text" if is_prose(values.texts) else "category"), nothing
        return ("category" if values.kind == "boolean" else "value"), nothing

    def _values(self, name: str) -> ColumnValues:
        assert self._view is not None
        return next(self._view.groups([name]))[0][1]

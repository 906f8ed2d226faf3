"""Tables of SQLite and DuckDB databases, opened read-only."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from usmo.io.errors import TableError, no_file, no_table, one_line, quote
from usmo.io.infer_types import convert_text_columns
from usmo.io.layout import distinct
from usmo.io.libraries import duckdb, polars
from usmo.io.limits import FRAME_COLUMN, limit_of
from usmo.io.sheet import Sheet

_CELL = 100
"""Bytes of a value while it is a Python object."""

_TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'",
    "duckdb": "SELECT table_name FROM information_schema.tables WHERE table_schema NOT IN ('information_schema')",
}


def read_database(path: str, kind: str, table: str | None, text: frozenset[str], max_bytes: float | None) -> Sheet:
    """Read the table ``table`` of a "sqlite" or "duckdb" file, or its only one."""
    if not os.path.exists(path):
        raise TableError(no_file(path))
    errors: tuple[type[BaseException], ...] = (sqlite3.Error,)
    if kind == "duckdb":
        errors = (duckdb().Error,)
    try:
        with closing(_connected(path, kind)) as connection:
            names = sorted(row[0] for row in connection.execute(_TABLES[kind]).fetchall())
            if table is None and len(names) != 1:
                listed = ", ".join(map(quote, names[:20])) or "none"
                raise TableError(f"{path} has {len(names)} tables ({listed}): name one, as in {path}?table=NAME")
            chosen = names[0] if table is None else table
            if chosen not in names:
                raise TableError(no_table(path, chosen, names, "table"))
            columns, rows = _rows(connection, chosen, path, max_bytes)
    except errors as error:
        raise TableError(f"{path} cannot be read as a {kind} database ({one_line(error)})") from None
    notes: list[str] = []
    frame = polars().DataFrame(
        [
            _column(name, list(values))
            for name, values in zip(distinct(columns, notes), _by_column(rows, columns), strict=True)
        ]
    )
    source = f"{path}?table={chosen}"
    return convert_text_columns(Sheet(frame, source=source, notes=notes), text)


def _connected(path: str, kind: str) -> Any:
    if kind == "duckdb":
        return duckdb().connect(path, read_only=True)
    return sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)


def _rows(
    connection: Any, table: str, path: str, max_bytes: float | None
) -> tuple[list[str], list[Sequence[Any]]]:
    """The names of the columns and the rows of a table, if it is not too large."""
    quoted = '"' + table.replace('"', '""') + '"'
    n = connection.execute(f"SELECT COUNT(*) FROM {quoted}").fetchone()[0]
    cursor = connection.execute(f"SELECT * FROM {quoted}")
    columns = [str(column[0]) for column in cursor.description]
    limit = limit_of(path, os.path.getsize(path), max_bytes)
    limit.check_table(n, len(columns), per_column=FRAME_COLUMN, per_row=_CELL * len(columns))
    return columns, cursor.fetchall()


def _by_column(rows: list[Sequence[Any]], columns: list[str]) -> list[Sequence[Any]]:
    return list(zip(*rows, strict=True)) if rows else [[] for _ in columns]


def _column(name: str, values: list[Any]) -> Any:
    """Values of a column as a Polars series; as text if they are of several types, null for bytes."""
    pl = polars()
    values = [None if isinstance(value, bytes) else value for value in values]
    types = {type(value) for value in values if value is not None}
    if types <= {int, float, bool} and types:
        return pl.Series(name, values, dtype=pl.Float64 if float in types else None, strict=False)
    if len(types) > 1 or types == {int}:
        values = [None if value is None else str(value) for value in values]
    try:
        return pl.Series(name, values)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(name, [None if value is None else str(value) for value in values])

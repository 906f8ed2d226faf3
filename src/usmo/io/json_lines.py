"""JSON lines: a file with one JSON object per line, read by Polars; a wrong line is named."""

from __future__ import annotations

import io
import json
import math
from bisect import bisect_left
from collections.abc import Iterator
from typing import NoReturn

import numpy as np

from usmo.io.encodings import as_utf8
from usmo.io.errors import TableError, one_line, short
from usmo.io.infer_types import convert_text_columns
from usmo.io.libraries import polars
from usmo.io.limits import FRAME_COLUMN, TEXT_ROW, Limit, Options
from usmo.io.sheet import Sheet
from usmo.io.textfiles import stripped_text

_MAX_DEPTH = 64
"""Levels of lists and objects in a JSON record. Polars takes 0.02 s to infer the type of 64, 80 s of 1,000."""


def read_json_lines(data: bytes, limit: Limit, options: Options) -> Sheet:
    """Read a file with one JSON object per line."""
    pl, name = polars(), limit.source
    data, note = as_utf8(data, name, options.encoding)
    data, blank_lines = stripped_text(data)
    limit.check_table(data.count(b"\n"), 1, per_column=FRAME_COLUMN, per_row=TEXT_ROW)
    lines = np.fromiter(_record_lines(data, blank_lines, name), np.int64)
    try:
        schema = pl.scan_ndjson(io.BytesIO(data), infer_schema_length=None).collect_schema()
        limit.check_table(len(lines), len(schema), per_column=FRAME_COLUMN, per_row=TEXT_ROW)
        frame = pl.read_ndjson(data, schema=schema)
    except pl.exceptions.PolarsError as error:
        _raise_wrong_record(data, lines, name, error)
    return convert_text_columns(Sheet(frame, source=name, lines=lines, notes=[note] if note else []), options.text)


def _record_lines(data: bytes, blank_lines: int, name: str) -> Iterator[int]:
    """The line of each record; an error if one is nested too deeply."""
    for line, record in enumerate(io.BytesIO(data), blank_lines + 1):
        if record.count(b"[") + record.count(b"{") > _MAX_DEPTH and _depth(record) > _MAX_DEPTH:
            raise TableError(
                f"{name}: line {line} holds lists or objects in more than {_MAX_DEPTH} levels: write values as text"
            )
        if record.strip():
            yield line


def _depth(record: bytes) -> int:
    """How many lists and objects of a JSON record lie within each other."""
    outside = b"".join(record.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    marks = np.frombuffer(outside, np.uint8)
    steps = np.isin(marks, list(b"[{")).astype(np.int64) - np.isin(marks, list(b"]}"))
    return int(np.cumsum(steps).max(initial=0))


def _raise_wrong_record(data: bytes, lines: np.ndarray, name: str, error: Exception) -> NoReturn:
    """Name the first line that is not a JSON object, or else the first that Polars cannot read."""
    pl = polars()
    records = [record for record in data.split(b"\n") if record.strip()]
    for line, record in zip(lines, records, strict=True):
        try:
            if isinstance(
                json.loads(record, parse_constant=_number, parse_int=_number, parse_float=_number), dict
            ):
                continue
            problem = "holds no {...}"
        except json.JSONDecodeError as wrong:
            problem = f"is not JSON ({wrong.msg}, column {wrong.colno})"
        except ValueError as wrong:
            problem = str(wrong)
        raise TableError(f"{name}: line {line} {problem}: write one object per line") from None

    def fails(n: int) -> bool:
        try:
            pl.read_ndjson(b"\n".join(records[:n]), infer_schema_length=None)
        except pl.exceptions.PolarsError:
            return True
        return False

    first = bisect_left(range(1, len(records)), True, key=fails)
    raise TableError(f"{name}: line {lines[first]} cannot be read as JSON ({one_line(error)})")


def _number(text: str) -> float:
    """A number of JSON; also called for NaN and Infinity, which JSON does not have."""
    if not math.isfinite(float(text)):
        raise ValueError(f"holds {short(text)}, which is not a finite number")
    return float(text)

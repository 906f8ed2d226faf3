"""Text files: CSV and TSV, by Polars where every line has its fields, else line by line; and JSON lines."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from usmo.io.errors import TableError, one_line
from usmo.io.infer_types import recognised
from usmo.io.libraries import polars
from usmo.io.numerals import USUAL, parse_numbers
from usmo.io.sheet import Sheet

_SCAN_BYTES = 1 << 23
"""Bytes of a text table that are counted through at a time: the counts then stay below 100 MB."""


def read_fields(data: bytes, name: str, text: frozenset[str], separator: str | None = None) -> Sheet:
    """A CSV or TSV file: read by Polars if every line has the fields of the header, else line by line."""
    pl = polars()
    data, above = _lines_of(data, name)
    first = data[: data.find(b"\n")] if b"\n" in data else data
    if separator is None:
        bare = re.sub(rb'"[^"]*"', b"", first)
        separator = max(",;\t|", key=lambda mark: bare.count(mark.encode()))
    try:
        names = _names(next(_records(data, separator)), name)
    except UnicodeDecodeError:
        _not_utf8(data, name)
    except csv.Error as error:
        raise TableError(f"{name}: the header line cannot be read ({error}): close the quote in it") from None
    fields, starts = _scan(data, separator)
    lines = starts[1:] + above
    if not len(lines):
        raise TableError(f"{name} holds a header line but no rows: add the rows")
    frame = None
    if (fields == len(names)).all():
        how = {"has_header": False, "skip_rows": 1, "separator": separator, "new_columns": names}
        for inference in ({"infer_schema_length": 10_000, "null_values": USUAL}, {"infer_schema": False}):
            try:
                frame = pl.read_csv(data, **how, **inference)
                break
            except pl.exceptions.PolarsError:  # text below numbers, or quotes inside a field
                continue
    if frame is None or frame.height != len(lines):
        frame, lines = _read_slowly(data, name, names, separator)
        lines = lines + above
    elif text & set(names):
        places = sorted(names.index(column) for column in text & set(names))
        raw = pl.read_csv(
            data, has_header=False, skip_rows=1, separator=separator, infer_schema=False, columns=places
        )
        frame = frame.with_columns(raw[raw.columns[i]].alias(names[at]) for i, at in enumerate(places))
    del data
    sheet = Sheet(frame, source=name, lines=lines)
    del frame
    return recognised(sheet, text, comma=separator == ";")


def _lines_of(data: bytes, name: str) -> tuple[bytes, int]:
    """The text without byte order mark and without empty lines at its ends; how many were above it."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TableError(
            f"{name} is UTF-16, not UTF-8 text: iconv -f UTF-16 -t UTF-8 {name} > utf8-{Path(name).name}"
        )
    if b"\0" in data:
        raise TableError(f"{name} is no text (it holds zero bytes): save it as text, or name its format")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    below = data.lstrip(b"\r\n")
    above = data.count(b"\n", 0, len(data) - len(below))
    # the text may be large: no copy for the line end that nearly every file has
    return (below.rstrip(b"\r\n") if below.endswith((b"\n\n", b"\n\r\n")) else below), above


def _not_utf8(data: bytes, name: str) -> NoReturn:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"{name}: line {line} is not UTF-8 text (byte 0x{data[error.start]:02x}): save it as UTF-8, or "
            f"convert it: iconv -f WINDOWS-1252 -t UTF-8 {name} > utf8-{Path(name).name}"
        ) from None
    raise AssertionError("the text is UTF-8")


def _records(data: bytes, separator: str) -> Any:
    return csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline=""), delimiter=separator, strict=True)


def _names(header: list[str], name: str) -> list[str]:
    """Column names, checked: no two alike, no numbers where the names should be."""
    names = [each.strip() or f"column {i + 1}" for i, each in enumerate(header)]
    numbers = parse_numbers(names)[0]
    if not np.isnan(numbers).any() and (numbers % 1 != 0).any():
        raise TableError(
            f"{name} has no header line, it starts with {header[0]}: put a line of column names above it"
        )
    twice = [each for each, times in Counter(names).items() if times > 1]
    if twice:
        raise TableError(f"{name} has several columns named {twice[0]!r}: give every column a name of its own")
    return names


def _scan(data: bytes, separator: str) -> tuple[np.ndarray, np.ndarray]:
    """Fields of each record, and the line on which it starts: separators and line ends outside of quotes."""
    mark, end, quote = ord(separator), ord("\n"), ord('"')
    quoted = '"' if b'"' in data else ""
    fields, lines = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    inside = marks = ends = 0
    for at in range(0, len(data), _SCAN_BYTES):
        block = np.frombuffer(data, np.uint8, min(_SCAN_BYTES, len(data) - at), at)
        seen = (block == mark) | (block == end)
        if quoted:
            seen |= block == quote
        kinds = block[seen]
        is_mark, is_end = kinds == mark, kinds == end
        every_end = np.cumsum(is_end) + ends
        if quoted and len(kinds):
            within = (np.cumsum(kinds == quote) + inside) & 1
            inside = int(within[-1])
            is_mark &= within == 0
            is_end &= within == 0
        every_mark = np.cumsum(is_mark) + marks
        fields.append(every_mark[is_end])
        lines.append(every_end[is_end])
        if len(kinds):
            marks, ends = int(every_mark[-1]), int(every_end[-1])
    fields.append(np.array([marks]))
    records = -1 if data.endswith(b"\n") and not inside else None
    found = np.diff(np.concatenate(fields))[:records] + 1
    if inside:
        found[-1] = 0  # a quote is open: no record ends here
    return found, np.concatenate(lines)[:records] + 1


def _read_slowly(data: bytes, name: str, names: list[str], separator: str) -> tuple[Any, np.ndarray]:
    """The rows as Python's csv module reads them: names the wrong line, forgives empty lines and stray quotes."""
    reader, rows, lines = _records(data, separator), [], []
    try:
        next(reader)
        line = reader.line_num + 1
        for row in reader:
            if len(row) == len(names):
                rows.append(row)
                lines.append(line)
            elif any(cell.strip() for cell in row):
                quotes = "; or a quote is not closed" if any("\n" in cell for cell in row) else ""
                raise TableError(
                    f"{name}: line {line} has {len(row)} fields where the header has {len(names)} (separator "
                    f"{separator!r}): add or remove fields, or put quotes around text that holds one{quotes}"
                )
            line = reader.line_num + 1
    except UnicodeDecodeError:
        _not_utf8(data, name)
    except csv.Error as error:
        raise TableError(
            f"{name}: line {line} cannot be read ({error}): close the quote, or write it twice"
        ) from None
    if not rows:
        raise TableError(f"{name} holds a header line but no rows: add the rows")
    return polars().DataFrame(dict(zip(names, zip(*rows, strict=True), strict=True))), np.array(lines)


def read_json_lines(data: bytes, name: str, text: frozenset[str]) -> Sheet:
    """A file with one JSON object per line."""
    pl = polars()
    data, above = _lines_of(data, name)
    lines = np.array([i for i, line in enumerate(data.split(b"\n"), above + 1) if line.strip()])
    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        for line, record in zip(lines, (line for line in data.split(b"\n") if line.strip()), strict=True):
            try:
                if isinstance(json.loads(record), dict):
                    continue
                problem = "holds no {...}"
            except UnicodeDecodeError:
                _not_utf8(data, name)
            except json.JSONDecodeError as wrong:
                problem = f"is not JSON ({wrong.msg}, column {wrong.colno})"
            raise TableError(f"{name}: line {line} {problem}: write one object per line") from None
        raise TableError(f"{name} cannot be read as JSON lines ({one_line(error)})") from None
    return recognised(Sheet(frame, source=name, lines=lines), text, comma=False)

"""Text files: CSV and TSV, read by Polars if every record has the right number of fields, and JSON lines."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from usmo.io.errors import TableError, one_line, quote, short
from usmo.io.infer_types import convert_text_columns
from usmo.io.libraries import polars
from usmo.io.limits import FRAME_COLUMN, TEXT_ROW, Limit
from usmo.io.parsing import USUAL_SPELLINGS, parse_numbers
from usmo.io.sheet import Sheet

_SCAN_BYTES = 1 << 23
"""Bytes that ``_scan_records`` processes at a time: its temporary arrays then stay below 100 MB."""

_FIELD_BYTES = 100
"""Memory of a field that the csv module reads: a Python string in two lists."""

_MAX_DEPTH = 64
"""Levels of lists and objects in a JSON record. Polars takes 0.02 s to infer the type of 64, 80 s of 1,000."""


def read_fields(data: bytes, limit: Limit, text: frozenset[str], separator: str | None = None) -> Sheet:
    """Read a CSV or TSV file: with Polars if every record has the fields of the header, else record by record."""
    name = limit.source
    data, blank_lines = _stripped_text(data, name)
    header = re.sub(rb'"[^"]*"', b"", io.BytesIO(data).readline())
    if separator is None:
        separator = max(",;\t|", key=lambda mark: header.count(mark.encode()))
    rows, columns = data.count(b"\n", 0, len(data) - 1), header.count(separator.encode()) + 1
    cells = rows + data.count(separator.encode())
    limit.check_table(rows, columns, cells=cells, per_column=FRAME_COLUMN, per_row=TEXT_ROW)
    try:
        names = _column_names(next(_records(data, separator)), name)
    except UnicodeDecodeError:
        _raise_not_utf8(data, name)
    except csv.Error as error:
        raise TableError(
            f"{name}: the header line cannot be read ({error}): close the quote in it, or shorten the field"
        ) from None
    fields, starts = _scan_records(data, separator)
    lines = starts[1:]
    if not len(lines):
        raise TableError(f"{name} holds a header line but no rows: add the rows")
    frame = None
    if (fields == len(names)).all():
        frame = _read_with_polars(data, names, separator, len(lines), text)
    if frame is None:
        limit.check(_FIELD_BYTES * cells, f"{len(lines):,} rows with blank lines, stray quotes or missing fields")
        frame, lines = _read_with_csv_module(data, name, names, separator)
    del data
    sheet = Sheet(frame, source=name, lines=lines + blank_lines)
    del frame
    return convert_text_columns(sheet, text, comma=separator == ";")


def _stripped_text(data: bytes, name: str) -> tuple[bytes, int]:
    """The text without byte order mark and without blank lines at both ends; the number of blank lines above it."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TableError(
            f"{name} is UTF-16, not UTF-8 text: iconv -f UTF-16 -t UTF-8 {name} > utf8-{Path(name).name}"
        )
    if b"\0" in data:
        raise TableError(f"{name} is not text (it holds zero bytes): save it as text, or name its format")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    text = data.lstrip(b"\r\n")
    blank_lines = data.count(b"\n", 0, len(data) - len(text))
    # the text may be large: do not copy it to remove the one line end that nearly every file has
    return (text.rstrip(b"\r\n") if text.endswith((b"\n\n", b"\n\r\n")) else text), blank_lines


def _raise_not_utf8(data: bytes, name: str) -> NoReturn:
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


def _column_names(header: list[str], name: str) -> list[str]:
    """The names in the header; an error if two are equal, or if they are numbers, which means data."""
    names = [each.strip() or f"column {i + 1}" for i, each in enumerate(header)]
    numbers = parse_numbers(names)[0]
    if not np.isnan(numbers).any() and (numbers % 1 != 0).any():
        raise TableError(
            f"{name} has no header line, it starts with {short(header[0])}: put a line of column names above it"
        )
    repeated = [each for each, times in Counter(names).items() if times > 1]
    if repeated:
        raise TableError(f"{name} has several columns named {quote(repeated[0])}: give every column its own name")
    return names


def _scan_records(data: bytes, separator: str) -> tuple[np.ndarray, np.ndarray]:
    """Number of fields of each record, 0 if its quote stays open, and the line on which it starts.

    Counts the separators and line ends outside of quotes, ``_SCAN_BYTES`` at a time.
    """
    mark, end, quote = ord(separator), ord("\n"), ord('"')
    has_quotes = b'"' in data
    fields, lines = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    inside = marks = ends = 0  # whether a quote is open; separators outside of quotes, and line ends, so far
    for at in range(0, len(data), _SCAN_BYTES):
        block = np.frombuffer(data, np.uint8, min(_SCAN_BYTES, len(data) - at), at)
        is_special = (block == mark) | (block == end)
        if has_quotes:
            is_special |= block == quote
        special = block[is_special]
        if not len(special):
            continue
        is_mark, is_end = special == mark, special == end
        every_end = np.cumsum(is_end) + ends
        if has_quotes:
            quoted = (np.cumsum(special == quote) + inside) & 1
            inside = int(quoted[-1])
            is_mark &= quoted == 0
            is_end &= quoted == 0
        every_mark = np.cumsum(is_mark) + marks
        fields.append(every_mark[is_end])
        lines.append(every_end[is_end])
        marks, ends = int(every_mark[-1]), int(every_end[-1])
    fields.append(np.array([marks]))
    stop = -1 if data.endswith(b"\n") and not inside else None
    counts = np.diff(np.concatenate(fields))[:stop] + 1
    if inside:
        counts[-1] = 0
    return counts, np.concatenate(lines)[:stop] + 1


def _read_with_polars(data: bytes, names: list[str], separator: str, n_rows: int, text: frozenset[str]) -> Any:
    """The data frame, columns in ``text`` unparsed; None if Polars fails or does not find this number of rows."""
    pl = polars()
    options = {"has_header": False, "skip_rows": 1, "separator": separator}
    for inference in ({"infer_schema_length": 10_000, "null_values": USUAL_SPELLINGS}, {"infer_schema": False}):
        try:
            frame = pl.read_csv(data, new_columns=names, **options, **inference)
            break
        except pl.exceptions.PolarsError:  # text below the rows used for inference, or quotes inside a field
            continue
    else:
        return None
    if frame.height != n_rows:
        return None
    places = [i for i, each in enumerate(names) if each in text]
    if places:
        unparsed = pl.read_csv(data, infer_schema=False, columns=places, **options)
        frame = frame.with_columns(unparsed[unparsed.columns[k]].alias(names[i]) for k, i in enumerate(places))
    return frame


def _read_with_csv_module(data: bytes, name: str, names: list[str], separator: str) -> tuple[Any, np.ndarray]:
    """The data frame and the line of each row; accepts blank lines and stray quotes, and names a wrong line."""
    reader, rows, lines = _records(data, separator), [], []
    try:
        next(reader)
        line = reader.line_num + 1
        for row in reader:
            if len(row) == len(names):
                rows.append(row)
                lines.append(line)
            elif any(field.strip() for field in row):
                quotes = "; or a quote is not closed" if any("\n" in field for field in row) else ""
                raise TableError(
                    f"{name}: line {line} has {len(row)} fields where the header has {len(names)} (separator "
                    f"{separator!r}): add or remove fields, or put quotes around text that holds one{quotes}"
                )
            line = reader.line_num + 1
    except UnicodeDecodeError:
        _raise_not_utf8(data, name)
    except csv.Error as error:
        raise TableError(
            f"{name}: line {line} cannot be read ({error}): close the quote, write it twice, or shorten the field"
        ) from None
    if not rows:
        raise TableError(f"{name} holds a header line but no rows: add the rows")
    return polars().DataFrame(dict(zip(names, zip(*rows, strict=True), strict=True))), np.array(lines)


def read_json_lines(data: bytes, limit: Limit, text: frozenset[str]) -> Sheet:
    """Read a file with one JSON object per line."""
    pl, name = polars(), limit.source
    data, blank_lines = _stripped_text(data, name)
    limit.check_table(data.count(b"\n"), 1, per_column=FRAME_COLUMN, per_row=TEXT_ROW)
    lines = np.fromiter(_record_lines(data, blank_lines, name), np.int64)
    try:
        schema = pl.scan_ndjson(io.BytesIO(data), infer_schema_length=None).collect_schema()
        limit.check_table(len(lines), len(schema), per_column=FRAME_COLUMN, per_row=TEXT_ROW)
        frame = pl.read_ndjson(data, schema=schema)
    except pl.exceptions.PolarsError as error:
        _raise_wrong_record(data, lines, name, error)
    return convert_text_columns(Sheet(frame, source=name, lines=lines), text, comma=False)


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
        except UnicodeDecodeError:
            _raise_not_utf8(data, name)
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

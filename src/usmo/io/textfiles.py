"""CSV and TSV files, read by Polars if every record has the right number of fields, else record by record."""

from __future__ import annotations

import csv
import re
from typing import Any

import numpy as np

from usmo.io.encodings import as_utf8
from usmo.io.errors import TableError, short
from usmo.io.file_types import check_is_text
from usmo.io.infer_types import CODE, convert_text_columns
from usmo.io.layout import Layout, decimal_mark, find_layout, records
from usmo.io.libraries import polars
from usmo.io.limits import FRAME_COLUMN, TEXT_ROW, Limit, Options
from usmo.io.notation import PLAIN_NUMBER
from usmo.io.parsing import USUAL_SPELLINGS, is_missing
from usmo.io.sheet import Sheet

_SCAN_BYTES = 1 << 23
"""Bytes that ``_scan_records`` processes at a time: its temporary arrays then stay below 100 MB."""

_FIELD_BYTES = 100
"""Memory of a field that the csv module reads: a Python string in two lists."""

_INSPECTED = 20_000
"""Rows in which the spellings of missing values are looked for in columns that Polars has parsed."""

_HEADER_LINES = 2
"""Most lines below the header that are no rows: units, or the questions and ids of a survey."""


def read_fields(data: bytes, limit: Limit, options: Options, separator: str | None = None) -> Sheet:
    """Read a CSV or TSV file: with Polars if every record has the fields of the header, else record by record."""
    name, text = limit.source, options.text
    check_is_text(data, name)
    data, note = as_utf8(data, name, options.encoding)
    data, blank_lines = stripped_text(data)
    layout = find_layout(data, name, separator)
    data, names, notes = layout.data, layout.names, [*([note] if note else []), *layout.notes]
    mark = layout.separator.encode()
    rows, cells = data.count(b"\n", 0, len(data) - 1), data.count(b"\n") + data.count(mark)
    limit.check_table(rows, len(names), cells=cells, per_column=FRAME_COLUMN, per_row=TEXT_ROW)
    fields, starts, has_codes = _scan_records(data, layout.separator)
    lines = starts[1:]
    if not len(lines):
        raise TableError(f"{name} holds a header line but no rows: add the rows")
    decimal = decimal_mark(data, layout.separator)
    frame = None
    if (fields[1:] == len(names)).all() and fields[0] == layout.header_fields:
        frame = _read_with_polars(data, layout, len(lines), text, has_codes, decimal == ",")
    if frame is None:
        limit.check(_FIELD_BYTES * cells, f"{len(lines):,} rows with blank lines, stray quotes or missing fields")
        frame, lines = _read_with_csv_module(data, name, layout, notes)
    inspected = _missing_spellings(data, frame, layout, text)
    del data
    layout = layout._replace(data=b"")
    assumed = decimal or ("," if layout.separator == ";" else "")
    sheet = Sheet(frame, source=name, lines=lines + blank_lines + layout.lines_above, decimal=assumed, notes=notes)
    del frame
    for column, spellings in inspected.items():
        sheet.note_missing(column, spellings)
    sheet = convert_text_columns(sheet, text)
    edges = [column for column in layout.edges if sheet.frame[column].null_count() == sheet.n_rows]
    return _without_units(sheet.drop(edges) if edges else sheet, text)


def stripped_text(data: bytes) -> tuple[bytes, int]:
    """The text without blank lines at both ends, lines ended by a line feed; the number of blank lines above it."""
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    text = data.lstrip(b"\r\n")
    blank_lines = data.count(b"\n", 0, len(data) - len(text))
    # the text may be large: do not copy it to remove the one line end that nearly every file has
    return (text.rstrip(b"\r\n") if text.endswith((b"\n\n", b"\n\r\n")) else text), blank_lines


def _scan_records(data: bytes, separator: str) -> tuple[np.ndarray, np.ndarray, bool]:
    """Number of fields of each record, 0 if its quote stays open; the line on which it starts; are there codes?

    A field that starts with 0 and another digit may be a code. Counts the separators and line ends outside of
    quotes, ``_SCAN_BYTES`` at a time.
    """
    mark, end, quote = ord(separator), ord("\n"), ord('"')
    has_quotes = b'"' in data
    fields, lines = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    has_codes = False
    inside = marks = ends = 0  # whether a quote is open; separators outside of quotes, and line ends, so far
    for at in range(0, len(data), _SCAN_BYTES):
        block = np.frombuffer(data, np.uint8, min(_SCAN_BYTES, len(data) - at), at)
        is_special = (block == mark) | (block == end)
        if has_quotes:
            is_special |= block == quote
        special = block[is_special]
        if not len(special):
            continue
        if not has_codes:
            zeros = np.flatnonzero(is_special[:-2] & (block[1:-1] == ord("0"))) + 2
            has_codes = bool(((block[zeros] >= ord("0")) & (block[zeros] <= ord("9"))).any())
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
    return counts, np.concatenate(lines)[:stop] + 1, has_codes


def _read_with_polars(
    data: bytes, layout: Layout, n_rows: int, text: frozenset[str], has_codes: bool, comma: bool
) -> Any:
    """The data frame; None if Polars fails or does not find this number of rows.

    Columns in ``text`` are not parsed, nor codes with leading zeros, nor numbers such as 1.234 in a table with decimal
    commas.
    """
    pl, names = polars(), layout.names
    options = {"has_header": False, "skip_rows": 1, "separator": layout.separator}
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
    places = {i for i, each in enumerate(names) if each in text}
    columns = frame.get_columns()
    if has_codes:
        integers = [i for i, column in enumerate(columns) if column.dtype.is_integer() and i not in places]
        for i, column in _unparsed(data, integers, options):
            if column.str.contains(CODE).any():
                places.add(i)
    if comma:
        places |= {i for i, column in enumerate(columns) if column.dtype.is_float() and _may_be_thousands(column)}
    return frame.with_columns(column.alias(names[i]) for i, column in _unparsed(data, sorted(places), options))


def _unparsed(data: bytes, places: list[int], options: dict[str, Any], **more: Any) -> list[tuple[int, Any]]:
    """Columns as text, with their places."""
    if not places:
        return []
    frame = polars().read_csv(data, infer_schema=False, columns=places, **options, **more)
    return list(zip(places, frame.get_columns(), strict=True))


def _may_be_thousands(column: Any) -> bool:
    """Whether numbers were read from texts that may all be 1.234 for 1234: three decimals, none below 1."""
    x = column.drop_nulls().abs()
    thousands = x * 1000
    return bool(len(x)) and bool(((x >= 1) & ((thousands - thousands.round(0)).abs() < 1e-6)).all())


def _missing_spellings(data: bytes, frame: Any, layout: Layout, text: frozenset[str]) -> dict[str, list[str]]:
    """How missing values are written in the first rows of columns that Polars has parsed."""
    pl = polars()
    places = [
        i for i, column in enumerate(frame.get_columns())
        if column.dtype != pl.String and column.null_count() and column.name not in text
    ]  # fmt: skip
    options = {"has_header": False, "skip_rows": 1, "separator": layout.separator, "n_rows": _INSPECTED}
    return {
        layout.names[i]: [each for each in column.drop_nulls().unique(maintain_order=True) if is_missing(each)]
        for i, column in _unparsed(data, places, options)
    }


def _read_with_csv_module(data: bytes, name: str, layout: Layout, notes: list[str]) -> tuple[Any, np.ndarray]:
    """The data frame and the line of each row; accepts blank lines and stray quotes, and names a wrong line.

    Lines of words below the last row, such as "Total: 12 rows", are left out and noted.
    """
    names, separator = layout.names, layout.separator
    reader, rows, lines = records(data, separator), [], []
    odd: list[tuple[int, list[str]]] = []
    try:
        next(reader)
        line = reader.line_num + 1
        for row in reader:
            if len(row) == len(names) and not odd:
                rows.append(row)
                lines.append(line)
            elif any(field.strip() for field in row):
                odd.append((line, row))
                if len(row) == len(names) or not _is_remark(row):
                    break
            line = reader.line_num + 1
    except csv.Error as error:
        raise TableError(
            f"{name}: line {line} cannot be read ({error}): close the quote, write it twice, or shorten the field"
        ) from None
    if odd and (not _is_remark(odd[-1][1]) or not rows):
        line, row = odd[0]
        quotes = "; or a quote is not closed" if any("\n" in field for field in row) else ""
        raise TableError(
            f"{name}: line {line + layout.lines_above} has {len(row)} fields where the header has {len(names)} "
            f"(separator {separator!r}): add or remove fields, or put quotes around text that holds one{quotes}"
        )
    if not rows:
        raise TableError(f"{name} holds a header line but no rows: add the rows")
    if odd:
        notes.append(f"lines below the table are left out: {short(' '.join(odd[0][1]).strip())!r}")
    return polars().DataFrame(dict(zip(names, zip(*rows, strict=True), strict=True))), np.array(lines)


def _is_remark(row: list[str]) -> bool:
    """Whether a record is one field of several words: a remark, not a row of a table that was cut off."""
    filled = [field for field in row if field.strip()]
    return (
        len(filled) == 1
        and len(re.findall(r"[^\W_]+", filled[0])) > 1
        and re.search(r"[^\W\d]", filled[0]) is not None
    )


def _without_units(sheet: Sheet, text: frozenset[str]) -> Sheet:
    """The table without lines below the header that hold units or questions: words in all columns of numbers."""
    pl, frame = polars(), sheet.frame
    if frame.height <= _HEADER_LINES + 1:
        return sheet
    strings = [c for c in frame.get_columns() if c.dtype == pl.String and c.name not in text]
    if any(c.dtype != pl.String and c[0] is not None for c in frame.get_columns() if c.name not in text):
        return sheet
    for n in range(1, _HEADER_LINES + 1):
        tops = [column.slice(0, n).to_list() for column in strings]
        for column, top in zip(strings, tops, strict=True):
            below = column[n]
            words = all(cell is not None and not PLAIN_NUMBER.fullmatch(cell) for cell in top)
            if not words or below is None or not PLAIN_NUMBER.fullmatch(below):
                continue
            rest = column.slice(n)
            if rest.cast(pl.Float64, strict=False).null_count() == rest.null_count():
                shown = ", ".join(str(cells[0]) for cells in tops[:4] if cells[0])
                smaller = sheet.take(np.arange(n, frame.height))
                smaller.notes.append(f"{sheet.place(0)} is no row of the table and is left out: {short(shown)!r}")
                return convert_text_columns(smaller, text)
    return sheet

"""The layout of a CSV file: its separator, the lines above its header, and the names of its columns."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from usmo.io.errors import TableError, quote, short
from usmo.io.parsing import parse_numbers

_SEPARATORS = ",;\t|"
_HEAD, _RECORDS = 1 << 16, 60
"""Bytes and records of a file by which its layout is decided."""

_SEP_LINE = re.compile(rb"\s*\"?sep=(.)\"?[ ;,\t]*\r?\n", re.IGNORECASE)
"""The line with which programs tell Excel the separator."""

_RULE = re.compile(rb"^[-+=|: ]*-{3}[-+=|: ]*\r?$", re.MULTILINE)
"""A line drawn below a header, as in listings of SAP and psql."""

_DECIMAL_COMMA = re.compile(rb"(?:^|[;\t|])\"?[-+]?[\d.]*\d,(?:\d\d?|\d{4,})\"?(?=[;\t|\r\n])", re.MULTILINE)
_DECIMAL_POINT = re.compile(rb"(?:^|[;\t|])\"?[-+]?[\d,]*\d\.(?:\d\d?|\d{4,})\"?(?=[;\t|\r\n])", re.MULTILINE)
_QUOTED_COMMA = re.compile(rb'(?:^|,)"[-+]?[\d.]*\d,(?:\d\d?|\d{4,})"(?=[,\r\n])', re.MULTILINE)
_POINT_BETWEEN_COMMAS = re.compile(rb'(?:^|,)"?[-+]?[\d,]*\d\.(?:\d\d?|\d{4,})"?(?=[,\r\n])', re.MULTILINE)


class Layout(NamedTuple):
    """A CSV file from its header line on, and what was decided about it."""

    data: bytes
    separator: str
    names: list[str]
    header_fields: int
    """Fields of the header line; one less than the names if rows start with a name of their own, as R writes them."""
    lines_above: int
    edges: list[str]
    """Columns left of the first separator of every line and right of the last, if lines start and end with one."""
    notes: list[str]


def find_layout(data: bytes, name: str, separator: str | None) -> Layout:
    """The layout of a text; a TableError if it has no header line."""
    notes, above = [], 0
    stated = _SEP_LINE.match(data)
    if stated is not None:
        separator, above = stated.group(1).decode("latin-1"), 1
        data = data[stated.end() :]
    head = data[:_HEAD] if len(data) <= _HEAD else data[:_HEAD].rpartition(b"\n")[0] or data[:_HEAD]
    if b"|" in head and b"---" in head and _RULE.search(head):
        data = _RULE.sub(b"", data)
        head = _RULE.sub(b"", head)
    text = head.decode("utf-8", "replace")
    first = re.sub(r'"[^"]*"', "", text.partition("\n")[0])
    if separator is None:
        separator = max(_SEPARATORS, key=first.count)
        found = _top(text, separator)
        if not _is_regular(found):
            separator = max(_SEPARATORS, key=lambda mark: _regularity(_top(text, mark)))
    found = _top(text, separator)
    skipped = lines_to_skip(found)
    if skipped:
        shown = next(" ".join(" ".join(row).split()) for _, row in found if any(row))
        notes.append(f"{skipped} lines above the header are left out: {short(shown)!r}")
        for _ in range(skipped):
            data = data[data.index(b"\n") + 1 :]
        above += skipped
    try:
        header = next(records(data, separator))
    except csv.Error as error:
        raise TableError(
            f"{name}: the header line cannot be read ({error}): close the quote in it, or shorten the field"
        ) from None
    names = _column_names(header, name, notes)
    width = Counter(len(row) for _, row in found[1:] if row).most_common(1)
    n_header = len(names)
    if (
        width
        and width[0][0] == n_header + 1 > 2
        and width[0][1] == sum(1 for line, row in found if row and line > skipped + 1)
    ):
        names = _column_names(["row", *header], name, notes)
    bare = separator == "|" and len(header) > 2 and not header[0].strip() and not header[-1].strip()
    return Layout(data, separator, names, n_header, above, [names[0], names[-1]] if bare else [], notes)


def records(data: bytes, separator: str) -> Any:
    """The records of a CSV file in UTF-8."""
    return csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline=""), delimiter=separator, strict=True)


def _top(text: str, separator: str) -> list[tuple[int, list[str]]]:
    """The first records of a text, each with the line on which it starts, from 1."""
    found: list[tuple[int, list[str]]] = []
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    line = 1
    try:
        for row in reader:
            found.append((line, row))
            line = reader.line_num + 1
            if len(found) == _RECORDS:
                break
    except csv.Error:
        pass
    return found


def _width(found: list[tuple[int, list[str]]]) -> tuple[int, int]:
    """The most frequent number of fields of at least 2, and the number of records that have it."""
    widths = Counter(len(row) for _, row in found if len(row) > 1)
    return max(widths.items(), key=lambda item: (item[1], item[0])) if widths else (1, 0)


def _regularity(found: list[tuple[int, list[str]]]) -> tuple[float, int]:
    """How many of the records have the same number of fields, and this number."""
    width, n = _width(found)
    return n / max(1, sum(1 for _, row in found if row)), width


def _is_regular(found: list[tuple[int, list[str]]]) -> bool:
    """Whether half of the records have as many fields as the first one."""
    filled = [row for _, row in found if row]
    return bool(filled) and 2 * sum(len(row) == len(filled[0]) for row in filled) >= len(filled)


def lines_to_skip(found: list[tuple[int, list[str]]]) -> int:
    """The lines above the header: those before the first record that is as wide as most and half filled.

    The header may have one field less than the rows, which then start with their names.
    """
    width, n = _width(found)
    filled = [(line, row) for line, row in found if any(field.strip() for field in row)]
    if width < 2 or 2 * n < len(filled) or n < 2:
        return 0
    for k, (line, row) in enumerate(filled[:-1]):
        n_filled = sum(1 for field in row if field.strip())
        named = len(row) == width - 1 > 1 and n_filled == len(row)
        if named and len(filled[k + 1][1]) == width and not _has_numbers(row):
            return line - 1
        if len(row) == width:
            fuller = 2 * n_filled < width <= 2 * _n_filled(filled[k + 1][1])
            if not (fuller and n_filled < 3):
                return line - 1 if line == 1 or _is_header(row, filled[k + 1][1]) else 0
    return 0


def _is_header(row: list[str], below: list[str]) -> bool:
    """Whether a record below others holds names: no numbers but years, and no cell like the one below it."""
    numbers = parse_numbers([cell.strip() for cell in row])[0]
    is_year = (numbers % 1 == 0) & (numbers >= 1900) & (numbers <= 2100)
    plain = np.isnan(numbers) | is_year
    repeated = any(cell.strip() and cell == other for cell, other in zip(row, below, strict=False))
    return bool(plain.all() and np.isnan(numbers).any() and not repeated)


def _n_filled(row: list[str]) -> int:
    return sum(1 for field in row if field.strip())


def _has_numbers(row: list[str]) -> bool:
    return bool((~np.isnan(parse_numbers([field.strip() for field in row])[0])).any())


def _column_names(header: list[str], name: str, notes: list[str]) -> list[str]:
    """Different names of the columns; an error if the header is numbers, which means data."""
    names = [each.strip() or f"column {i + 1}" for i, each in enumerate(header)]
    numbers = parse_numbers(names)[0]
    if not np.isnan(numbers).any() and (numbers % 1 != 0).any():
        raise TableError(
            f"{name} has no header line, it starts with {short(header[0])}: put a line of column names above it"
        )
    return distinct(names, notes)


def distinct(names: list[str], notes: list[str]) -> list[str]:
    """The names, a repeated one with a number behind it; a note says which."""
    taken, result, repeated = set(names), [], []
    seen: set[str] = set()
    for each in names:
        name, k = each, 1
        while name in seen or (k > 1 and name in taken):
            k += 1
            name = f"{each}_{k}"
        if k > 1:
            repeated.append(f"{quote(name)}")
        seen.add(name)
        result.append(name)
    if repeated:
        shown = ", ".join(repeated[:5]) + (f" and {len(repeated) - 5} more" if len(repeated) > 5 else "")
        notes.append(f"columns with the name of another one are called {shown}")
    return result


def decimal_mark(data: bytes, separator: str) -> str:
    """The decimal mark of most fields with an evident one; "" if there is none.

    Where commas separate fields, numbers with a decimal comma are in quotes, and a point is what one expects: "".
    """
    head = data[:_HEAD]
    if separator == ",":
        commas = len(_QUOTED_COMMA.findall(head))
        return "," if commas > 0 and commas > len(_POINT_BETWEEN_COMMAS.findall(head)) else ""
    commas, points = len(_DECIMAL_COMMA.findall(head)), len(_DECIMAL_POINT.findall(head))
    return "," if commas > points else "." if points > commas else ""

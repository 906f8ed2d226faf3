"""Reading a table of any supported format from a file or standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

import numpy as np
from scipy import sparse

from usmo.io.errors import TableError, no_file, quote
from usmo.io.file_types import MAGIC, decompress, file_type
from usmo.io.formats import read_frame, read_npz, read_svmlight
from usmo.io.libraries import polars
from usmo.io.limits import Limit, limit_of
from usmo.io.sheet import Sheet
from usmo.io.textfiles import read_fields, read_json_lines

_BLANK = b"\0 \t\r\n\xef\xbb\xbf"
"""White space, zero bytes and the byte order mark: a file of nothing else is empty."""


def read(
    source: str | os.PathLike[str], *, format: str | None = None, text: Iterable[str] = (),
    max_bytes: float | None = None,
) -> Sheet:  # fmt: skip
    """Read a table.

    Parameters
    ----------
    source : str or path
        A file, or "-" for standard input.
    format : str, optional
        "csv", "tsv", "parquet", "feather", "jsonl", "npz" or "svmlight"; text formats may end in ".gz" or ".zst".
        By default from the file name, "csv" for standard input.
    text : iterable of str
        Columns of a text file to keep as text: ids with leading zeros, labels, columns that are dropped later.
    max_bytes : float, optional
        Refuse a table that takes more memory than this, decompressed. By default 1 GiB, or 100 times the size of
        the file if that is more, but at most half of the free memory.
    """
    name = "standard input" if source == "-" else os.fspath(source)
    if os.path.isdir(source):
        raise TableError(f"{name} is a folder: name a file in it")
    format, compression = file_type("csv" if source == "-" and format is None else format, name)
    if format not in ("npz", "svmlight"):
        polars()  # if it is not installed, say so before reading
    # no variable here holds the bytes, so that a reader can free them before it converts the columns
    sheet = _READERS[format](*_contents(source, name, compression, max_bytes), frozenset(text))
    if not sheet.n_rows:
        raise TableError(f"{name} holds column names but no rows: add the rows")
    _check_finite(sheet)
    return sheet


def _contents(
    source: str | os.PathLike[str], name: str, compression: str, max_bytes: float | None
) -> tuple[bytes, Limit]:
    """All bytes of a file or of standard input, decompressed, and the limit for their table."""
    try:
        data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except FileNotFoundError:
        raise TableError(no_file(name)) from None
    except OSError as error:
        raise TableError(f"{name} cannot be read ({error.strerror}): check its permissions") from None
    actual = next((ending for ending, magic in MAGIC.items() if data.startswith(magic)), "")
    if source == "-" and not compression:
        compression = actual
    if data and compression != actual:
        if compression:
            raise TableError(f"{name} is not compressed with {compression}: remove .{compression} from its name")
        raise TableError(f"{name} is compressed: rename it to {name}.{actual}")
    limit = limit_of(name, len(data), max_bytes)
    try:
        data = decompress(data, compression, limit)
    except (OSError, EOFError) as error:
        raise TableError(f"{name} is damaged or cut off ({error}): copy or compress it again") from None
    if not data[:1000].strip(_BLANK) and not data.strip(_BLANK):
        raise TableError(f"{name} is empty: it needs a header line and at least one row")
    return data, limit


_READERS: dict[str, Callable[[bytes, Limit, frozenset[str]], Sheet]] = {
    "csv": read_fields,
    "tsv": lambda data, limit, text: read_fields(data, limit, text, "\t"),
    "jsonl": read_json_lines,
    "parquet": lambda data, limit, _: read_frame(data, limit, "Parquet"),
    "feather": lambda data, limit, _: read_frame(data, limit, "Feather"),
    "npz": lambda data, limit, _: read_npz(data, limit),
    "svmlight": lambda data, limit, _: read_svmlight(data, limit),
}


def _check_finite(sheet: Sheet) -> None:
    if sheet.frame is not None:
        for column in sheet.frame.get_columns():
            if column.dtype.is_float():
                infinite = np.isinf(column.to_numpy())
                if infinite.any():
                    _raise_infinite(sheet, int(np.argmax(infinite)), column.name)
        return
    if np.isinf(sheet.matrix.data if sparse.issparse(sheet.matrix) else sheet.matrix).any():
        entries = sparse.coo_matrix(sheet.matrix)
        first = np.argmax(np.isinf(entries.data))
        _raise_infinite(sheet, int(entries.row[first]), sheet.matrix_names[entries.col[first]])


def _raise_infinite(sheet: Sheet, row: int, name: str) -> NoReturn:
    raise TableError(
        f"{sheet.source}: {sheet.place(row)}: infinite value in column {quote(name)}: write a finite number, or leave "
        "it empty"
    )

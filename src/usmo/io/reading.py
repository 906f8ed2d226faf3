"""Reading a table of any supported format from a file or standard input."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse

from usmo.io.archives import member_of
from usmo.io.databases import read_database
from usmo.io.errors import TableError, no_file, quote, short
from usmo.io.file_types import MAGIC, decompress, file_type, is_table
from usmo.io.formats import read_frame, read_npz, read_svmlight
from usmo.io.json_lines import read_json_lines
from usmo.io.libraries import polars
from usmo.io.limits import Limit, Options, limit_of
from usmo.io.sheet import Sheet
from usmo.io.textfiles import read_fields
from usmo.io.workbooks import read_workbook

_NAMED = 10
"""Columns that an error names at most."""

_BLANK = b"\0 \t\r\n\xef\xbb\xbf"
"""White space, zero bytes and the byte order mark: a file of nothing else is empty."""


def read(
    source: str | os.PathLike[str], *, format: str | None = None, text: Iterable[str] = (),
    max_bytes: float | None = None, encoding: str | None = None,
) -> Sheet:  # fmt: skip
    """Read a table.

    Parameters
    ----------
    source : str or path
        A file, or "-" for standard input. A folder or a pattern such as ``"data/part-*.csv"`` stands for the rows of
        all its tables. "?table=NAME" behind the name selects a sheet of a workbook, a file of a zip archive or a
        table of a database, "sqlite:///file.db?table=NAME" or "duckdb:///file.duckdb?table=NAME".
    format : str, optional
        "csv", "tsv", "parquet", "feather", "jsonl", "npz", "svmlight", "xlsx" (any workbook), "zip", "sqlite" or
        "duckdb"; text formats may end in ".gz" or ".zst". By default from the file name, "csv" for standard input.
    text : iterable of str
        Columns of a text file to keep as text: ids with leading zeros, labels, columns that are dropped later.
    max_bytes : float, optional
        Refuse a table that takes more memory than this, decompressed. By default 1 GiB, or 100 times the size of
        the file if that is more, but at most half of the free memory.
    encoding : str, optional
        The encoding of a text file, such as "cp1252". By default UTF-8, or what is detected if it is not.
    """
    place, database, table = split_source(os.fspath(source))
    options = Options(frozenset(text), max_bytes, encoding, table)
    if database is None:
        paths = _parts(place)
        if paths is not None:
            return Sheet.joined([_read_file(path, format, options) for path in paths], place)
        return _read_file(place, format, options)
    return _checked(read_database(place, database, table, options.text, max_bytes), place)


def split_source(source: str) -> tuple[str, str | None, str | None]:
    """The path in a source, the database that it says the file is, and the table that it names."""
    if re.match(r"(https?|ftp|s3|gs|abfss?)://", source, re.IGNORECASE):
        raise TableError(f"{source} is an address on the network: download it first, then give the file")
    place, mark, table = source.rpartition("?table=")
    if not mark or os.path.exists(source):
        place, table = source, ""
    for database in ("sqlite", "duckdb"):
        if place.startswith(f"{database}:///"):
            path = place[len(f"{database}:///") :]
            return (
                path if os.path.exists(path) or not os.path.exists(f"/{path}") else f"/{path}",
                database,
                table or None,
            )
    return place, None, table or None


def source_files(source: str) -> list[str]:
    """The files that a source stands for; none for standard input."""
    place, database, _ = split_source(source)
    parts = _parts(place) if database is None else None
    return ([] if place == "-" else [place]) if parts is None else parts


def _parts(place: str) -> list[str] | None:
    """The files of a folder or a pattern, in the order of their names; None if it is one file."""
    if os.path.isdir(place):
        names = sorted(os.listdir(place))
        paths = [os.path.join(place, each) for each in names if not each.startswith((".", "_")) and is_table(each)]
        if not paths:
            raise TableError(
                f"{place} is a folder without tables: name a file, or a folder of CSV or Parquet files"
            )
        return paths
    if place == "-" or os.path.exists(place) or not glob.has_magic(place):
        return None
    paths = sorted(path for path in glob.glob(place) if os.path.isfile(path))
    if not paths:
        raise TableError(f"no file matches {place!r}: check the pattern")
    return paths


def _read_file(place: str, format: str | None, options: Options) -> Sheet:
    name = "standard input" if place == "-" else place
    format, compression = file_type("csv" if place == "-" and format is None else format, name)
    if format not in ("npz", "svmlight"):
        polars()  # if it is not installed, say so before reading
    if format in ("sqlite", "duckdb"):
        return _checked(read_database(place, format, options.table, options.text, options.max_bytes), name)
    if format == "zip":
        data, limit = _contents(place, name, "", options.max_bytes)
        member, data = member_of(data, limit, options.table)
        format, compression = file_type(None, member)
        limit = replace(limit, source=f"{name}: {member}")
        if compression:
            data = decompress(data, compression, limit)
        return _checked(_READERS[format](data, limit, options._replace(table=None)), limit.source)
    if options.table is not None and format != "xlsx":
        raise TableError(f"{name} is one table: remove ?table={options.table}")
    # no variable here holds the bytes, so that a reader can free them before it converts the columns
    sheet = _READERS[format](*_contents(place, name, compression, options.max_bytes), options)
    return _checked(sheet, name)


def _checked(sheet: Sheet, name: str) -> Sheet:
    if not sheet.n_rows:
        raise TableError(f"{name} holds column names but no rows: add the rows")
    _check_finite(sheet)
    return sheet


def _contents(place: str, name: str, compression: str, max_bytes: float | None) -> tuple[bytes, Limit]:
    """All bytes of a file or of standard input, decompressed, and the limit for their table."""
    try:
        data = sys.stdin.buffer.read() if place == "-" else Path(place).read_bytes()
    except FileNotFoundError:
        raise TableError(no_file(name)) from None
    except OSError as error:
        raise TableError(f"{name} cannot be read ({error.strerror}): check its permissions") from None
    actual = next((ending for ending, magic in MAGIC.items() if data.startswith(magic)), "")
    if place == "-" and not compression:
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


_READERS: dict[str, Callable[[bytes, Limit, Options], Sheet]] = {
    "csv": read_fields,
    "tsv": partial(read_fields, separator="\t"),
    "jsonl": read_json_lines,
    "xlsx": read_workbook,
    "parquet": lambda data, limit, _: read_frame(data, limit, "Parquet"),
    "feather": lambda data, limit, _: read_frame(data, limit, "Feather"),
    "npz": lambda data, limit, _: read_npz(data, limit),
    "svmlight": lambda data, limit, _: read_svmlight(data, limit),
}


def _check_finite(sheet: Sheet) -> None:
    """Refuse infinite numbers; the error names all columns that have some, and the first row of each."""
    found: list[tuple[int, str]] = []
    if sheet.frame is not None:
        for column in sheet.frame.get_columns():
            if column.dtype.is_float():
                infinite = np.isinf(column.to_numpy())
                if infinite.any():
                    found.append((int(np.argmax(infinite)), column.name))
    elif np.isinf(sheet.matrix.data if sparse.issparse(sheet.matrix) else sheet.matrix).any():
        entries = sparse.coo_matrix(sheet.matrix)
        first = np.argmax(np.isinf(entries.data))
        found.append((int(entries.row[first]), sheet.matrix_names[entries.col[first]]))
    if found:
        named = "; ".join(
            f"{sheet.place(row)}: infinite value in column {quote(name)}" for row, name in found[:_NAMED]
        )
        more = f" and in {len(found) - _NAMED} more columns" if len(found) > _NAMED else ""
        options = " ".join(f"--ignore {short(name)}" for _, name in found[:_NAMED])
        raise TableError(
            f"{sheet.source}: {named}{more}: write a finite number, or leave it empty, or fit without it ({options})"
        )

"""Writing a table to a file or standard output."""

from __future__ import annotations

import io
import os
import stat
import sys
from typing import Any, BinaryIO

from usmo.io.errors import TableError
from usmo.io.file_types import compress, file_type
from usmo.io.libraries import polars
from usmo.io.sheet import Sheet
from usmo.io.workbooks import write_workbook
from usmo.system.atomic import write_whole
from usmo.system.terminal import printable

_WRITABLE = ("csv", "tsv", "parquet", "jsonl", "xlsx")
_ENDINGS = ".csv .tsv .jsonl (each also with .gz or .zst), .parquet and .xlsx"
_READ_ONLY = (".xls", ".xlsb", ".xlsm", ".ods")
"""Endings of workbooks that are read, but not written."""


def write(rows: Any, target: str | os.PathLike[str] | BinaryIO, *, format: str | None = None) -> None:
    """Write a table; if writing fails, an existing file stays unchanged.

    Parameters
    ----------
    rows : Sheet, data frame, dict of columns or list of dicts
    target : str, path or binary stream
        A file, "-" for standard output, or an open stream. A terminal gets control characters as escapes.
    format : {"csv", "tsv", "parquet", "jsonl", "xlsx"}, optional
        Text formats may end in ".gz" or ".zst". By default from the name of the file or stream,
        "csv" for standard output.
    """
    pl = polars()
    name, format, compression = output_file_type(target, format)
    if isinstance(rows, Sheet):
        rows = rows.frame if rows.frame is not None else {each: rows.column(each) for each in rows.names}
    frame = rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows)
    stream = io.BytesIO()
    if format == "parquet":
        frame.write_parquet(stream)
    elif format == "jsonl":
        frame.write_ndjson(stream)
    elif format == "xlsx":
        stream.write(write_workbook(frame, name))
    else:
        frame.write_csv(stream, separator="\t" if format == "tsv" else ",")
    data = compress(stream.getvalue(), compression)
    try:
        if target == "-":
            sys.stdout.flush()
            if sys.stdout.isatty():
                data = printable(data.decode(errors="replace"), keep="\n\t").encode()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        elif isinstance(target, str | os.PathLike):
            _write_file(data, os.path.realpath(target))
        else:
            target.write(data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise TableError(
            f"{name} cannot be written ({error.strerror}): check the path and the free disk space"
        ) from error


def output_file_type(target: str | os.PathLike[str] | BinaryIO, format: str | None = None) -> tuple[str, str, str]:
    """Name, format and compression of a file to write; an error if ``write`` does not support the format."""
    path = target if isinstance(target, str | os.PathLike) else getattr(target, "name", "")
    name = "standard output" if target == "-" else os.fspath(path)
    try:
        format, compression = file_type("csv" if target == "-" and format is None else format, name)
    except TableError as error:
        raise TableError(f"{str(error).partition(': ')[0]}: accepted are {_ENDINGS}") from None
    if format not in _WRITABLE or name.lower().endswith(_READ_ONLY):
        raise TableError(f"{format} files cannot be written: accepted are {', '.join(_WRITABLE)}, got {name!r}")
    return name, format, compression


def _write_file(data: bytes, target: str) -> None:
    if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
        with open(target, "wb") as stream:  # a pipe or a device must not be replaced by a file
            stream.write(data)
    else:
        write_whole(target, data)

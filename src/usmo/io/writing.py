"""Writing a table to a file or standard output."""

from __future__ import annotations

import io
import os
import stat
import sys
from typing import Any

from usmo.io.errors import TableError
from usmo.io.file_types import kind_of, packed_bytes
from usmo.io.libraries import polars
from usmo.io.sheet import Sheet
from usmo.system.atomic import write_whole

_WRITABLE = ("csv", "tsv", "parquet", "jsonl")


def write(rows: Any, target: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a table; a file appears whole or not at all.

    Parameters
    ----------
    rows : Sheet, data frame, dict of columns or list of dicts
    target : str or path
        A file, or "-" for standard output.
    format : {"csv", "tsv", "parquet", "jsonl"}, optional
        With ".gz" or ".zst" after a text format; from the name of the file by default, "csv" for standard output.
    """
    pl = polars()
    name, kind, packed = written_form(target, format)
    if isinstance(rows, Sheet):
        rows = rows.frame if rows.frame is not None else {each: rows.column(each) for each in rows.names}
    frame = rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows)
    stream = io.BytesIO()
    if kind == "parquet":
        frame.write_parquet(stream)
    elif kind == "jsonl":
        frame.write_ndjson(stream)
    else:
        frame.write_csv(stream, separator="\t" if kind == "tsv" else ",")
    data = packed_bytes(stream.getvalue(), packed)
    try:
        if target == "-":
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        else:
            _put(data, os.path.realpath(target))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise TableError(
            f"{name} cannot be written ({error.strerror}): check it and the room on the disk"
        ) from error


def written_form(target: str | os.PathLike[str], format: str | None = None) -> tuple[str, str, str]:
    """Name, format and compression of a file to be written; an error if tables are not written so."""
    name = "standard output" if target == "-" else os.fspath(target)
    kind, packed = kind_of("csv" if target == "-" and format is None else format, name)
    if kind not in _WRITABLE:
        raise TableError(f"{kind} is not written: accepted are {', '.join(_WRITABLE)}, got {name!r}")
    return name, kind, packed


def _put(data: bytes, target: str) -> None:
    if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
        with open(target, "wb") as stream:  # a pipe or a device: nothing to rename over
            stream.write(data)
    else:
        write_whole(target, data)

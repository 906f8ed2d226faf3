"""Format and compression of a file by its name, and the two compressions."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from typing import Any

from usmo.io.errors import TableError
from usmo.io.libraries import zstandard
from usmo.io.limits import Limit

_FORMATS = {
    "csv": "csv", "txt": "csv", "dat": "csv", "tsv": "tsv", "tab": "tsv", "parquet": "parquet", "feather": "feather",
    "jsonl": "jsonl", "ndjson": "jsonl", "npz": "npz", "svm": "svmlight", "svmlight": "svmlight", "libsvm": "svmlight",
    "xlsx": "xlsx", "xlsm": "xlsx", "xlsb": "xlsx", "xls": "xlsx", "ods": "xlsx", "zip": "zip", "sqlite": "sqlite",
    "sqlite3": "sqlite", "db": "sqlite", "duckdb": "duckdb",
}  # fmt: skip
MAGIC = {"gz": b"\x1f\x8b", "zst": b"\x28\xb5\x2f\xfd"}
"""The first bytes of a file of each compression."""

_TEXT_FORMATS = ("csv", "tsv", "jsonl", "svmlight")
"""Formats that may be compressed as a whole; the others compress their contents themselves."""

_EXPORTABLE = (
    "sav",
    "dta",
    "sas7bdat",
    "por",
    "numbers",
    "pdf",
    "docx",
    "html",
    "json",
    "xml",
    "mdb",
    "accdb",
    "rds",
)
"""Files of programs that can export their tables."""

_PIECE = 4096
"""Compressed bytes that are expanded at a time, to at most 134 MB: Zstandard repeats a byte 128 kB long in 4 bytes."""

_ACCEPTED = (
    ".csv .tsv .txt .jsonl .ndjson .svm .svmlight .libsvm (each also with .gz or .zst), .parquet .feather .npz "
    ".xlsx .xls .ods .zip .sqlite .duckdb"
)

_FOREIGN = {
    b"PK\x03\x04": "a zip archive or a workbook: name it .zip, .xlsx or .ods",
    b"PAR1": "a Parquet file: name it .parquet", b"ARROW1": "a Feather file: name it .feather",
    b"SQLite format 3": "an SQLite database: name it .sqlite",
    b"\xd0\xcf\x11\xe0": "an old workbook: name it .xls", b"%PDF": "a PDF: save the table as CSV or .xlsx",
    b"{\\rtf": "a text document: save the table as CSV", b"BZh": "compressed with bzip2: decompress it",
    b"\xfd7zXZ": "compressed with xz: decompress it", b"7z\xbc\xaf": "a 7-Zip archive: unpack it",
    b"\x93NUMPY": "a NumPy array: write it with savez", b"$FL2": "an SPSS file: save the table as CSV",
    b"<stata_dta>": "a Stata file: save the table as CSV",
}  # fmt: skip
"""First bytes of files that are no text, and what they are."""


def file_type(format: str | None, name: str) -> tuple[str, str]:
    """Format and compression ("gz", "zst" or "") from the format option, or from the file name if it is None."""
    endings = (f".{format}" if format is not None else os.path.basename(name)).lower().split(".")
    compression = endings.pop() if endings[-1] in MAGIC else ""
    base_format = _FORMATS.get(endings[-1], "") if len(endings) > 1 else ""
    if not base_format or (compression and base_format not in _TEXT_FORMATS):
        what = f"format {format!r}" if format is not None else f"file type of {name!r}"
        hint = "; save the table as CSV" if endings[-1] in _EXPORTABLE else ""
        raise TableError(f"unknown {what}: accepted are {_ACCEPTED}, as format without the dot{hint}")
    return base_format, compression


def is_table(name: str) -> bool:
    """Whether the name of a file is that of a table in itself: not an archive or a database of tables."""
    try:
        return file_type(None, name)[0] not in ("zip", "sqlite", "duckdb")
    except TableError:
        return False


def check_is_text(data: bytes, name: str) -> None:
    """Refuse a file whose first bytes are those of another kind of file, and say of which."""
    for start, what in _FOREIGN.items():
        if data.startswith(start):
            raise TableError(f"{name} is not text, it is {what}")
    if data[:200].lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml", b"<table")):
        raise TableError(f"{name} is not a table, it is a page in HTML or XML: export the table as CSV or .xlsx")


def compress(data: bytes, compression: str) -> bytes:
    """Compress with "gz", "zst" or, for "", not at all."""
    if compression == "gz":
        return gzip.compress(data)
    return zstandard().ZstdCompressor().compress(data) if compression == "zst" else data


def decompress(data: bytes, compression: str, limit: Limit) -> bytes:
    """Undo ``compress``; OSError or EOFError if the bytes are damaged or cut off.

    A file may hold several gzip members or Zstandard frames, and zero bytes between and after them.
    """
    if not compression:
        return data
    library: Any = zlib if compression == "gz" else zstandard()
    damage = zlib.error if compression == "gz" else library.ZstdError
    text, at, complete = io.BytesIO(), 0, True
    while at < len(data):
        piece = data[at : at + _PIECE]
        at += len(piece)
        if complete:
            piece = piece.lstrip(b"\0")
            if not piece:
                continue
            frame = library.decompressobj(31) if library is zlib else library.ZstdDecompressor().decompressobj()
        try:
            text.write(frame.decompress(piece))
        except damage as error:
            raise OSError(str(error)) from None
        limit.check(text.tell(), "the decompressed bytes")
        complete = frame.eof
        at -= len(frame.unused_data)
    if not complete:
        raise EOFError("it ends too early")
    return text.getvalue()

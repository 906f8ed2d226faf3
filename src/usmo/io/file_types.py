"""What a file is by its name, format and compression, and packing and unpacking it."""

from __future__ import annotations

import gzip
import os

from usmo.io.errors import TableError
from usmo.io.libraries import zstandard

_FORMATS = {
    "csv": "csv", "tsv": "tsv", "parquet": "parquet", "feather": "feather", "jsonl": "jsonl", "ndjson": "jsonl",
    "npz": "npz", "svm": "svmlight", "svmlight": "svmlight", "libsvm": "svmlight",
}  # fmt: skip
PACKED = {"gz": b"\x1f\x8b", "zst": b"\x28\xb5\x2f\xfd"}
"""Compressions and how their files begin."""

_PACKABLE = ("csv", "tsv", "jsonl", "svmlight")
_ACCEPTED = ".csv .tsv .jsonl .ndjson .svm .svmlight .libsvm (each also with .gz or .zst), .parquet .feather .npz"


def kind_of(format: str | None, name: str) -> tuple[str, str]:
    """The format and the compression, from the option or the name of the file."""
    parts = (f".{format}" if format is not None else os.path.basename(name)).lower().split(".")
    packed = parts.pop() if parts[-1] in PACKED else ""
    kind = _FORMATS.get(parts[-1], "") if len(parts) > 1 else ""
    if not kind or (packed and kind not in _PACKABLE):
        what = f"format {format!r}" if format is not None else f"file type of {name!r}"
        hint = "; save the sheet as CSV" if parts[-1] in ("xls", "xlsx", "ods") else ""
        raise TableError(f"unknown {what}: accepted are {_ACCEPTED}, without the dot as format{hint}")
    return kind, packed


def packed_bytes(data: bytes, packed: str) -> bytes:
    """The bytes after this compression, "gz", "zst" or none."""
    if packed == "gz":
        return gzip.compress(data)
    return zstandard().ZstdCompressor().compress(data) if packed == "zst" else data


def unpacked_bytes(data: bytes, packed: str) -> bytes:
    """The bytes before it; OSError or EOFError if they are damaged or cut off."""
    if packed == "gz":
        return gzip.decompress(data)
    if packed != "zst":
        return data
    library, parts = zstandard(), []
    while data:  # frames may follow each other, as members do in gzip
        frame = library.ZstdDecompressor().decompressobj()
        try:
            parts.append(frame.decompress(data))
        except library.ZstdError as error:
            raise OSError(str(error)) from None
        if not frame.eof:
            raise EOFError("it ends too early")
        data = frame.unused_data
    return b"".join(parts)

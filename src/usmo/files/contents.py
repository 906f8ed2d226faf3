"""Reading the container of a model file, checked before anything is allocated or built.

    sizes        the file, its directory, the bytes it expands to and the memory of its manifest are limited
    arrays       are read one by one when a model needs them, straight into their memory
    numbers      a ``.npy`` header is matched against a pattern, never evaluated; object types do not match it

Checksums detect accidents. A forger can make them right, so sizes, names, nesting and array headers are checked too.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
import stat
import zipfile
from collections.abc import Iterator
from typing import IO, Any, BinaryIO

import numpy as np

from usmo.files.archive import (
    DIGEST,
    FORMAT,
    MANIFEST,
    MAX_RATIO,
    TRAILER,
    VERSION,
    allowance,
    file_digest,
    is_entry_name,
    is_shape,
)  # fmt: skip
from usmo.files.errors import DAMAGED, FOREIGN, Pathlike, check_limit, need
from usmo.files.manifest import memory_of_text, parsed_json

MAX_BYTES = 2**32
"""Default limit on the size of a file to load, packed and unpacked: 4 GB."""

_MAX_ENTRIES = 10_000
"""Entries of a file; a pipeline of several steps has some dozens."""

_MAX_RECORD = 300
"""Bytes of an entry in the zip's directory: 46, its name, and numbers of 64 bits."""

_LOCATOR, _END = 20, 22
"""Bytes of the two records at the end of a zip, before its comment; only large files have the first."""

_BLOCK = 2**20
"""Bytes read at a time."""

_DTYPE = re.compile("[<>|](?:b1|i[1248]|u[1248]|f[248]|U[1-9][0-9]{0,7})", re.ASCII)
_HEADER = re.compile(
    r"\{'descr': '(?P<dtype>[^']*)', 'fortran_order': (?P<fortran>True|False), "
    r"'shape': \((?P<shape>[0-9, ]{0,180})\), \} *\n",
    re.ASCII,
)


@contextlib.contextmanager
def opened(path: Pathlike | BinaryIO, max_bytes: int | None) -> Iterator[Contents]:
    """The contents of a file or stream, after all checks but those of the numbers in its arrays."""
    if isinstance(path, str | bytes | os.PathLike):
        with _stream(path) as stream:
            yield Contents(stream, max_bytes)
    else:
        seeks = hasattr(path, "read") and hasattr(path, "seekable") and path.seekable()
        need(seeks, f"it must be a path or a binary stream that can seek, got {type(path).__name__}")
        yield Contents(path, max_bytes)


def _stream(path: Pathlike) -> BinaryIO:
    regular = stat.S_ISREG(os.stat(path).st_mode)
    need(regular, "it is a folder or a device, not a file; name the model file itself")
    return open(path, "rb")


class Contents:
    """The manifest of an open file, and its arrays.

    ``declared`` has an array of the right type and shape for each name, which takes no memory and holds no numbers.
    """

    def __init__(self, stream: BinaryIO, max_bytes: int | None) -> None:
        self.size = stream.seek(0, os.SEEK_END)
        check_limit("it has", self.size, MAX_BYTES if max_bytes is None else max_bytes)
        _check_signature(stream, self.size)
        _check_directory(stream, self.size)
        self._archive = zipfile.ZipFile(stream)
        self._entries = _checked_entries(self._archive, self.size)
        unpacked = sum(entry.file_size for entry in self._entries.values())
        limit = min(MAX_BYTES, allowance(self.size)) if max_bytes is None else max_bytes
        check_limit("it expands to", unpacked, limit)
        self.manifest = self._parsed_manifest(self._entries.pop(MANIFEST), max(limit, allowance(0)))
        _check_manifest(self.manifest, self._entries)
        self.listed: dict[str, Any] = self.manifest["arrays"]
        self.declared = {name: _declared(self.listed[name], entry) for name, entry in self._entries.items()}

    def _parsed_manifest(self, entry: zipfile.ZipInfo, limit: int) -> Any:
        check_limit("its manifest takes", memory_of_text(entry.file_size), limit)
        with self._archive.open(entry) as stream:
            return parsed_json(_exactly(stream, entry.file_size), limit)

    def array(self, name: str) -> np.ndarray:
        """Read one array; its header must agree with the manifest and account for every byte."""
        listed, declared, entry = self.listed[name], self.declared[name], self._entries[name]
        digest = hashlib.sha256()
        with self._archive.open(entry) as stream:
            head = stream.read(10)
            head += stream.read(int.from_bytes(head[8:], "little"))
            header = _HEADER.fullmatch(head[10:].decode("latin-1")) if head[:8] == b"\x93NUMPY\x01\x00" else None
            need(header, f"{name} has no header of a plain array of numbers or text; {FOREIGN}")
            assert header is not None
            shape = [int(side) for side in re.findall("[0-9]+", header["shape"])]
            order: Any = "F" if header["fortran"] == "True" else "C"
            same = (header["dtype"], shape, order) == (listed["dtype"], listed["shape"], listed["order"])
            fills = len(head) + declared.nbytes == entry.file_size
            need(same and fills, f"the header of {name} and its bytes or the manifest do not agree; {FOREIGN}")
            digest.update(head)
            flat = np.empty(declared.size, declared.dtype)
            numbers = flat.view(np.uint8)
            for start in range(0, len(numbers), _BLOCK):
                block = _exactly(stream, min(_BLOCK, len(numbers) - start))
                digest.update(block)
                numbers[start : start + len(block)] = np.frombuffer(block, np.uint8)
            need(not stream.read(1), f"{name} is longer than it claims; {DAMAGED}")
        need(digest.hexdigest() == listed["sha256"], f"{name} is not the array that the manifest lists; {DAMAGED}")
        return _valid(flat, name).reshape(shape, order=order)


def _check_signature(stream: BinaryIO, size: int) -> None:
    stream.seek(0)
    need(stream.read(4) == b"PK\x03\x04", f"it does not start as a zip; {FOREIGN}")
    stream.seek(max(0, size - DIGEST - len(TRAILER)))
    trailer, stored = stream.read(len(TRAILER)), stream.read(DIGEST)
    need(trailer == TRAILER, f"its end is missing or {FOREIGN}; if it was one, {DAMAGED}")
    same = file_digest(stream, size - DIGEST) == stored
    need(same, f"the SHA-256 of its bytes is not the one it ends with; {DAMAGED}")


def _check_directory(stream: BinaryIO, size: int) -> None:
    """Limit the zip's directory: the zip reader makes an object of each entry before anyone can count them."""
    stream.seek(max(0, size - DIGEST - len(TRAILER) - _END - _LOCATOR))
    locator, end = stream.read(_LOCATOR), stream.read(_END)
    need(end[:4] == b"PK\x05\x06", f"its directory is missing; {FOREIGN}")
    large = locator[:4] == b"PK\x06\x07"
    need(not large or size >= 2**31, f"it is packed unusually, with numbers of 64 bits; {FOREIGN}")
    few = int.from_bytes(end[12:16], "little") <= _MAX_ENTRIES * _MAX_RECORD
    need(few, f"it has more than {_MAX_ENTRIES} entries; {FOREIGN}")


def _checked_entries(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    listed = archive.infolist()
    need(len(listed) <= _MAX_ENTRIES, f"it has more than {_MAX_ENTRIES} entries; {FOREIGN}")
    entries = {entry.filename: entry for entry in listed}
    need(len(entries) == len(listed), f"an entry occurs twice in it; {FOREIGN}")
    need(MANIFEST in entries, f"{MANIFEST} is missing; {FOREIGN}")
    for name, entry in entries.items():
        good = name == MANIFEST or is_entry_name(name)
        need(good, f"the entry name {name[:80]!r} is not accepted; {FOREIGN}")
        stored, deflated = (entry.compress_type == way for way in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        need((stored or deflated) and entry.flag_bits == 0, f"{name} is encrypted or packed unusually; {FOREIGN}")
        packed, unpacked = entry.compress_size, entry.file_size
        good = packed <= size and unpacked <= packed * (1 if stored else MAX_RATIO)
        need(good, f"{name} claims to expand from {packed} to {unpacked} bytes; {FOREIGN}")
    return entries


def _exactly(stream: IO[bytes], size: int) -> bytes:
    """The next bytes of an entry. The zip reader stops at the declared size and compares a checksum there."""
    data = stream.read(size)
    need(len(data) == size, f"{stream.name} ends early; {DAMAGED}")
    return data


def _check_manifest(manifest: Any, entries: dict[str, zipfile.ZipInfo]) -> None:
    good = isinstance(manifest, dict) and manifest.get("format") == FORMAT
    need(good, f"its format is not {FORMAT!r}; {FOREIGN}")
    version, arrays = manifest.get("version"), manifest.get("arrays")
    need(type(version) is int and version >= 1, f"its format version is {version!r}; {FOREIGN}")
    newer = f"it has format version {version}, and this usmo reads up to {VERSION}: install a newer usmo"
    need(version <= VERSION, newer)
    need(isinstance(arrays, dict), f"its list of arrays is missing; {FOREIGN}")
    need(isinstance(manifest.get("extra"), dict), f"its extra values are no dictionary; {FOREIGN}")
    for name in sorted({*arrays, *entries}):
        need(name in entries, f"the array {name[:80]!r} is listed but missing; {DAMAGED}")
        need(name in arrays, f"the entry {name!r} is not listed; {FOREIGN}")


def _declared(listed: Any, entry: zipfile.ZipInfo) -> np.ndarray:
    """An array as the manifest lists it, with one number in memory that stands for all."""
    name = entry.filename
    complete = isinstance(listed, dict) and set(listed) == {"dtype", "shape", "order", "bytes", "sha256"}
    need(complete, f"{name} is listed without its type or size; {FOREIGN}")
    dtype, shape = listed["dtype"], listed["shape"]
    need(type(dtype) is str and _DTYPE.fullmatch(dtype), f"{name} is no array of numbers or text; {FOREIGN}")
    sides = type(shape) is list and all(type(side) is int and side >= 0 for side in shape) and is_shape(shape)
    fits = sides and math.prod(shape) * np.dtype(dtype).itemsize < entry.file_size == listed["bytes"]
    need(fits, f"{name} has not the bytes of the shape that the manifest lists; {FOREIGN}")
    return np.broadcast_to(np.zeros((), dtype), shape)


def _valid(flat: np.ndarray, name: str) -> np.ndarray:
    """The array in the byte order of this machine; an error if it holds other bits than its type has."""
    if not flat.dtype.isnative:
        flat = flat.byteswap(inplace=True).view(flat.dtype.newbyteorder("="))
    if flat.dtype.kind == "b":
        need(flat.view(np.uint8).max(initial=0) <= 1, f"{name} holds bytes that are no truth values; {FOREIGN}")
    if flat.dtype.kind == "U":
        codes = flat.view(np.uint32)
        need(codes.max(initial=0) <= 0x10FFFF, f"{name} holds numbers that are no characters; {FOREIGN}")
    return flat

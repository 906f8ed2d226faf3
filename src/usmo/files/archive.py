"""The container of a model file: a zip of ``.npy`` arrays and ``manifest.json``, checked before anything is built.

    whole file   the last 64 characters are the SHA-256 of all bytes before them (they end the zip's comment)
    entries      the manifest lists each array with its SHA-256, size, type, shape and order, and no others
    numbers      a ``.npy`` header is matched against a pattern, never evaluated; object types do not match it

Checksums detect accidents. A forger can make them right, so sizes, names, nesting and array headers are checked as
well, and an array is allocated only if the file has as many bytes. Times in the zip are fixed: the same model
gives the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from usmo.files.errors import ModelFileError, need
from usmo.system.atomic import replacing

FORMAT, VERSION = "usmo-model", 1
Pathlike = str | os.PathLike[str]

_MANIFEST = "manifest.json"
_TRAILER = b"usmo-model sha256="
_DIGEST = 64
"""Characters of a SHA-256 in hexadecimal."""
_DAMAGED = "the file is damaged: copy it again from where it came from, or save the model again"
_FOREIGN = "it is not a file that usmo.files.save wrote"

_MAX_RATIO = 100
"""Largest ratio of an entry's size to its deflated size, against zip bombs; ``write`` stores what exceeds it."""

_MAX_ENTRIES = 10_000
"""Entries of a file; a pipeline of several steps has some dozens."""

_MAX_MANIFEST = 2**26
"""Bytes of a manifest; one with 100,000 records of a fit's history has 25 MB."""

_MAX_NESTING = 100
"""Brackets open at once in a manifest; Python's JSON reader recurses on them."""

_MAX_NUMBERS = 2**40
"""Product of the sides of a shape other than 0; beside a side of 0, no number of bytes bounds the others."""

_ENTRY_NAME = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*\.npy", re.ASCII)
_TOKEN = re.compile(rb'\\.|["\[\]{}]', re.DOTALL)
"""Escapes, quotes and brackets of JSON."""
_HEADER = re.compile(
    r"\{'descr': '(?P<dtype>[<>|](?:b1|i[1248]|u[1248]|f[248]|U[1-9][0-9]{0,7}))', "
    r"'fortran_order': (?P<fortran>True|False), 'shape': \((?P<shape>[0-9, ]{0,180})\), \} *\n",
    re.ASCII,
)


def storable(array: np.ndarray) -> bool:
    """Whether files hold arrays of this type: bool, integers, floats up to 64 bits, text."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    good = kind in "biu" or (kind == "f" and size <= 8) or (kind == "U" and size > 0)
    return good and is_shape(array.shape)


def is_shape(shape: Sequence[int]) -> bool:
    """Whether NumPy can make an array of this shape, and files hold it."""
    return len(shape) <= 8 and math.prod(side or 1 for side in shape) < _MAX_NUMBERS


def is_entry_name(name: str) -> bool:
    """Whether an array may have this name in a file: words and dots, no folders."""
    return len(name) <= 200 and _ENTRY_NAME.fullmatch(name) is not None


def write(
    target: Pathlike | BinaryIO, manifest: dict[str, Any], arrays: dict[str, np.ndarray], deflate: bool
) -> None:
    """Write to a stream that can be read and positioned, or to a file, which is replaced whole or not at all."""
    opened = _opened(target)
    entries = {name: _npy(array) for name, array in arrays.items()}
    manifest = {**manifest, "arrays": {name: _listed(arrays[name], *entry) for name, entry in entries.items()}}
    text = json.dumps(manifest, allow_nan=False, separators=(",", ":")).encode("ascii")
    need(len(text) <= _MAX_MANIFEST, f"values other than arrays take {len(text)} bytes, more than {_MAX_MANIFEST}")
    parsed_json(text)  # refuse to write what load refuses to read
    with opened as stream:
        _write_zip(stream, {_MANIFEST: (text, b""), **entries}, deflate)
        _sign(stream)


def _opened(target: Pathlike | BinaryIO) -> contextlib.AbstractContextManager[BinaryIO]:
    if not isinstance(target, str | os.PathLike):
        return contextlib.nullcontext(target)
    path = Path(target)
    need(path.parent.is_dir(), f"path must lie in an existing folder, got {str(path)!r}")
    need(not path.is_dir(), f"path must name a file, got the folder {str(path)!r}")
    return replacing(path)


def read(path: Pathlike, max_bytes: int) -> tuple[dict[str, Any], dict[str, np.ndarray], int]:
    """The manifest, the arrays it lists and the size of the file, after all checks."""
    data = _file_bytes(path, max_bytes)
    _check_signature(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = _checked_entries(archive, max_bytes, len(data))
        manifest = parsed_json(_expanded(archive, entries.pop(_MANIFEST)))
        _check_manifest(manifest, entries)
        listed = manifest["arrays"]
        arrays = {name: _array(_expanded(archive, entries[name]), listed[name], name) for name in entries}
    return manifest, arrays, len(data)


@contextlib.contextmanager
def named(target: Pathlike | BinaryIO, what: str) -> Iterator[None]:
    """Put the file and what cannot be done with it before the message of a ModelFileError, all in one line."""
    try:
        yield
    except ModelFileError as error:
        text = " ".join(str(error).split())[:500]
        path = (
            os.fspath(target) if isinstance(target, str | os.PathLike) else getattr(target, "name", "the stream")
        )
        raise ModelFileError(f"{path!r} {what}: {text}") from error


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Turn any other error into a ModelFileError: Python's zip reader raises a dozen types on bad bytes.

    Errors of the operating system pass: a file that is missing, or that may not be read.
    """
    try:
        yield
    except ModelFileError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ModelFileError(f"{error or type(error).__name__}; {_DAMAGED}") from error


def parsed_json(text: bytes) -> Any:
    """The value of a JSON text without deep nesting, repeated keys and numbers beyond 64 bits."""
    size = len(text)
    need(size <= _MAX_MANIFEST, f"the manifest has {size} bytes, more than {_MAX_MANIFEST}; {_FOREIGN}")
    _check_nesting(text)
    try:
        decoder = json.JSONDecoder(
            parse_int=_integer, parse_float=_finite, parse_constant=_finite, object_pairs_hook=_unique
        )
        return decoder.decode(text.decode("ascii"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ModelFileError(f"the manifest is not JSON ({error}); {_FOREIGN}") from error


def _check_nesting(text: bytes) -> None:
    """Count open brackets outside strings, in one pass."""
    depth, inside = 0, False
    for match in _TOKEN.finditer(text):
        token = match[0]
        inside ^= token == b'"'
        if not inside:
            depth += (token in b"[{") - (token in b"]}")
            if depth > _MAX_NESTING:
                raise ModelFileError(f"JSON values are nested more than {_MAX_NESTING} deep; {_FOREIGN}")


def _integer(text: str) -> int:
    need(len(text) <= 20, f"an integer of {len(text)} digits; {_FOREIGN}")
    return int(text)


def _finite(text: str) -> float:
    value = float(text) if len(text) <= 40 else math.inf
    need(math.isfinite(value), f"the number {text[:40]} is no float64; {_FOREIGN}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    need(len(unique) == len(pairs), f"a key occurs twice in one JSON object; {_FOREIGN}")
    return unique


def _npy(array: np.ndarray) -> tuple[bytes, Any]:
    """Header and numbers of the array as ``np.save`` writes them; contiguous numbers are not copied."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(array))
    flat = array.T if _order(array) == "F" else array
    return head.getvalue(), np.ascontiguousarray(flat).reshape(-1).view(np.uint8).data


def _order(array: np.ndarray) -> str:
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _listed(array: np.ndarray, head: bytes, body: Any) -> dict[str, Any]:
    digest = hashlib.sha256(head)
    digest.update(body)
    return {
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "order": _order(array),
        "bytes": len(head) + len(body),
        "sha256": digest.hexdigest(),
    }


def _write_zip(stream: BinaryIO, entries: dict[str, tuple[bytes, Any]], deflate: bool) -> None:
    with zipfile.ZipFile(stream, "w") as archive:
        archive.comment = _TRAILER + b"0" * _DIGEST
        for name, (head, body) in entries.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            entry.file_size = len(head) + len(body)
            if deflate and entry.file_size <= _MAX_RATIO * _deflated_size(head, body):
                entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w") as out:
                out.write(head)
                out.write(body)


def _deflated_size(head: bytes, body: Any) -> int:
    packer = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -15)
    return len(packer.compress(head)) + len(packer.compress(body)) + len(packer.flush())


def _sign(stream: BinaryIO) -> None:
    """Overwrite the zeros at the end by the digest of all bytes before them."""
    left = stream.seek(0, os.SEEK_END) - _DIGEST
    stream.seek(0)
    digest = hashlib.sha256()
    while left:
        block = stream.read(min(left, 2**20))
        digest.update(block)
        left -= len(block)
    stream.seek(-_DIGEST, os.SEEK_END)
    stream.write(digest.hexdigest().encode("ascii"))


def _check_size(verb: str, size: int, max_bytes: int) -> None:
    remedy = "raise max_bytes if you trust its source"
    need(size <= max_bytes, f"it {verb} {size} bytes, more than max_bytes={max_bytes}; {remedy}")


def _file_bytes(path: Pathlike, max_bytes: int) -> bytes:
    status = os.stat(path)
    need(stat.S_ISREG(status.st_mode), "it is a folder or a device, not a file; name the model file itself")
    _check_size("has", status.st_size, max_bytes)
    with open(path, "rb") as stream:
        return stream.read(status.st_size)


def _check_signature(data: bytes) -> None:
    need(data[:4] == b"PK\x03\x04", f"it does not start as a zip; {_FOREIGN}")
    trailer = data[-_DIGEST - len(_TRAILER) : -_DIGEST]
    need(trailer == _TRAILER, f"its end is missing or {_FOREIGN}; if it was one, {_DAMAGED}")
    expected = hashlib.sha256(memoryview(data)[:-_DIGEST]).hexdigest().encode("ascii")
    need(expected == data[-_DIGEST:], f"the SHA-256 of its bytes is not the one it ends with; {_DAMAGED}")


def _checked_entries(archive: zipfile.ZipFile, max_bytes: int, size: int) -> dict[str, zipfile.ZipInfo]:
    listed = archive.infolist()
    need(len(listed) <= _MAX_ENTRIES, f"it has {len(listed)} entries, more than {_MAX_ENTRIES}; {_FOREIGN}")
    entries = {entry.filename: entry for entry in listed}
    need(len(entries) == len(listed), f"an entry occurs twice in it; {_FOREIGN}")
    need(_MANIFEST in entries, f"{_MANIFEST} is missing; {_FOREIGN}")
    for name, entry in entries.items():
        good = name == _MANIFEST or is_entry_name(name)
        need(good, f"the entry name {name[:80]!r} is not accepted; {_FOREIGN}")
        stored, deflated = (entry.compress_type == way for way in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        need((stored or deflated) and entry.flag_bits == 0, f"{name} is encrypted or packed unusually; {_FOREIGN}")
        packed, unpacked = entry.compress_size, entry.file_size
        good = packed <= size and unpacked <= packed * (1 if stored else _MAX_RATIO)
        need(good, f"{name} claims to expand from {packed} to {unpacked} bytes; {_FOREIGN}")
    total = sum(entry.file_size for entry in listed)
    _check_size("expands to", total, max_bytes)
    need(total <= _MAX_RATIO * size, f"it expands from {size} to {total} bytes; {_FOREIGN}")
    return entries


def _expanded(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of an entry; the zip reader stops at the declared size and compares a checksum there."""
    with archive.open(entry) as stream:
        data = stream.read(entry.file_size)
        need(len(data) == entry.file_size and not stream.read(1), f"{entry.filename} ends early; {_DAMAGED}")
    return data


def _check_manifest(manifest: Any, entries: dict[str, zipfile.ZipInfo]) -> None:
    good = isinstance(manifest, dict) and manifest.get("format") == FORMAT
    need(good, f"its format is not {FORMAT!r}; {_FOREIGN}")
    version, arrays = manifest.get("version"), manifest.get("arrays")
    need(type(version) is int and version >= 1, f"its format version is {version!r}; {_FOREIGN}")
    newer = f"it has format version {version}, and this usmo reads up to {VERSION}: install a newer usmo"
    need(version <= VERSION, newer)
    need(isinstance(arrays, dict), f"its list of arrays is missing; {_FOREIGN}")
    for name in sorted({*arrays, *entries}):
        need(name in entries, f"the array {name[:80]!r} is listed but missing; {_DAMAGED}")
        need(name in arrays, f"the entry {name!r} is not listed; {_FOREIGN}")


def _array(data: bytes, listed: Any, name: str) -> np.ndarray:
    """The array of one entry; its header must agree with the manifest and account for every byte."""
    complete = isinstance(listed, dict) and set(listed) == {"dtype", "shape", "order", "bytes", "sha256"}
    need(complete, f"{name} is listed without its type or size; {_FOREIGN}")
    same = listed["bytes"] == len(data) and listed["sha256"] == hashlib.sha256(data).hexdigest()
    need(same, f"{name} is not the array that the manifest lists; {_DAMAGED}")
    need(data[:8] == b"\x93NUMPY\x01\x00" and len(data) >= 10, f"{name} is not an array; {_FOREIGN}")
    begin = 10 + int.from_bytes(data[8:10], "little")
    header = _HEADER.fullmatch(data[10:begin].decode("latin-1"))
    need(header, f"the header of {name} is not one of a plain array of numbers or text; {_FOREIGN}")
    assert header is not None
    dtype, shape = np.dtype(header["dtype"]), [int(side) for side in re.findall("[0-9]+", header["shape"])]
    order: Any = "F" if header["fortran"] == "True" else "C"
    same = (header["dtype"], shape, order) == (listed["dtype"], listed["shape"], listed["order"])
    fills = is_shape(shape) and math.prod(shape) * dtype.itemsize == len(data) - begin
    need(same and fills, f"the header of {name} and its bytes or the manifest do not agree; {_FOREIGN}")
    flat = np.frombuffer(data, dtype=dtype, offset=begin).copy() if len(data) > begin else np.empty(0, dtype)
    if dtype.kind == "b":
        need(flat.view(np.uint8).max(initial=0) <= 1, f"{name} holds bytes that are no truth values; {_FOREIGN}")
    if dtype.kind == "U":
        codes = flat.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        need(codes.max(initial=0) <= 0x10FFFF, f"{name} holds numbers that are no characters; {_FOREIGN}")
    return flat.reshape(shape, order=order)

"""The container of a model file: a zip of ``.npy`` arrays and ``manifest.json``, checked before it is believed.

    whole file   the last 64 characters are the SHA-256 of all bytes before them (they end the zip's comment)
    entries      the manifest lists each array with its SHA-256, size, type, shape and order; no more, no fewer
    numbers      a ``.npy`` header is matched against a pattern, never evaluated; object types do not match it

Checksums find accidents. Whoever writes a file on purpose can make them right, so sizes, names, nesting and
array headers are checked as well, and nothing is allocated that the bytes at hand do not fill. Times in the zip
are fixed: the same model gives the same bytes.
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from usmo.files.errors import ModelFileError, need
from usmo.system.atomic import replacing

FORMAT, VERSION = "usmo-model", 1

_MANIFEST = "manifest.json"
_TRAILER = b"usmo-model sha256="
_DIGEST = 64
_DAMAGED = "the file is damaged: copy it again from where it came from, or save the model again"
_FOREIGN = "it is not a file that usmo.files.save wrote"

_RATIO = 100
"""Largest expansion of an entry; arrays that deflate better than this are stored as they are."""

_MOST_ENTRIES = 10_000
_MOST_MANIFEST = 2**26
"""Bytes of a manifest; one with 100,000 records of a fit's history has 25 MB."""

_DEEPEST = 100
"""Brackets open at once in a manifest."""

_ENTRY_NAME = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*\.npy", re.ASCII)
_NESTING = re.compile(rb'[\\"\[\]{}]')
_HEADER = re.compile(
    r"\{'descr': '(?P<dtype>[<>|](?:b1|i[1248]|u[1248]|f[248]|U[1-9][0-9]{0,7}))', "
    r"'fortran_order': (?P<fortran>True|False), 'shape': \((?P<shape>[0-9, ]{0,180})\), \} *\n",
    re.ASCII,
)


def storable(array: np.ndarray) -> bool:
    """Whether the type of an array has a place in a file: bool, integers, floats up to 64 bits, text."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    return (kind in "biu" or (kind == "f" and size <= 8) or (kind == "U" and size > 0)) and array.ndim <= 8


def is_entry_name(name: str) -> bool:
    """Whether a name is one for an array in a file: words and dots, no folders."""
    return len(name) <= 200 and _ENTRY_NAME.fullmatch(name) is not None


def write(
    path: str | os.PathLike[str], manifest: dict[str, Any], arrays: dict[str, np.ndarray], deflate: bool
) -> None:
    """Write the file, whole or not at all."""
    target = Path(path)
    need(target.parent.is_dir(), f"path must lie in an existing folder, got {str(target)!r}")
    need(not target.is_dir(), f"path must name a file, got the folder {str(target)!r}")
    parts = {name: _npy(array) for name, array in arrays.items()}
    manifest = {**manifest, "arrays": {name: _listed(arrays[name], *part) for name, part in parts.items()}}
    text = json.dumps(manifest, allow_nan=False, separators=(",", ":")).encode("ascii")
    need(len(text) <= _MOST_MANIFEST, f"what is not an array takes {len(text)} bytes, more than {_MOST_MANIFEST}")
    parsed_json(text)  # what load would refuse is not written
    with replacing(target) as stream:
        _write_zip(stream, {_MANIFEST: (text, b""), **parts}, deflate)
        _sign(stream)


def read(path: str | os.PathLike[str], max_bytes: int) -> tuple[dict[str, Any], dict[str, np.ndarray], int]:
    """The manifest, the arrays it lists and the size of the file, after all checks."""
    data = _file_bytes(path, max_bytes)
    _check_signature(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = _checked_entries(archive, max_bytes, len(data))
        manifest = parsed_json(_expanded(archive, entries.pop(_MANIFEST)))
        _check_manifest(manifest, entries)
        arrays = {
            name: _array(_expanded(archive, entry), manifest["arrays"][name], name)
            for name, entry in entries.items()
        }
    return manifest, arrays, len(data)


@contextlib.contextmanager
def named(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Refusals inside say, in one line, what cannot be done with which file."""
    try:
        yield
    except ModelFileError as error:
        text = " ".join(str(error).split())[:500]
        raise ModelFileError(f"{os.fspath(path)!r} {what}: {text}") from error


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Whatever else goes wrong while a file is read is a refusal as well.

    Python's zip reader raises a dozen types on bad bytes. What the system says about a file that is not there or
    may not be read stays as it is.
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
    """JSON without what makes readers stumble: deep nesting, repeated keys, numbers beyond 64 bits."""
    need(
        len(text) <= _MOST_MANIFEST, f"the manifest has {len(text)} bytes, more than {_MOST_MANIFEST}; {_FOREIGN}"
    )
    _check_nesting(text)
    try:
        return json.loads(
            text.decode("ascii"),
            parse_int=_integer,
            parse_float=_finite,
            parse_constant=_no_constant,
            object_pairs_hook=_unique,
        )
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ModelFileError(f"the manifest is not JSON ({error}); {_FOREIGN}") from error


def _check_nesting(text: bytes) -> None:
    """Count open brackets outside of texts, in one pass: the JSON reader would recurse on them."""
    depth, inside, escaped = 0, False, -1
    for token in _NESTING.finditer(text):
        at = token.start()
        if inside:
            if text[at] == ord("\\") and at != escaped:
                escaped = at + 1
            elif text[at] == ord('"') and at != escaped:
                inside = False
            continue
        inside = text[at] == ord('"')
        depth += (text[at] in b"[{") - (text[at] in b"]}")
        need(depth <= _DEEPEST, f"JSON values are nested more than {_DEEPEST} deep; {_FOREIGN}")


def _integer(text: str) -> int:
    need(len(text) <= 20, f"an integer of {len(text)} digits; {_FOREIGN}")
    return int(text)


def _finite(text: str) -> float:
    need(
        len(text) <= 40 and math.isfinite(value := float(text)),
        f"the number {text[:40]} is no float64; {_FOREIGN}",
    )
    return value


def _no_constant(text: str) -> Any:
    raise ModelFileError(f"{text} is not JSON; {_FOREIGN}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    need(len(found) == len(pairs), f"a key stands twice in one JSON object; {_FOREIGN}")
    return found


def _npy(array: np.ndarray) -> tuple[bytes, Any]:
    """Header and numbers of the array as ``np.save`` writes them, the numbers without a copy where possible."""
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


def _write_zip(stream: BinaryIO, parts: dict[str, tuple[bytes, Any]], deflate: bool) -> None:
    with zipfile.ZipFile(stream, "w") as archive:
        archive.comment = _TRAILER + b"0" * _DIGEST
        for name, (head, body) in parts.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            entry.file_size = len(head) + len(body)
            if deflate and entry.file_size <= _RATIO * _deflated_size(head, body):
                entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w") as out:
                out.write(head)
                out.write(body)


def _deflated_size(head: bytes, body: Any) -> int:
    packer = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -15)
    return len(packer.compress(head)) + len(packer.compress(body)) + len(packer.flush())


def _sign(stream: BinaryIO) -> None:
    """Put the digest of all that was written over the zeros at the end."""
    left = stream.seek(0, os.SEEK_END) - _DIGEST
    stream.seek(0)
    digest = hashlib.sha256()
    while left:
        block = stream.read(min(left, 2**20))
        digest.update(block)
        left -= len(block)
    stream.seek(-_DIGEST, os.SEEK_END)
    stream.write(digest.hexdigest().encode("ascii"))


def _file_bytes(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    found = os.stat(path)
    need(stat.S_ISREG(found.st_mode), "it is a folder or a device, not a file; name the model file itself")
    need(
        found.st_size <= max_bytes,
        f"it has {found.st_size} bytes, more than max_bytes={max_bytes}; raise max_bytes if you trust its source",
    )
    with open(path, "rb") as stream:
        return stream.read(found.st_size)


def _check_signature(data: bytes) -> None:
    need(data[:4] == b"PK\x03\x04", f"it does not start as a zip; {_FOREIGN}")
    need(
        data[-_DIGEST - len(_TRAILER) : -_DIGEST] == _TRAILER,
        f"its end is missing or {_FOREIGN}; if it was one, {_DAMAGED}",
    )
    expected = hashlib.sha256(memoryview(data)[:-_DIGEST]).hexdigest().encode("ascii")
    need(expected == data[-_DIGEST:], f"the SHA-256 of its bytes is not the one it ends with; {_DAMAGED}")


def _checked_entries(archive: zipfile.ZipFile, max_bytes: int, size: int) -> dict[str, zipfile.ZipInfo]:
    listed = archive.infolist()
    need(len(listed) <= _MOST_ENTRIES, f"it has {len(listed)} entries, more than {_MOST_ENTRIES}; {_FOREIGN}")
    entries = {entry.filename: entry for entry in listed}
    need(len(entries) == len(listed), f"an entry stands twice in it; {_FOREIGN}")
    need(_MANIFEST in entries, f"{_MANIFEST} is missing; {_FOREIGN}")
    for name, entry in entries.items():
        known = name == _MANIFEST or is_entry_name(name)
        need(known, f"the entry name {name[:80]!r} is not accepted; {_FOREIGN}")
        stored, deflated = (entry.compress_type == kind for kind in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        need((stored or deflated) and entry.flag_bits == 0, f"{name} is encrypted or packed unusually; {_FOREIGN}")
        most = entry.compress_size * (1 if stored else _RATIO)
        need(
            entry.compress_size <= size and entry.file_size <= most,
            f"{name} claims to expand from {entry.compress_size} to {entry.file_size} bytes; {_FOREIGN}",
        )
    total = sum(entry.file_size for entry in listed)
    need(
        total <= max_bytes,
        f"it expands to {total} bytes, more than max_bytes={max_bytes}; raise max_bytes if you trust its source",
    )
    need(total <= _RATIO * size, f"it expands from {size} to {total} bytes; {_FOREIGN}")
    return entries


def _expanded(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of an entry; the zip reader stops at the size declared, and compares a checksum there."""
    with archive.open(entry) as stream:
        data = stream.read(entry.file_size)
        need(len(data) == entry.file_size and not stream.read(1), f"{entry.filename} ends early; {_DAMAGED}")
    return data


def _check_manifest(manifest: Any, entries: dict[str, zipfile.ZipInfo]) -> None:
    need(
        isinstance(manifest, dict) and manifest.get("format") == FORMAT,
        f"its format is not {FORMAT!r}; {_FOREIGN}",
    )
    version = manifest.get("version")
    need(type(version) is int and version >= 1, f"its format version is {version!r}; {_FOREIGN}")
    need(
        version <= VERSION,
        f"it has format version {version}, and this usmo reads up to {VERSION}: install a newer usmo",
    )
    arrays = manifest.get("arrays")
    need(isinstance(arrays, dict), f"its list of arrays is missing; {_FOREIGN}")
    for name in sorted({*manifest["arrays"], *entries}):
        need(name in entries, f"the array {name[:80]!r} is listed but not there; {_DAMAGED}")
        need(name in manifest["arrays"], f"the entry {name!r} is not listed; {_FOREIGN}")


def _array(data: bytes, listed: Any, name: str) -> np.ndarray:
    """The array of one entry; its header must agree with the list and account for every byte."""
    keys = {"dtype", "shape", "order", "bytes", "sha256"}
    need(
        isinstance(listed, dict) and set(listed) == keys, f"{name} is listed without its type or size; {_FOREIGN}"
    )
    need(
        listed["bytes"] == len(data) and listed["sha256"] == hashlib.sha256(data).hexdigest(),
        f"{name} is not the array that the manifest lists; {_DAMAGED}",
    )
    need(data[:8] == b"\x93NUMPY\x01\x00" and len(data) >= 10, f"{name} is not an array; {_FOREIGN}")
    begin = 10 + int.from_bytes(data[8:10], "little")
    header = _HEADER.fullmatch(data[10:begin].decode("latin-1"))
    need(header, f"the header of {name} is not one of a plain array of numbers or text; {_FOREIGN}")
    assert header is not None
    shape = [int(part) for part in re.findall("[0-9]+", header["shape"])]
    order = "F" if header["fortran"] == "True" else "C"
    same = header["dtype"] == listed["dtype"] and order == listed["order"] and shape == listed["shape"]
    dtype = np.dtype(header["dtype"])
    need(
        same and len(shape) <= 8 and math.prod(shape) * dtype.itemsize == len(data) - begin,
        f"the header of {name} and its bytes or the manifest do not agree; {_FOREIGN}",
    )
    # sizes along axes beside a zero are bound by nothing else
    need(max(shape, default=0) < 2**40, f"the shape of {name} is not accepted; {_FOREIGN}")
    flat = np.frombuffer(data, dtype=dtype, offset=begin).copy() if len(data) > begin else np.empty(0, dtype)
    if dtype.kind == "b":
        need(flat.view(np.uint8).max(initial=0) <= 1, f"{name} holds bytes that are no truth values; {_FOREIGN}")
    if dtype.kind == "U":
        codes = flat.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        need(codes.max(initial=0) <= 0x10FFFF, f"{name} holds numbers that are no characters; {_FOREIGN}")
    return flat.reshape(shape, order="F" if order == "F" else "C")

"""The container of a model file: a zip of ``.npy`` arrays and ``manifest.json``.

    whole file   the last 64 characters are the SHA-256 of all bytes before them (they end the zip's comment)
    entries      the manifest lists each array with its SHA-256, size, type, shape and order, and no others

Times in the zip are fixed: the same model gives the same bytes. :mod:`usmo.files.contents` reads what ``write`` writes.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import re
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from usmo.files.errors import Pathlike, need
from usmo.files.manifest import memory_of, parsed_json
from usmo.system.atomic import replacing

FORMAT, VERSION = "usmo-model", 1
MANIFEST = "manifest.json"
TRAILER = b"usmo-model sha256="
DIGEST = 64
"""Characters of a SHA-256 in hexadecimal."""

MAX_RATIO = 100
"""Largest ratio of an entry's size to its deflated size, against zip bombs; ``write`` stores what exceeds it."""

_FREE, _MULTIPLE = 2**27, 16
"""Bytes of memory that any file may take, and bytes per byte of a larger file. The history of a fit takes 13 bytes per
byte of the manifest, the schemas of numeric columns 14; 100,000 schemas of ignored columns take 128 MB."""

_MAX_NUMBERS = 2**40
"""Product of the sides of a shape other than 0; beside a side of 0, no number of bytes bounds the others."""

_ENTRY_NAME = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*\.npy", re.ASCII)


def allowance(size: int) -> int:
    """The bytes of memory that a file of this size may take."""
    return max(_FREE, _MULTIPLE * size)


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
    stream_or_file = _opened(target)
    entries = {name: _npy(array) for name, array in arrays.items()}
    manifest = {**manifest, "arrays": {name: _listed(arrays[name], *entry) for name, entry in entries.items()}}
    text = json.dumps(manifest, allow_nan=False, separators=(",", ":")).encode("ascii")
    memory, most = memory_of(text), allowance(len(text))
    need(memory <= most, f"its values other than arrays take {memory} bytes of memory, more than {most}")
    parsed_json(text, most)  # refuse to write what load refuses to read
    entries = {MANIFEST: (text, b""), **entries}
    total = sum(len(head) + len(body) for head, body in entries.values())
    ratios = dict.fromkeys(entries, (MAX_RATIO if total <= _FREE else _MULTIPLE) if deflate else 0)
    if memory > _FREE:
        ratios[MANIFEST] = 0
    with stream_or_file as stream:
        _write_zip(stream, entries, ratios)
        _sign(stream)


def _opened(target: Pathlike | BinaryIO) -> contextlib.AbstractContextManager[BinaryIO]:
    if not isinstance(target, str | os.PathLike):
        return contextlib.nullcontext(target)
    path = Path(target)
    need(path.parent.is_dir(), f"path must lie in an existing folder, got {str(path)!r}")
    need(not path.is_dir(), f"path must name a file, got the folder {str(path)!r}")
    return replacing(path)


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


def _write_zip(stream: BinaryIO, entries: dict[str, tuple[bytes, Any]], ratios: dict[str, int]) -> None:
    """Write a zip whose entries are deflated where that makes them smaller by at most these ratios."""
    with zipfile.ZipFile(stream, "w") as archive:
        archive.comment = TRAILER + b"0" * DIGEST
        for name, (head, body) in entries.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            entry.file_size = len(head) + len(body)
            if ratios[name] and entry.file_size <= ratios[name] * _deflated_size(head, body):
                entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w") as out:
                out.write(head)
                out.write(body)


def _deflated_size(head: bytes, body: Any) -> int:
    packer = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -15)
    return len(packer.compress(head)) + len(packer.compress(body)) + len(packer.flush())


def _sign(stream: BinaryIO) -> None:
    """Overwrite the zeros at the end by the digest of all bytes before them."""
    digest = file_digest(stream, stream.seek(0, os.SEEK_END) - DIGEST)
    stream.seek(-DIGEST, os.SEEK_END)
    stream.write(digest)


def file_digest(stream: BinaryIO, size: int) -> bytes:
    """The SHA-256 of the first bytes of a stream, in hexadecimal."""
    stream.seek(0)
    digest = hashlib.sha256()
    while size > 0 and (block := stream.read(min(size, 2**20))):
        digest.update(block)
        size -= len(block)
    return digest.hexdigest().encode("ascii")

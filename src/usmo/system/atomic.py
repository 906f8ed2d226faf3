"""Files that are replaced whole or not at all: written to a temporary file, synced to disk, then renamed."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, beside: str | os.PathLike[str] | None = None) -> Iterator[BinaryIO]:
    """Open a stream whose contents replace the file when the block ends; an error or a kill leaves the file alone.

    ``beside`` names the temporary file. By default each writer gets a new name, so that two writers do not mix.
    A given name is overwritten: for a single writer that removes the file of its killed predecessor.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp") if beside is None else Path(beside)
    try:
        with open(temporary, "x+b" if beside is None else "w+b") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the file by these bytes."""
    with replacing(path) as stream:
        stream.write(data)


def _sync_folder(folder: Path) -> None:
    """Make the rename survive a power failure. Some systems cannot; the contents are synced in any case."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

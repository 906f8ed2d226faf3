"""Files that appear whole or not at all: written beside their place, brought to the disk, then moved there."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, beside: str | os.PathLike[str] | None = None) -> Iterator[BinaryIO]:
    """A stream that becomes the file when the block ends; an error or a kill before leaves the file as it was.

    ``beside`` is where the bytes are until then: by default a new name for each writer, so that two of them do
    not mix. A name given is written over, which is for the one writer who clears up after having been killed.
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
    """The bytes as a file."""
    with replacing(path) as stream:
        stream.write(data)


def _sync_folder(folder: Path) -> None:
    """Make the new name last; some systems cannot, and the file itself is safe by now."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

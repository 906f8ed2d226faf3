"""Files that are replaced whole or not at all: written to a temporary file, synced to disk, then renamed."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a stream whose contents replace the file when the block ends; an error or a kill leaves the file alone.

    Each writer has a temporary file of its own. A kill leaves it in the folder; its name is that of
    :func:`temporary_file`.
    """
    target = Path(path)
    temporary = target.with_name(temporary_file(target.name, secrets.token_hex(4)))
    try:
        with open(temporary, "x+b") as stream:
            copy_permissions(target, temporary)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def temporary_file(name: str, writer: str) -> str:
    """The name of a writer's temporary file for a file of this name."""
    return f".{name}.{writer}.tmp"


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the file by these bytes."""
    with replacing(path) as stream:
        stream.write(data)


def copy_permissions(target: Path, new: Path) -> None:
    """Give a new file the mode of the file that it will replace, if there is one; owner and group where allowed."""
    try:
        before = target.stat()
    except OSError:
        return
    if hasattr(os, "chown"):
        for owner, group in ((-1, before.st_gid), (before.st_uid, -1)):
            with contextlib.suppress(OSError):
                os.chown(new, owner, group)
    os.chmod(new, before.st_mode & 0o777)


def _sync_folder(folder: Path) -> None:
    """Make the rename survive a power failure. Some systems cannot; the contents are synced in any case."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

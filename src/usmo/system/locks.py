"""Locks between processes: a file that the system keeps locked as long as its process lives."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import threading
import weakref
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: files are not locked, and an open one cannot be removed
    fcntl = None  # type: ignore[assignment]

_HELD: set[str] = set()
"""Lock files of this process. The system's locks hold between processes only."""

_GUARD = threading.RLock()
"""Reentrant: the garbage collector may release one lock while another is taken."""


class LockHeld(RuntimeError):
    """The lock is taken; the message says by which process on which host."""


class FileLock:
    """A lock file, held until ``release``, until it is collected, or until the process ends, however it ends.

    The file names its holder. It does not lock by being there: what a killed process leaves blocks nobody.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._key = os.path.realpath(path)
        with _GUARD:
            if self._key in _HELD:
                raise LockHeld(f"process {os.getpid()} on {socket.gethostname()} (this process)")
            handle = _locked(Path(self._key))
            _HELD.add(self._key)
        self.release = weakref.finalize(self, _release, self._key, handle, os.getpid())


def _locked(path: Path) -> int:
    """Open and lock the file, and write into it who holds it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(path, handle)
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                os.ftruncate(handle, 0)
                os.write(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
                return handle
        except FileNotFoundError:
            pass  # its holder has removed the file after it was opened here: lock a new one
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(path: Path, handle: int) -> None:
    if fcntl is None:
        return
    try:
        # not flock: processes forked by the holder would share its lock and keep it after its death
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise LockHeld(path.read_text().strip() or "another process") from None
        # other errors: the disk has no locks


def _release(key: str, handle: int, process: int) -> None:
    if os.getpid() != process:  # a fork has neither the lock nor the file
        return
    with _GUARD:
        _HELD.discard(key)
        with contextlib.suppress(OSError):
            os.unlink(key)
        os.close(handle)


def _after_fork() -> None:
    global _GUARD
    _GUARD = threading.RLock()
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

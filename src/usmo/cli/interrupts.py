"""Ctrl-C ends the program at once: exit code 130, one line, no file half-written.

Python's own way, an exception at the line being run, does not get through everywhere: imports of compiled modules,
callbacks and destructors of other libraries swallow it or print it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

cleanups: list[Callable[[], None]] = []
"""Functions that an interrupt calls before the process ends."""

NOTHING_WRITTEN = "nothing was written"
_outcome = NOTHING_WRITTEN
_postponed = _pending = False


def end_at_once() -> None:
    """Let an interrupt end the process, unless it was started with interrupts ignored."""
    with contextlib.suppress(ValueError):  # not in the main thread
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _end)


def raise_instead() -> None:
    """Let an interrupt raise KeyboardInterrupt, which ends the worker processes of a pool in order."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore() -> None:
    """Ignore interrupts while Python exits."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """A block during which interrupts wait until its end."""
    global _postponed
    _postponed = True
    try:
        yield
    finally:
        _postponed = False
        if _pending:
            _end()


def set_outcome(outcome: str) -> None:
    """What an interrupt from this moment on leaves behind, for its message."""
    global _outcome
    _outcome = outcome


def message() -> str:
    """The message of an interrupt."""
    return f"interrupted; {_outcome}"


def _end(*_signal: Any) -> None:
    global _pending
    if _postponed:
        _pending = True
        return
    for clear in cleanups:
        clear()
    # not print: the interrupted code may be writing to the stream
    line = f"usmo: {message()}\n".encode()
    with contextlib.suppress(OSError):
        os.write(2, b"\n" + line if sys.stderr is not None and sys.stderr.isatty() else line)
    os._exit(130)

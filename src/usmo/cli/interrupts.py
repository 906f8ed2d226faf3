"""Ctrl-C ends the program at once: exit code 130, one line, no file half-written.

Python's own way, an exception at whatever line is being run, does not get through from everywhere: imports of
compiled modules, callbacks and destructors of other libraries swallow it or print it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

cleanups: list[Callable[[], None]] = []
"""What has to be cleared away before the end."""

NOTHING_WRITTEN = "nothing was written"
_outcome = NOTHING_WRITTEN
_held = _pending = False


def end_at_once() -> None:
    """From now on an interrupt is the end of the process, unless it was started with interrupts ignored."""
    with contextlib.suppress(ValueError):  # not in the main thread
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _end)


def raise_instead() -> None:
    """For work in several processes, which an exception takes down in order."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore() -> None:
    """For the moments in which Python clears up."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """A block that is not interrupted; what came meanwhile counts after it."""
    global _held
    _held = True
    try:
        yield
    finally:
        _held = False
        if _pending:
            _end()


def would_mean(outcome: str) -> None:
    """What an interrupt from now on leaves, for its message."""
    global _outcome
    _outcome = outcome


def message() -> str:
    """What to say of an interrupt."""
    return f"interrupted; {_outcome}"


def _end(*_signal: Any) -> None:
    global _pending
    if _held:
        _pending = True
        return
    for clear in cleanups:
        clear()
    # the streams may be in the middle of a line
    line = f"usmo: {message()}\n".encode()
    with contextlib.suppress(OSError):
        os.write(2, b"\n" + line if sys.stderr is not None and sys.stderr.isatty() else line)
    os._exit(130)

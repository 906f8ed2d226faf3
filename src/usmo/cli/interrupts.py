"""Ctrl-C, SIGTERM and SIGHUP end the program at once: exit code 128 plus the signal, one line, no file half-written.

Python's own way, an exception at the line being run, does not get through everywhere: imports of compiled modules,
callbacks and destructors of other libraries swallow it or print it. SIGTERM and SIGHUP have no exception: by default
they end the process and leave its files.
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
_WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "the terminal is closed"}
_SIGNALS = {int(getattr(signal, name)): word for name, word in _WORDS.items() if hasattr(signal, name)}
"""The signals that this system has, and the words for them."""

_outcome = NOTHING_WRITTEN
_received = int(signal.SIGINT)
_postponed, _pending, _process = False, 0, 0


def end_at_once() -> None:
    """Let an interrupt end the process, unless it was started with that signal ignored (``nohup``)."""
    global _process
    _process = os.getpid()
    with contextlib.suppress(ValueError):  # not in the main thread
        for number in _SIGNALS:
            if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
                signal.signal(number, _end)


def raise_instead() -> None:
    """Let an interrupt raise KeyboardInterrupt, which ends the worker processes of a pool in order."""
    for number in _SIGNALS:
        if signal.getsignal(number) is _end:
            signal.signal(number, _raise)


def ignore() -> None:
    """Ignore interrupts while Python exits."""
    with contextlib.suppress(ValueError):
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def calling(clear: Callable[[], None]) -> Iterator[None]:
    """A block during which an interrupt calls a function before the process ends."""
    cleanups.append(clear)
    try:
        yield
    finally:
        cleanups.remove(clear)


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
            _end(_pending)


def set_outcome(outcome: str) -> None:
    """What an interrupt from this moment on leaves behind, for its message."""
    global _outcome
    _outcome = outcome


def message() -> str:
    """The message of the last interrupt."""
    return f"{_SIGNALS[_received]}; {_outcome}"


def exit_code() -> int:
    """The exit code of the last interrupt, as shells count."""
    return 128 + _received


def _raise(number: int, _frame: Any) -> None:
    global _received
    _leave_if_forked(number)
    _received = number
    raise KeyboardInterrupt


def _end(number: int, _frame: Any = None) -> None:
    global _pending, _received
    _leave_if_forked(number)
    if _postponed:
        _pending = number
        return
    _received = number
    for clear in cleanups:
        clear()
    # not print: the interrupted code may be writing to the stream
    line = f"usmo: {message()}\n".encode()
    with contextlib.suppress(OSError):
        os.write(2, b"\n" + line if sys.stderr is not None and sys.stderr.isatty() else line)
    os._exit(exit_code())


def _leave_if_forked(number: int) -> None:
    """End a process forked from this one, such as a worker, by the signal itself: the files are its parent's."""
    if os.getpid() != _process:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

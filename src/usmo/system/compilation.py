"""How compiled functions are made, and the word to the user while the first fit on a machine compiles."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import njit

_PATIENCE = 2.0
_silent = False


def compiled(function: Callable[..., Any] | None = None, *, fastmath: bool | set[str] = False) -> Any:
    """``numba.njit`` without the GIL, cached on disk where a cache can be written."""

    def wrap(function: Callable[..., Any]) -> Any:
        try:
            return njit(nogil=True, error_model="numpy", fastmath=fastmath, cache=True)(function)
        except RuntimeError:  # no writable place for a cache
            return njit(nogil=True, error_model="numpy", fastmath=fastmath)(function)

    return wrap if function is None else wrap(function)


@contextmanager
def announced_compilation() -> Iterator[None]:
    """Say on stderr that compilation is going on if the body takes longer than two seconds."""

    def say() -> None:
        print(
            "usmo: compiling the solver for this machine; this takes about ten seconds, once.",
            file=sys.stderr,
        )

    if _silent:
        yield
        return
    timer = threading.Timer(_PATIENCE, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def silent() -> Iterator[None]:
    """A block in which compilation is not announced."""
    global _silent
    before, _silent = _silent, True
    try:
        yield
    finally:
        _silent = before

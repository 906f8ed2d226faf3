"""Compile functions with Numba at their first call, and announce a long compilation.

Importing Numba takes as long as importing all of scikit-learn, so it is imported at the first call, not with the
module of a function. Modules with compiled functions can therefore be imported anywhere at no cost.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from typing import Any

_PATIENCE = 2.0
"""Seconds of compilation after which it is announced."""

_silent = False

_dispatchers: list[Any] = []
"""Numba's versions of the functions that have been called."""


def compiled(function: Callable[..., Any] | None = None, *, fastmath: bool | set[str] = False) -> Any:
    """Mark a function to be compiled by ``numba.njit`` at its first call: without the GIL, cached on disk."""
    if function is None:
        return lambda function: _Compiled(function, fastmath)
    return _Compiled(function, fastmath)


class _Compiled:
    """A function that is replaced by Numba's version of it at the first call."""

    def __init__(self, function: Callable[..., Any], fastmath: bool | set[str]) -> None:
        update_wrapper(self, function)
        self._function, self._fastmath, self._lock = function, fastmath, threading.RLock()
        self._dispatcher: Any = None

    def __call__(self, *args: Any) -> Any:
        return (self._dispatcher or self.dispatcher())(*args)

    def dispatcher(self) -> Any:
        """Numba's version. Compiled functions that this one calls are replaced by theirs first: Numba needs them."""
        with self._lock:
            if self._dispatcher is None:
                names = self._function.__globals__
                for name in self._function.__code__.co_names:
                    if isinstance(names.get(name), _Compiled):
                        names[name] = names[name].dispatcher()
                self._dispatcher = self._compile()
        return self._dispatcher

    def _compile(self) -> Any:
        from numba import njit  # see the module's docstring

        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": self._fastmath}
        try:
            dispatcher = njit(cache=True, **options)(self._function)
        except RuntimeError:  # no folder for the cache can be written
            dispatcher = njit(**options)(self._function)
        _dispatchers.append(dispatcher)
        return dispatcher


@contextmanager
def announced_compilation() -> Iterator[None]:
    """Tell the user on stderr that functions are being compiled if the body takes longer than two seconds."""
    if _silent:
        yield
        return
    done = threading.Event()
    threading.Thread(target=_announce, args=(done,), daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _announce(done: threading.Event) -> None:
    while not done.wait(_PATIENCE):
        # on a busy machine loading from the cache can take as long; then there is nothing to announce
        if any(dispatcher.stats.cache_misses for dispatcher in list(_dispatchers)):
            print(
                "usmo: compiling the solver for this machine; this takes about ten seconds, once.", file=sys.stderr
            )
            return


@contextmanager
def silent() -> Iterator[None]:
    """Switch the announcement off inside the block."""
    global _silent
    before, _silent = _silent, True
    try:
        yield
    finally:
        _silent = before

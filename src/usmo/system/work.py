"""Long computations say beforehand about how long they take, and on the way how far they are, to whoever listens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from usmo.system.words import quantity

LONG = 20.0
"""Seconds from which work is worth a message."""


@dataclass
class Work:
    """An amount of work, in any unit, and how much of it is done."""

    seconds: float
    amount: float
    done: float = 0.0
    began: float = field(default_factory=time.monotonic)

    @property
    def share(self) -> float:
        return min(1.0, self.done / self.amount) if self.amount else 1.0

    @property
    def spent(self) -> float:
        """Seconds since the work began."""
        return time.monotonic() - self.began

    @property
    def left(self) -> float:
        """Seconds that are left: by the first estimate at the beginning, then more and more by the time spent."""
        share = self.share
        # spent/share is the whole time by what has been done; the first estimate has the weight of what has not
        whole = self.spent + (1.0 - share) * self.seconds
        return (1.0 - share) * whole


_listener: ContextVar[Callable[[Work], None] | None] = ContextVar("work_listener", default=None)
_current: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def expecting(work: Work) -> Iterator[None]:
    """A block that does this work, in steps reported by :func:`advance`."""
    token = _current.set(work)
    try:
        _tell(work)
        yield
    finally:
        _current.reset(token)


def advance(amount: float) -> None:
    """Say that so much of the work is done, if someone expects it."""
    work = _current.get()
    if work is not None:
        work.done += amount
        _tell(work)


@contextmanager
def watching(listener: Callable[[Work], None]) -> Iterator[None]:
    """A block whose work is reported to ``listener``: when it begins and at every step."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def watched() -> bool:
    """Whether someone listens."""
    return _listener.get() is not None


def _tell(work: Work) -> None:
    listener = _listener.get()
    if listener is not None:
        listener(work)


def in_words(seconds: float) -> str:
    """A duration for people: "40 seconds", "12 minutes", "3 hours"."""
    if seconds < 90:
        return quantity(max(1.0, seconds), "second")
    return quantity(seconds / 60, "minute") if seconds < 90 * 60 else quantity(seconds / 3600, "hour")

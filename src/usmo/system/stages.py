"""Stages of a long computation, announced by the code that begins them to whoever listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)

PRIOR, PROPENSITY, LAMBDA, FIT = (
    "estimating the share of positives", "estimating the propensity", "choosing lambda", "fitting"
)  # fmt: skip


def announce(stage: str) -> None:
    """Say that a stage begins."""
    listener = _listener.get()
    if listener is not None:
        listener(stage)


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """A block whose stages are announced to ``listener``."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)

"""An object whose attributes stay as they were if a change of them fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def unchanged_on_failure(target: Any) -> Iterator[None]:
    """Restore the attributes of ``target`` if the block raises: a failed fit leaves an estimator as it was."""
    before = target.__dict__.copy()
    try:
        yield
    except BaseException:
        target.__dict__.clear()
        target.__dict__.update(before)
        raise

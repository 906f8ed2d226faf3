"""The one error of model files: its messages name the file and say what to do, in one line."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from typing import BinaryIO

from usmo.system.terminal import printable

Pathlike = str | os.PathLike[str]

DAMAGED = "the file is damaged: copy it again from where it came from, or save the model again"
FOREIGN = "it is not a file that usmo.files.save wrote"


class ModelFileError(ValueError):
    """A model that cannot be stored, or a file that is not a valid model file; nothing was written or built."""


def need(condition: object, problem: str) -> None:
    """Raise ModelFileError with a one-line description of the problem unless the condition holds."""
    if not condition:
        raise ModelFileError(problem)


def check_limit(what: str, size: int, limit: int) -> None:
    """Refuse more bytes than the option ``max_bytes`` of ``load``, or its default for the file, allows."""
    remedy = "raise max_bytes if you trust its source"
    need(size <= limit, f"{what} {size} bytes, more than max_bytes={limit}; {remedy}")


@contextlib.contextmanager
def named(target: Pathlike | BinaryIO, what: str) -> Iterator[None]:
    """Put the file and what cannot be done with it before the message of a ModelFileError, all in one line."""
    try:
        yield
    except ModelFileError as error:
        text = printable(" ".join(str(error).split()))[:500]
        path = (
            os.fspath(target) if isinstance(target, str | os.PathLike) else getattr(target, "name", "the stream")
        )
        raise ModelFileError(f"{path!r} {what}: {text}") from error


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Turn any other error into a ModelFileError: Python's zip reader raises a dozen types on bad bytes.

    MemoryError and errors of the operating system pass: a file that is missing, or that may not be read.
    """
    try:
        yield
    except (ModelFileError, MemoryError):
        raise
    except Exception as error:
        # EINVAL is a place before the start of the file
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise ModelFileError(f"{error or type(error).__name__}; {DAMAGED}") from error

"""The one error of tables."""

from __future__ import annotations


class TableError(ValueError):
    """A table that cannot be used as it is; the message is one line that says what to do."""


def one_line(error: BaseException) -> str:
    """What another library says, short enough for a message."""
    return " ".join(str(error).split())[:120]

"""The error of tables, and the phrases its messages are made of."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence
from typing import Any

from usmo.system.terminal import printable

_SHOWN = 80
"""Characters of a cell or a name that a message shows."""


class TableError(ValueError):
    """A table that cannot be used; the message is one line that says what to do, safe to print on a terminal."""

    names_options = True
    """The message names options of the command line, and columns that may be called like parameters."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def one_line(error: BaseException) -> str:
    """The message of another library's error: one line, at most 120 characters."""
    return " ".join(str(error).split())[:120]


def short(text: str) -> str:
    """The start of a text of any length."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def quote(value: Any) -> str:
    """A value from a table as Python writes it, shortened."""
    return repr(short(value)) if isinstance(value, str) else short(repr(value))


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A question that proposes the most similar of the names; empty if none is similar."""
    originals = {each.lower(): each for each in names}
    similar = difflib.get_close_matches(name.lower(), originals, n=1)
    return f"did you mean {quote(originals[similar[0]])}?" if similar else ""


def no_column(name: str, names: Sequence[str], source: str) -> str:
    """The message for a column that does not exist, with the most similar name and the first 20 columns."""
    shown = ", ".join(map(short, names[:20])) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return f"no column {quote(name)} in {source}: {did_you_mean(name, names)} (columns: {shown})".replace(
        ":  (", " ("
    )


def no_table(source: str, name: str, names: Sequence[str], what: str) -> str:
    """The message for a sheet, table or file that a source does not have, with the first 20 that it has."""
    shown = ", ".join(map(quote, names[:20])) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return f"no {what} {quote(name)} in {source}: it has {shown or 'none'}"


def no_file(name: str) -> str:
    """The message for a file that does not exist, with the most similar name in its folder."""
    folder = os.path.dirname(name) or "."
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return f"no file {name!r}: {did_you_mean(os.path.basename(name), names) or 'check the path'}"


def cell(table: Any, row: int, value: Any, name: str) -> str:
    """Table, row, value and column, to begin a message; the table is anything with ``source`` and ``place``."""
    return f"{table.source}: {table.place(row)}: {quote(value)} in column {quote(name)}"

"""The memory that a table may take. It is estimated from a file before it is allocated.

A file of a few kilobytes can describe a table of terabytes: by its compression, by the shape of a sparse matrix, or by
a new key on every line.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

from usmo.io.errors import TableError
from usmo.system.memory import free_bytes

_SMALLEST, _EXPANSION = 1 << 30, 100
"""The default limit: 1 GiB, or this many times the size of the file. Text that is not hostile shrinks 3- to 50-fold
when it is compressed; plain text with fewer than 500,000 columns cannot exceed the limit."""

_CELL, TEXT_ROW = 8, 32
"""Bytes of a number, and of the place of a row while it is read from a text file."""

FRAME_COLUMN, MATRIX_COLUMN = 2000, 128
"""Bytes of a column besides its cells, as measured for a data frame; for a matrix: its name and its scaling."""


class Options(NamedTuple):
    """What is said of a file: columns to leave as text, the memory for it, its encoding, and the table in it."""

    text: frozenset[str]
    max_bytes: float | None = None
    encoding: str | None = None
    table: str | None = None


@dataclass(frozen=True)
class Limit:
    """The bytes that the table of one file may take."""

    source: str
    max_bytes: float

    def check(self, n_bytes: float, what: str) -> None:
        """Raise a TableError if ``what`` takes more."""
        if n_bytes > self.max_bytes:
            raise TableError(
                f"{self.source}: {what} need {_size(n_bytes)} of memory or more, the limit is "
                f"{_size(self.max_bytes)}: correct the file, or if you trust it raise max_bytes (--max-bytes on the "
                "command line)"
            )

    def check_table(
        self, rows: int, columns: int, *, per_column: int, per_row: int = 0, cells: int | None = None,
        where: str = "",
    ) -> None:  # fmt: skip
        """Raise a TableError if a table of this shape, or with this number of cells, takes more."""
        n_bytes = _CELL * (rows * columns if cells is None else cells) + per_row * rows + per_column * columns
        self.check(n_bytes, f"{rows:,} rows of {columns:,} columns{where}")


def limit_of(source: str, size: int, max_bytes: float | None) -> Limit:
    """The limit for a file of this size: ``max_bytes``, or else the default, at most half of the free memory."""
    if max_bytes is None:
        return Limit(source, min(max(_SMALLEST, _EXPANSION * size), free_bytes() / 2 or float("inf")))
    if not isinstance(max_bytes, Real) or not max_bytes > 0:
        raise ValueError(f"max_bytes must be a positive number or None, got {max_bytes!r}")
    return Limit(source, max_bytes)


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:,.1f} MB"

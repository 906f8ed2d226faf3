"""Compiled loops over the rows of a dense table, less ``centre``. Numbers are read in their own type, sums are float64.

Loading the loops takes a second, so small tables are left to NumPy (:func:`suits_loops`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.kernels.threads import over_tiles
from usmo.system.compilation import compiled

LARGE = 2**20
"""Entries of a table from which loops are used, and threads share the work."""

_PIECES = 16
"""Pieces into which threads divide a table, whatever their number, so that sums do not depend on it."""

_loop = compiled(fastmath={"reassoc", "contract", "nsz"})


def suits_loops(X: Any) -> bool:
    """Whether the loops read this table: an array in C order. For read-only arrays they would be compiled again."""
    return isinstance(X, np.ndarray) and X.flags.c_contiguous and X.flags.writeable and X.size >= LARGE


def piece_rows(n_rows: int) -> int:
    """How many rows a piece has, for a table with this many rows."""
    return max(1, -(-n_rows // _PIECES))


def over_pieces(work: Callable[[int, int], None], n_rows: int) -> None:
    """Call ``work`` with the first row of every piece and the one after its last, in threads."""
    over_tiles(lambda part: work(part.start, part.stop), n_rows, piece_rows(n_rows))


@_loop
def write_norms(X: Array, centre: Array, first: int, last: int, out: Array) -> None:
    """‖x - centre‖² of every row."""
    for i in range(first, last):
        total = 0.0
        for j in range(X.shape[1]):
            total += (X[i, j] - centre[j]) * (X[i, j] - centre[j])
        out[i] = total


@_loop
def write_products(X: Array, centre: Array, first: int, last: int, w: Array, out: Array) -> None:
    """(x - centre)·w of every row."""
    for i in range(first, last):
        total = 0.0
        for j in range(X.shape[1]):
            total += (X[i, j] - centre[j]) * w[j]
        out[i] = total


@_loop
def add_weighted_rows(X: Array, centre: Array, first: int, last: int, alpha: Array, out: Array) -> None:
    """out += Σ α·(x - centre)."""
    for i in range(first, last):
        a = alpha[i]
        if a != 0.0:
            for j in range(X.shape[1]):
                out[j] += a * (X[i, j] - centre[j])


@compiled
def write_centred(
    X: Array, columns: Index, centre: Array, scale: float, first: int, last: int, out: Array
) -> None:
    """(x - centre)·scale for some columns; ``centre`` has an entry for each of them."""
    for i in range(first, last):
        for j in range(len(columns)):
            out[i, j] = (X[i, columns[j]] - centre[j]) * scale


@compiled
def mark_varying(X: Array, first: int, last: int, out: Array) -> None:
    """Mark the columns in which one of these rows differs from the first row of the table."""
    for i in range(first, last):
        for j in range(X.shape[1]):
            out[j] |= X[i, j] != X[0, j]


def warm_up() -> None:
    """Compile the loops, or load them from Numba's cache."""
    one = np.zeros(1)
    for dtype in (np.float32, np.float64):
        X = np.zeros((1, 1), dtype)
        write_norms(X, one, 0, 1, np.zeros(1))
        mark_varying(X, 0, 1, np.zeros(1, np.bool_))
        write_products(X, one, 0, 1, one, np.zeros(1))
        add_weighted_rows(X, one, 0, 1, one, np.zeros(1))
        for out in (np.float32, np.float64):
            write_centred(X, np.zeros(1, np.intp), one, 1.0, 0, 1, np.zeros((1, 1), out))

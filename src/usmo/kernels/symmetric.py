"""Sums over the rbf kernel matrix of rows among themselves: an entry between two rows is computed once.

A tile K[I, J] with I before J adds K[I, J]·w[J] to the sums of I and K[I, J]ᵀ·w[I] to those of J. The rows I come in
panels, so that a long product can stop, or be saved, between two of them. Tiles are added up in their float type, over
at most ``TERMS`` numbers; the sums over tiles are float64.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from usmo.core.arrays import Array
from usmo.kernels.threads import over_tiles, scratch
from usmo.kernels.tiles import WIDE, finish_tile

TERMS = 512
"""Rows of a tile, and most of its columns."""

_NARROW = 256
"""Columns of a tile if the table is not wide: at d = 10 tiles of 512 columns take 1.1 times as long."""

_PANEL = 32 * TERMS
"""Rows of a panel: with a million rows it takes some seconds."""


def panels(n: int) -> Iterator[slice]:
    """The panels of n rows."""
    for start in range(0, n, _PANEL):
        yield slice(start, min(start + _PANEL, n))


def add_panel(X: Any, x2: Any, gamma: float, weights: Array, panel: slice, sums: Array) -> None:
    """Add the kernel values between the rows of a panel and the rows from its start on to the sums.

    After all panels ``sums`` is K @ weights for the rows X, with squared norms ``x2``. Both have one or more columns.
    """
    wide = TERMS if X.shape[1] >= WIDE else _NARROW
    W = np.ascontiguousarray(weights, dtype=X.dtype)
    Wt, g, lock = np.ascontiguousarray(W.T), X.dtype.type(gamma), threading.Lock()

    def work(part: slice) -> None:
        J = slice(panel.start + part.start, panel.start + part.stop)
        memory = scratch(TERMS * wide, X.dtype)
        above = np.zeros((panel.stop - panel.start, W.shape[1]))
        below = np.zeros((W.shape[1], J.stop - J.start))
        for first in range(panel.start, min(panel.stop, J.stop), TERMS):
            I = slice(first, min(first + TERMS, panel.stop))  # noqa: E741
            tile = finish_tile(X[I], X[J], x2[I], x2[J], g, memory)
            below += Wt[:, I] @ tile
            if I.stop <= J.start:  # tiles of the diagonal blocks are computed whole
                above[first - panel.start : I.stop - panel.start] = tile @ W[J]
        with lock:
            sums[J] += below.T
            sums[panel] += above

    over_tiles(work, X.shape[0] - panel.start, wide)


def symmetric_entries(panel: slice, n: int) -> int:
    """How many kernel values :func:`add_panel` computes for a panel of n rows, the blocks of the diagonal whole."""
    inside, after = panel.stop - panel.start, n - panel.stop
    blocks, last = divmod(inside, TERMS)
    return inside * after + TERMS * TERMS * (blocks * (blocks + 1) // 2) + last * inside

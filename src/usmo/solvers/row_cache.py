"""A cache of kernel rows with a byte budget, least recently used row out first.

The compiled loops read rows straight from ``buffer[slot[member]]``; a negative slot means that the row is not
there and ``fetch`` must be called. So any kernel, callable ones too, serves the same compiled code. The block
solver has the slots only; the rows are where their columns are (:mod:`usmo.solvers.block_shards`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from usmo.core.arrays import Index


class Slots:
    """Which row is in which slot of a cache of ``budget`` bytes, ``row_bytes`` each (but of ``least`` slots)."""

    def __init__(self, members: int, row_bytes: int, budget: float, least: int) -> None:
        slots = int(min(members, max(least, budget // max(1, row_bytes))))
        self.slot = np.full(members, -1, dtype=np.int64)
        self.stamp = np.zeros(slots, dtype=np.int64)
        self.clock = np.zeros(1, dtype=np.int64)
        self._owner = np.full(slots, -1, dtype=np.int64)
        self._used = 0

    @property
    def capacity(self) -> int:
        return len(self.stamp)

    def room(self, members: Index) -> tuple[Index, Index]:
        """Which of the members (no more than ``capacity``) are missing, and free slots for them.

        Their rows are there once :meth:`settle` is told so.
        """
        present = self.slot[members]
        self.clock[0] += 1
        self.stamp[present[present >= 0]] = self.clock[0]
        missing = members[present < 0]
        free = np.arange(self._used, min(self._used + len(missing), self.capacity))
        self._used += len(free)
        if len(free) < len(missing):
            old = np.argsort(self.stamp, kind="stable")
            old = old[self.stamp[old] < self.clock[0]]
            evicted = old[~np.isin(old, free)][: len(missing) - len(free)]
            self.slot[self._owner[evicted]] = -1
            free = np.sort(np.concatenate([free, evicted]))
        return missing, free

    def settle(self, missing: Index, free: Index) -> None:
        """The rows of ``missing`` are in the slots ``free``."""
        self.slot[missing] = free
        self._owner[free] = missing
        self.stamp[free] = self.clock[0]


class RowCache(Slots):
    """Rows of a kernel matrix, at most ``budget`` bytes of them (but never fewer than 4).

    ``compute`` is given members, the array to write their rows to, and which of its rows are theirs.
    """

    def __init__(
        self, compute: Callable[[Index, Any, Index], object], members: int, width: int, budget: float
    ) -> None:
        super().__init__(members, 8 * width, budget, least=4)
        self.compute = compute
        # Pages of an empty array take memory only once they are written.
        self.buffer = np.empty((self.capacity, width))

    def fetch(self, members: Index) -> None:
        """Make the rows of ``members`` (no more than ``capacity``) present, computing the missing ones at once."""
        missing, free = self.room(members)
        if len(missing):
            self.compute(missing, self.buffer, free)
            self.settle(missing, free)

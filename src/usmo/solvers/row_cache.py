"""A cache of kernel rows with a byte budget. The least recently used row is replaced first.

Compiled loops read rows from ``buffer[slot[member]]``. A negative slot means that the row is missing and ``fetch`` must
be called. So one compiled loop serves every kernel, callable ones too. The block solver uses the slots only; its shards
hold the rows (:mod:`usmo.solvers.block_shards`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from usmo.core.arrays import Index


class Slots:
    """Which row is in which slot of a cache of ``budget`` bytes, with at least ``least`` slots of ``row_bytes``."""

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

    def reserve(self, members: Index) -> tuple[Index, Index]:
        """Mark members (at most ``capacity``) as used; returns those that are missing, and free slots for them.

        :meth:`assign` must follow once their rows are computed.
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

    def assign(self, missing: Index, free: Index) -> None:
        """Note that the rows of ``missing`` are in the slots ``free``."""
        self.slot[missing] = free
        self._owner[free] = missing
        self.stamp[free] = self.clock[0]


class RowCache(Slots):
    """Rows of a kernel matrix, at most ``budget`` bytes of them, but at least 4.

    ``compute(members, buffer, slots)`` writes the rows of the members into these slots of the buffer.
    """

    def __init__(
        self, compute: Callable[[Index, Any, Index], object], members: int, width: int, budget: float
    ) -> None:
        super().__init__(members, 8 * width, budget, least=4)
        self.compute = compute
        # memory of an empty array is used only once it is written
        self.buffer = np.empty((self.capacity, width))

    def fetch(self, members: Index) -> None:
        """Compute the missing rows of ``members`` (at most ``capacity``) in one call."""
        missing, free = self.reserve(members)
        if len(missing):
            self.compute(missing, self.buffer, free)
            self.assign(missing, free)

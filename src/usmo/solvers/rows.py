"""A cache of kernel rows with a byte budget, least recently used row out first.

The compiled loops read rows straight from ``buffer[slot[member]]``; when a row they need is missing they
return and the Python side calls ``fetch``. So any kernel, callable ones too, serves the same compiled code.
"""

from __future__ import annotations

import numpy as np

from usmo.kernels import KernelMatrix
from usmo.problem import Index


class RowCache:
    """Rows K[members[i], columns], at most ``budget`` bytes of them (but never fewer than four)."""

    def __init__(self, kernel: KernelMatrix, members: Index, columns: Index, budget: float) -> None:
        self.kernel, self.members, self.columns = kernel, members, columns
        slots = int(min(len(members), max(4, budget // (8 * max(1, len(columns))))))
        # Pages of an empty array take memory only once they are written.
        self.buffer = np.empty((slots, len(columns)))
        self.slot = np.full(len(members), -1, dtype=np.int64)
        self.stamp = np.zeros(slots, dtype=np.int64)
        self.clock = np.zeros(1, dtype=np.int64)
        self._owner = np.full(slots, -1, dtype=np.int64)
        self._used = 0

    def fetch(self, member: int) -> None:
        """Compute the row of ``member`` into the free or least recently used slot."""
        if self._used < len(self.stamp):
            slot = self._used
            self._used += 1
        else:
            slot = int(np.argmin(self.stamp))
            self.slot[self._owner[slot]] = -1
        self.buffer[slot] = self.kernel.rows(self.members[member : member + 1], self.columns)[0]
        self._owner[slot] = member
        self.slot[member] = slot
        self.clock[0] += 1
        self.stamp[slot] = self.clock[0]

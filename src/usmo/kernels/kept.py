"""Sums over kernel rows that are still in memory, with the bounds of :mod:`usmo.kernels.bounded`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.kernels.bounded import Bounded, ErrorBound
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.tiles import add_rows

_WORTH_KEEPING = 60
"""Columns of a table from which kernel rows are kept for the certificate. To keep and read 2,048 rows of 20,000 values
takes 30 to 50 ms, to compute them again 22 ms at 9 columns, 43 at 63, 68 at 123 and 315 at 703
(``python -m benchmarks.blocks kept``)."""


class KeptRows(NamedTuple):
    """Float32 rows of a Gaussian kernel matrix: that of row i is ``values[slot[i]]``, or is not there if slot[i] < 0.

    ``matrix`` is the matrix that they are rows of, made by :func:`usmo.kernels.matrix.prepared`.
    """

    matrix: KernelMatrix
    values: Array
    slot: Index

    @property
    def saves_time(self) -> bool:
        """Whether a kernel row is read in less time than it is computed."""
        return bool(self.matrix.X.shape[1] >= _WORTH_KEEPING)

    def missing(self, members: Index) -> int:
        """How many of these rows are not kept."""
        return int(np.count_nonzero(self.slot[members] < 0))

    def sums(self, members: Index, alpha: Array) -> Bounded:
        """K[:, members] @ α for all rows, with bounds on its error. Rows that are not kept are computed."""
        bound = ErrorBound(self.matrix.squared_norms_at(members), alpha, self.matrix.X.shape[1])
        kept = self.slot[members] >= 0
        lines = np.zeros((2, len(self.matrix)))
        add_rows(lines, self.values, self.slot[members[kept]], np.ascontiguousarray(bound.columns[kept].T))
        total = lines.T
        if not kept.all():
            everything = np.arange(len(self.matrix))
            total += self.matrix.product(everything, members[~kept], bound.columns[~kept])
        return bound.of(total, self.matrix.squared_norms_at(slice(None)))

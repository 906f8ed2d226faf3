"""Types of arrays, and accurate sums."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

_EXACT = 10_000
"""Terms up to which sums are exact (``math.fsum``). Above, extended precision is faster and enough."""


def union_of_rows(*parts: Index) -> Index:
    """The row numbers that are in at least one part, ascending. NumPy's union1d takes a hundred times as long."""
    used = np.zeros(max((int(part.max(initial=-1)) for part in parts), default=-1) + 1, dtype=bool)
    for part in parts:
        used[part] = True
    return np.flatnonzero(used)


def exact_sum(x: Array) -> float:
    """Σx: exact up to ``_EXACT`` terms, in extended precision above."""
    return math.fsum(x) if len(x) <= _EXACT else float(np.sum(x, dtype=np.longdouble))


def exact_difference(x: Array, y: Array) -> np.longdouble:
    """Σx - Σy: exact up to ``_EXACT`` terms, in extended precision above. Shards merge by sum."""
    if len(x) + len(y) <= _EXACT:
        return np.longdouble(math.fsum(np.concatenate([x, -y])))
    return np.sum(x, dtype=np.longdouble) - np.sum(y, dtype=np.longdouble)

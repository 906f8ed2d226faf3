"""Types of arrays, and sums that are exact to rounding."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_EXACT = 10_000
"""Terms up to which sums are exact (``math.fsum``); above, they are made in extended precision, which is faster."""


def exact_sum(x: Array) -> float:
    """Σx with one rounding at the end."""
    return math.fsum(x) if len(x) <= _EXACT else float(np.sum(x, dtype=np.longdouble))

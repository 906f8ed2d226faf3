"""Which rows of a large problem still matter: those that violate optimality, and those nearest a kink.

With up and dn the slopes for raising and lowering σ, a row is optimal at β if dn ≤ β ≤ up. Its margin is the distance
of β from the nearer end: negative for a violating row, 0 for a row between two bounds with the right f, and for a row
at a bound the distance of f from the kink where σ would begin to move. With β in the middle between min up and max dn
the two rows that violate most have the same margin, the smallest of all.
"""

from __future__ import annotations

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.core.dual import DualPoint

_SHARE = 3
"""Rows of a narrowed problem over its active rows: moving these makes some of their neighbours violate optimality."""

_LEAST, _MOST = 4096, 4
"""At least so many rows are taken, and at most n divided by this."""


def margins(point: DualPoint, G: Array) -> Array:
    """The margin of every row."""
    up, dn = point.slopes(G)
    beta = 0.5 * float(up.min() + dn.max())
    return np.minimum(up - beta, beta - dn)


def rows_that_matter(margin: Array, tau: float) -> Index:
    """The rows of the narrowed problem for violations of τ, ascending."""
    n = len(margin)
    count = min(max(_SHARE * active(margin, tau), _LEAST), n // _MOST)
    return np.sort(np.argpartition(margin, count)[:count])


def active(margin: Array, tau: float) -> int:
    """How many rows violate optimality, lie between bounds, or are within τ/2 of a kink."""
    return int(np.count_nonzero(margin < 0.5 * tau))

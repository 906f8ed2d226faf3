"""The weight of numbers and categories beside text and vectors, so that neither drowns the other.

The text of a row has length 1, but two texts share few words: along any one direction they spread by about 0.1.
One standardised number spreads by 1 along its only direction, and would decide alone. All columns that are neither text
nor vectors are therefore scaled together: their largest spread along a direction becomes that of the text and the
vectors, as in multiple factor analysis (Escofier and Pagès 1994). Blocks whose rows have the same mean squared length
would not do: a single number would still spread more along its direction than any topic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_STEPS = 30
"""Steps of the power method: the weight is then known to some percent, and needs no more."""


def weight_beside(documents: Any, others: Any) -> float:
    """The factor of the other columns; 1 if one of the two blocks is constant."""
    wide, narrow = largest_spread(documents), largest_spread(others)
    return wide / narrow if wide > 0 and narrow > 0 else 1.0


def largest_spread(X: Any) -> float:
    """The largest standard deviation of the rows of a CSR matrix along a direction."""
    n = X.shape[0]
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    direction = np.random.default_rng(0).normal(size=X.shape[1])
    spread = 0.0
    for _ in range(_STEPS):
        length = np.linalg.norm(direction)
        if not length > 0:
            return 0.0
        direction /= length
        along = X @ direction - mean @ direction
        spread = float(np.linalg.norm(along) / np.sqrt(n))
        direction = X.T @ along - mean * along.sum()
    return spread if spread > 1e-9 else 0.0  # below is the rounding of a constant block

"""What weights of rows stand for.

Integer weights are numbers of equal rows. Other weights are a scale: only their ratios count, and rows of unequal
weight tell less than as many rows of equal weight.
"""

from __future__ import annotations

import numpy as np

from usmo.core.arrays import Array

MOST_COUNTED = 2.0**53
"""Largest sum of numbers of rows. Greater floats are all integers, and can only be a scale."""

_SMALLEST = 1e-300
"""Smallest positive weight after scaling, in units of the largest."""


def are_counts(weight: Array) -> bool:
    """Whether weights are numbers of equal rows."""
    return bool(np.all(weight == np.round(weight)) and float(np.sum(weight / MOST_COUNTED)) <= 1.0)


def scaled(weight: Array) -> Array:
    """Weights whose sums and squares do not overflow: those that are not numbers of rows are divided by the largest."""
    return weight if are_counts(weight) else shares_of(weight, float(weight.max()))


def shares_of(weight: Array, largest: float) -> Array:
    """Weights divided by the largest; positive ones stay positive, however small they are."""
    share = weight / largest
    if share.min(initial=1.0, where=weight > 0.0) >= _SMALLEST:
        return share
    return np.where(weight > 0.0, np.maximum(share, _SMALLEST), 0.0)


def row_count(weight: Array) -> float:
    """The number of rows: the sum of weights that are numbers of rows, else the number of positive weights."""
    return float(weight.sum() if are_counts(weight) else np.count_nonzero(weight))


def effective_rows(weight: Array) -> float:
    """The number of rows of equal weight that tell as much: Kish's (Σw)²/Σw²."""
    share = weight / weight.max()  # squares of small weights would underflow
    return float(share.sum()) ** 2 / float(share @ share)


def effective_size(weight: Array, counts: bool) -> float:
    """The sum of numbers of rows; for other weights the effective number of rows."""
    return float(weight.sum()) if counts or not weight.any() else effective_rows(weight)


def masses(weight: Array, propensity: Array | None = None) -> Array:
    """Weights that sum to the size of the sample (:func:`effective_size`), divided by propensities if there are any."""
    counts, share = are_counts(weight), weight / weight.max()
    if propensity is None:
        size = effective_size(weight if counts else share, counts)
    else:  # rows of unequal propensity tell less; a number of rows stands for as many of the same propensity
        single = share / propensity
        size = float(single.sum()) ** 2 / float(single @ (1.0 / propensity if counts else single))
        share, size = single, size * float(weight.max()) if counts else size
    return share * (size / share.sum())

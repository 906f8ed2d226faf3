"""What weights of rows stand for.

Integer weights are numbers of equal rows. Other weights are a scale: only their ratios count, and rows of unequal
weight tell less than as many rows of equal weight.
"""

from __future__ import annotations

import numpy as np

from usmo.core.arrays import Array

_LARGEST = 2.0**53
"""Largest sum of numbers of rows. Greater floats are all integers, and can only be a scale."""

_SMALLEST = 1e-300
"""Smallest positive weight after scaling."""


def are_counts(weight: Array) -> bool:
    """Whether weights are numbers of equal rows."""
    return bool(np.all(weight == np.round(weight)) and float(np.sum(weight / _LARGEST)) <= 1.0)


def scaled(weight: Array) -> Array:
    """Weights whose sums and squares do not overflow: those that are not numbers of rows are divided by the largest.

    A smaller divisor keeps positive weights positive where the largest and the smallest are very far apart.
    """
    if are_counts(weight):
        return weight
    positive = weight[weight > 0.0]
    return weight / min(float(positive.max()), float(positive.min()) / _SMALLEST)


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

"""How good an order of review is, from the places of the positives in it.

``places`` are the places, from 1, at which the positives came up, ascending; ``n`` is the number of rows to review.
Rows whose label was known at the start count in neither.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.core.arrays import Array


def places_of(truth: Any) -> Array:
    """The places of the positives in an order, from the true labels along it."""
    return np.asarray(np.flatnonzero(np.asarray(truth, dtype=bool)) + 1, dtype=np.float64)


def rows_until(places: Array, recall: float) -> int:
    """The rows reviewed until this share of the positives is found."""
    return int(places[int(np.ceil(recall * len(places) - 1e-9)) - 1])


def work_saved(places: Array, n: int, recall: float = 0.95) -> float:
    """Work saved over random order at a recall: the share of rows not reviewed when it is reached, minus 1 - recall."""
    return 1.0 - rows_until(places, recall) / n - (1.0 - recall)


def recall_at(places: Array, n: int, share: float) -> float:
    """The share of the positives found when this share of the rows is reviewed."""
    return float(np.count_nonzero(places <= share * n + 1e-9) / len(places))


def average_time_to_discovery(places: Array, n: int) -> float:
    """The mean place of a positive, as a share of the rows."""
    return float(places.mean() / n)

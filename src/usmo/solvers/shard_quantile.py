"""A weighted quantile of numbers that lie in shards: by histograms, until the numbers of one cell are few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from usmo.core.arrays import Array
from usmo.core.shards import Partial, Shards

Levels = Callable[[Any], tuple[Array, Array]]
"""Called with a shard; returns numbers and their weights."""

_CELLS = 64
"""Cells of a histogram."""

_FEW = 10_000
"""Numbers of one cell that are gathered."""

_HISTOGRAMS = 12
"""Most histograms: each makes the cell 64 times narrower."""


class Quantile(NamedTuple):
    """The smallest number at which the cumulated weight reaches a target."""

    value: float
    below: float
    """The weight of the numbers below it."""
    at: float
    """Its own weight."""


def quantile(
    shards: Shards, levels: Levels, target: float, guess: float = 0.0, rounding: float = 0.0
) -> Quantile | None:
    """The quantile at ``target``, or the largest number if all weigh less; None if there are no numbers.

    The first histogram is fine near ``guess``. Equal numbers are merged before they are sent.
    """
    widths = 2.0 ** np.arange(-12, 64, 4)
    points, low, high, below = np.concatenate([guess - widths[::-1], guess + widths]), -np.inf, np.inf, 0.0
    for _ in range(_HISTOGRAMS):
        part = shards.merge(_histogram, levels, points, low, high)
        masses, counts = part.sums
        if not counts.any():
            return None
        sums = below + np.cumsum(masses)
        filled = np.flatnonzero(counts)
        cell = int(filled[min(int(np.searchsorted(sums[filled], target - rounding)), len(filled) - 1)])
        edges = [max(low, -part.maxima[0]), *points, min(high, np.nextafter(part.maxima[1], np.inf))]
        below = float(sums[cell] - masses[cell])
        low, high = float(edges[cell]), float(edges[cell + 1])
        points = np.linspace(low, high, _CELLS + 1)[1:-1]
        if counts[cell] <= _FEW or not (low < points[0] and points[-1] < high):
            break
    found = shards.gather(_numbers, levels, low, high)
    numbers, masses = _merged(*(np.concatenate([part[k] for part in found]) for k in range(2)))
    k = min(int(np.searchsorted(below + np.cumsum(masses), target - rounding)), len(numbers) - 1)
    return Quantile(float(numbers[k]), below + float(masses[:k].sum()), float(masses[k]))


def next_above(shards: Shards, levels: Levels, value: float) -> float:
    """The smallest number above ``value``, infinity if there is none."""
    return -shards.merge(_nearest_above, levels, value).maxima[0]


def _histogram(shard: Any, levels: Levels, points: Array, low: float, high: float) -> Partial:
    """Weight and number of the levels of [low, high) in each cell between the points; the smallest and the largest."""
    numbers, weights = levels(shard)
    inside = (numbers >= low) & (numbers < high)
    numbers, weights = numbers[inside], weights[inside]
    cells = np.searchsorted(points, numbers, side="right")
    masses = np.bincount(cells, weights, len(points) + 1)
    counts = np.bincount(cells, minlength=len(points) + 1)
    return Partial((masses, counts), (-float(numbers.min(initial=np.inf)), float(numbers.max(initial=-np.inf))))


def _numbers(shard: Any, levels: Levels, low: float, high: float) -> tuple[Array, Array]:
    numbers, weights = levels(shard)
    inside = (numbers >= low) & (numbers < high)
    return _merged(numbers[inside], weights[inside])


def _merged(numbers: Array, weights: Array) -> tuple[Array, Array]:
    """Each number once, ascending, with the sum of its weights."""
    unique, place = np.unique(numbers, return_inverse=True)
    return unique, np.bincount(place, weights, len(unique)).astype(np.float64)


def _nearest_above(shard: Any, levels: Levels, value: float) -> Partial:
    numbers, _ = levels(shard)
    return Partial((), (-float(numbers[numbers > value].min(initial=np.inf)),))

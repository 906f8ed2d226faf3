"""The decision threshold: the value of f above which the share π of the unlabelled rows lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usmo.core.arrays import Array
from usmo.core.shards import Partial, Shards
from usmo.metrics import prior_threshold

_SORTED = 200_000
"""Decision values up to which all are sorted."""

_AROUND = 0.01
"""With more values, sort only those within this share of the rows on either side of the quantile, estimated from a
sample."""

EQUAL_WITHIN = 4.0
"""Values that differ by no more than this multiple of the precision count as equal."""

_MARGIN = 1e-6
"""Relative distance of the threshold from the extreme values if all rows fall on one side."""


@dataclass
class ValueShard:
    """Decision values of some unlabelled rows, and their weights."""

    f: Array
    weight: Array


def threshold_at_prior(shards: Shards, prior: float, precision: float) -> float:
    """The threshold above which the share ``prior`` lies; it does not depend on how rounding orders equal rows.

    The optimum puts many rows at exactly -1 or 1. The solver leaves them there up to its ``precision``, the violation
    of the optimality conditions. Rows within that precision of ±1 fall on the same side. ``shards`` have the attributes
    of :class:`ValueShard`. If there are many rows, only those near the quantile are gathered.
    """
    low, high, share = -np.inf, np.inf, prior
    _, mass, count = shards.merge(_masses, low, high).sums
    total = mass
    while count > _SORTED:
        sample = np.concatenate(shards.gather(_sample, low, high, -(-_SORTED // shards.size)))
        around = np.quantile(sample, np.clip([1.0 - _AROUND - share, 1.0 + _AROUND - share], 0.0, 1.0))
        ends = max(low, float(around[0]) - 8.0 * precision), min(high, float(around[1]) + 8.0 * precision)
        above, inside, fewer = shards.merge(_masses, *ends).sums
        missing = prior * total - above
        if not (0 < missing < inside and fewer < 0.5 * count):
            break
        (low, high), share, count = ends, float(missing / inside), fewer
    parts = shards.gather(_between, low, high, precision)
    f, weight = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    at = prior_threshold(f, share, sample_weight=weight)
    low, high = float(f.min()), float(f.max())
    margin = _MARGIN * (1.0 + max(abs(low), abs(high)))
    at = high + margin if at >= high else low - margin if at < low else at
    for edge in (-1.0, 1.0):
        if abs(at - edge) <= EQUAL_WITHIN * precision:  # beside the rows at the edge, not among them
            at = edge + float(np.copysign(EQUAL_WITHIN * precision + 1e-9, at - edge))
    return at


def value_range(shards: Shards) -> float:
    """max f - min f."""
    high, minus_low = shards.merge(_extremes).maxima
    return float(high + minus_low)


def _extremes(shard: ValueShard) -> Partial:
    return Partial((), (float(np.max(shard.f, initial=-np.inf)), float(np.max(-shard.f, initial=-np.inf))))


def _masses(shard: ValueShard, low: float, high: float) -> Partial:
    """Weight above ``high``, weight between the bounds, and number of rows between."""
    between = (shard.f >= low) & (shard.f <= high)
    above = float(shard.weight[shard.f > high].sum())
    return Partial((above, float(shard.weight[between].sum()), int(np.count_nonzero(between))))


def _sample(shard: ValueShard, low: float, high: float, most: int) -> Array:
    """About ``most`` of the values between the bounds: every k-th one."""
    between = shard.f[(shard.f >= low) & (shard.f <= high)]
    return between[:: max(1, len(between) // most)]


def _between(shard: ValueShard, low: float, high: float, precision: float) -> tuple[Array, Array]:
    """Values between the bounds, rounded, with their weights. If they are many, equal ones are merged."""
    between = (shard.f >= low) & (shard.f <= high)
    f, weight = np.round(shard.f[between], 9), shard.weight[between]
    for edge in (-1.0, 1.0):
        f = np.where(np.abs(f - edge) <= EQUAL_WITHIN * precision, edge, f)
    if len(f) > _SORTED:
        f, which = np.unique(f, return_inverse=True)
        weight = np.bincount(which, weights=weight).astype(np.float64)
    return f, weight

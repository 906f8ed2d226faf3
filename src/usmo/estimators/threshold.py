"""The decision threshold: the value of f above which the share π of the unlabelled rows lies.

Rows are called positive in the order of f as it was computed. Rows whose f agree to nine decimals are equal: they fall
on the same side, so that the share is the nearest to π that they allow, of two equally near ones the smaller.
"""

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

DECIMALS = 9
"""Values of f that agree to so many decimals are equal: rounding differs between blocks, machines and cores."""

_NOISE = 1e-8
"""Range of f up to which its differences are rounding, whatever the solver's precision."""

_MARGIN = 1e-6
"""Relative distance of the threshold from the extreme values if all rows fall on one side."""


@dataclass
class ValueShard:
    """Decision values of some unlabelled rows, and their weights."""

    f: Array
    weight: Array


def threshold_at_prior(shards: Shards, prior: float) -> float:
    """The threshold above which the share ``prior`` lies, or the nearest share that equal rows allow.

    It holds also where f hardly varies: strong regularisation leaves all rows near -1 or 1, and their small differences
    are what was learnt. ``shards`` have the attributes of :class:`ValueShard`. If there are many rows, only those near
    the quantile are gathered.
    """
    low, high, share = -np.inf, np.inf, prior
    least, greatest = extremes(shards)
    margin = _MARGIN * (1.0 + max(abs(least), abs(greatest)))
    if greatest - least <= _NOISE:  # nothing was learnt: all rows on one side
        return least - margin if prior > 0.5 else greatest + margin
    _, mass, count = shards.merge(_masses, low, high).sums
    total, room = mass, 2.0 * 10.0**-DECIMALS
    while count > _SORTED:
        sample = np.concatenate(shards.gather(_sample, low, high, -(-_SORTED // shards.size)))
        around = np.quantile(sample, np.clip([1.0 - _AROUND - share, 1.0 + _AROUND - share], 0.0, 1.0))
        ends = max(low, float(around[0]) - room), min(high, float(around[1]) + room)
        above, inside, fewer = shards.merge(_masses, *ends).sums
        missing = prior * total - above
        if not (0 < missing < inside and fewer < 0.5 * count):
            break
        (low, high), share, count = ends, float(missing / inside), fewer
    parts = shards.gather(_between, low, high)
    f, weight = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    at = prior_threshold(f, share, sample_weight=weight)
    low, high = float(f.min()), float(f.max())
    return high + margin if at >= high else low - margin if at < low else at


def share_above(shards: Shards, at: float) -> tuple[float, float]:
    """The share of the weight above a threshold, and the largest share of a single row."""
    (above, below), (largest,) = shards.merge(_sides, at)
    return above / (above + below), largest / (above + below)


def extremes(shards: Shards) -> tuple[float, float]:
    """The smallest and the largest f."""
    high, minus_low = shards.merge(_extremes).maxima
    return -float(minus_low), float(high)


def _extremes(shard: ValueShard) -> Partial:
    return Partial((), (float(np.max(shard.f, initial=-np.inf)), float(np.max(-shard.f, initial=-np.inf))))


def _sides(shard: ValueShard, at: float) -> Partial:
    """Weight above a threshold and below, and the largest weight."""
    above = float(shard.weight[shard.f > at].sum())
    total = float(shard.weight.sum())
    return Partial((above, total - above), (float(np.max(shard.weight, initial=0.0)),))


def _masses(shard: ValueShard, low: float, high: float) -> Partial:
    """Weight above ``high``, weight between the bounds, and number of rows between."""
    between = (shard.f >= low) & (shard.f <= high)
    above = float(shard.weight[shard.f > high].sum())
    return Partial((above, float(shard.weight[between].sum()), int(np.count_nonzero(between))))


def _sample(shard: ValueShard, low: float, high: float, most: int) -> Array:
    """About ``most`` of the values between the bounds: every k-th one."""
    between = shard.f[(shard.f >= low) & (shard.f <= high)]
    return between[:: max(1, len(between) // most)]


def _between(shard: ValueShard, low: float, high: float) -> tuple[Array, Array]:
    """Values between the bounds, rounded, with their weights. If they are many, equal ones are merged."""
    between = (shard.f >= low) & (shard.f <= high)
    f, weight = np.round(shard.f[between], DECIMALS), shard.weight[between]
    if len(f) > _SORTED:
        f, which = np.unique(f, return_inverse=True)
        weight = np.bincount(which, weights=weight).astype(np.float64)
    return f, weight

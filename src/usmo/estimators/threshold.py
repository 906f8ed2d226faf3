"""Where the decision changes: the value of f above which the share π of the unlabelled rows lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usmo.core.arrays import Array
from usmo.core.shards import Found, Team
from usmo.metrics import prior_threshold

_SORTED = 200_000
"""Decision values up to which all are sorted."""

_AROUND = 0.01
"""Of more, those are sorted that a sample of as many puts within this share of the quantile."""

TOGETHER = 4.0
"""Values that differ by no more than so many times the precision count as one."""


@dataclass
class Decisions:
    """A shard: decision values of unlabelled rows, and their weights."""

    f: Array
    weight: Array


def threshold_over(team: Team, prior: float, precision: float) -> float:
    """The threshold at the prior, which does not depend on how rounding orders rows of one value.

    The optimum puts many rows at exactly -1 or 1, where the solver leaves them up to its ``precision``, the
    violation of the optimality conditions; they stay together.
    ``team`` has shards of :class:`Decisions`; of many rows only those near the quantile come here.
    """
    low, high, share = -np.inf, np.inf, prior
    _, mass, count = team.total(_masses, low, high).sums
    total = mass
    while count > _SORTED:
        some = np.concatenate(team.gather(_some, low, high, -(-_SORTED // team.size)))
        around = np.quantile(some, np.clip([1.0 - _AROUND - share, 1.0 + _AROUND - share], 0.0, 1.0))
        ends = max(low, float(around[0]) - 8.0 * precision), min(high, float(around[1]) + 8.0 * precision)
        above, inside, fewer = team.total(_masses, *ends).sums
        missing = prior * total - above
        if not (0 < missing < inside and fewer < 0.5 * count):
            break
        (low, high), share, count = ends, float(missing / inside), fewer
    found = team.gather(_between, low, high, precision)
    f, weight = (np.concatenate([part[k] for part in found]) for k in (0, 1))
    at = prior_threshold(f, share, sample_weight=weight)
    low, high = float(f.min()), float(f.max())
    margin = 1e-6 * (1.0 + max(abs(low), abs(high)))
    at = high + margin if at >= high else low - margin if at < low else at
    for edge in (-1.0, 1.0):
        if abs(at - edge) <= TOGETHER * precision:  # beside the rows at the edge, not among them
            at = edge + float(np.copysign(TOGETHER * precision + 1e-9, at - edge))
    return at


def spread_over(team: Team) -> float:
    """By how much decision values differ."""
    high, minus_low = team.total(_ends).highs
    return float(high + minus_low)


def _ends(shard: Decisions) -> Found:
    return Found((), (float(np.max(shard.f, initial=-np.inf)), float(np.max(-shard.f, initial=-np.inf))))


def _masses(shard: Decisions, low: float, high: float) -> Found:
    """The weight above, the weight between, and the rows between."""
    between = (shard.f >= low) & (shard.f <= high)
    above = float(shard.weight[shard.f > high].sum())
    return Found((above, float(shard.weight[between].sum()), int(np.count_nonzero(between))))


def _some(shard: Decisions, low: float, high: float, most: int) -> Array:
    between = shard.f[(shard.f >= low) & (shard.f <= high)]
    return between[:: max(1, len(between) // most)]


def _between(shard: Decisions, low: float, high: float, precision: float) -> tuple[Array, Array]:
    """Values between, rounded, with their weights; equal ones of many as one."""
    between = (shard.f >= low) & (shard.f <= high)
    f, weight = np.round(shard.f[between], 9), shard.weight[between]
    for edge in (-1.0, 1.0):
        f = np.where(np.abs(f - edge) <= TOGETHER * precision, edge, f)
    if len(f) > _SORTED:
        f, which = np.unique(f, return_inverse=True)
        weight = np.bincount(which, weights=weight).astype(np.float64)
    return f, weight

"""Σσ over shards: what each shard tells of its σ, and the share of a required total that it gets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from usmo.core.arrays import Array
from usmo.core.dual import SUM_ROUNDING
from usmo.core.shards import PerShard


class SigmaTotals(NamedTuple):
    """Σσ of a shard, the largest distance of a σ from 0, h and c, and Σ(c-σ)."""

    sigma: np.longdouble
    widest: float
    room: float

    @classmethod
    def of(cls, sigma: Array, c: Array) -> SigmaTotals:
        """Those of σ inside its box [0, c]."""
        widest = np.minimum(np.minimum(sigma, np.abs(sigma - 0.5 * c)), c - sigma).max(initial=0.0)
        return cls(np.sum(sigma, dtype=np.longdouble), float(widest), float((c - sigma).sum()))


def split_total(shards: list[SigmaTotals], total: float) -> PerShard:
    """Target Σσ of each shard; the targets sum to ``total``.

    A remainder below SUM_ROUNDING·total is ignored. A small one goes to the shard with the σ farthest from 0, h and c,
    a large one to the last shards.
    """
    sums, widest = [shard.sigma for shard in shards], [shard.widest for shard in shards]
    missing = np.longdouble(total) - sum(sums, start=np.longdouble(0))
    if abs(missing) <= SUM_ROUNDING * total:
        pass
    elif abs(missing) < 0.5 * max(widest):
        sums[int(np.argmax(widest))] += missing
    else:
        for k in reversed(range(len(sums))):
            capacity = shards[k].room if missing > 0 else float(sums[k])
            part = np.sign(missing) * min(abs(missing), capacity)
            sums[k] += part
            missing -= part
        sums[-1] += missing  # rounding
    return PerShard(float(value) for value in sums)

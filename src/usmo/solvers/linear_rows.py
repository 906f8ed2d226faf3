"""The rows of the linear solver as one object, whether they lie in one shard or in many."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from usmo.core.arrays import Array
from usmo.core.shards import Partial, PerShard, Shards, SubShards
from usmo.kernels.tables import rows_together
from usmo.solvers.interior_rows import InteriorRows
from usmo.solvers.linear_shards import LinearShard
from usmo.solvers.shard_totals import split_total


class LinearConditions(NamedTuple):
    """The optimality conditions over all rows."""

    slack: float
    concave: float
    nonbound: int
    missing: float
    """Σb - Σσ."""
    deviation: float
    """Standard deviation of f."""
    violation: float


class Chosen(NamedTuple):
    """The rows that the interior point solves: Φᵀσ, Σσ, Σc and their number."""

    phi_sigma: Array
    sigma: Any
    mass: float
    size: int


class Distances(NamedTuple):
    """A sample of the distances of f from a threshold, and how many rows each represents."""

    sample: Array
    counts: Array
    wrong: int
    """Rows that are non-bound or violate a condition by more than tol/2."""
    crossing: int
    """Rows that may still cross a threshold."""


class LinearRows:
    """Shards of :class:`LinearShard`."""

    def __init__(self, shards: Shards) -> None:
        self.shards = shards
        n, total, self.mass = shards.merge(LinearShard.totals).sums
        self.n, self.total = int(n), float(total)
        self.b_sum: Array = shards.merge(LinearShard.b_sum).sums[0]
        """Σb·x."""
        self.interior = InteriorRows(SubShards(shards, "interior"))

    def sample(self, size: int) -> tuple[Any, Array]:
        """Random rows and those with a large c, not centred, and bounds with which they represent all rows."""
        sizes = [part.sums[0] for part in self.shards.gather(LinearShard.totals)]
        ends = np.round(np.cumsum(sizes) * (size / self.n)).astype(int)
        seeds = PerShard(self.n + k for k in range(self.shards.size))
        parts = self.shards.gather(LinearShard.sample, PerShard(np.diff(ends, prepend=0).tolist()), seeds)
        return rows_together([X for X, _ in parts]), np.concatenate([c for _, c in parts])

    def threshold(self, w: Array, beta: float) -> tuple[LinearConditions, Array]:
        """Set σ by thresholds of f = x·w + β, whatever its sum; returns the conditions and Φᵀα."""
        merged = self.shards.merge(LinearShard.threshold, w, beta)
        return self._conditions(merged), merged.sums[-1]

    def measure_distances(self, tol: float, crossing: float, most: int) -> Distances:
        """Measure how far f is from a threshold on all rows; returns about ``most`` of the distances."""
        parts = self.shards.gather(LinearShard.measure_distances, tol, crossing, -(-most // self.shards.size))
        return Distances(
            sample=np.concatenate([part[0] for part in parts]),
            counts=np.concatenate([np.full(len(part[0]), part[1]) for part in parts]),
            wrong=sum(part[2] for part in parts),
            crossing=sum(part[3] for part in parts),
        )

    def near_totals(self, nearest: float) -> tuple[int, float, Any]:
        """Number, Σc and Σσ of the rows at most this far from a threshold."""
        count, mass, sigma = self.shards.merge(LinearShard.near_totals, nearest).sums
        return count, mass, sigma

    def choose(self, nearest: float) -> Chosen:
        """Choose these rows for the interior point."""
        return Chosen(*self.shards.merge(LinearShard.choose, nearest).sums)

    def make_candidates(self, w: Array, beta: float, near: float, cautious: bool) -> tuple[int, Array, Any]:
        """Make two candidates for σ; returns the number of free rows, Φᵀσ and Σσ of the vertex."""
        free, phi_sigma, sigma = self.shards.merge(LinearShard.make_candidates, w, beta, near, cautious).sums
        return free, phi_sigma, sigma

    def free_rows(self) -> tuple[Array, Array, PerShard]:
        """The free rows, a mask of those whose target is f = -1, and the slice of each shard."""
        parts = self.shards.gather(LinearShard.free_rows)
        ends = np.cumsum([0] + [len(below) for _, below in parts])
        places = PerShard(slice(first, last) for first, last in pairwise(ends))
        return np.concatenate([Z for Z, _ in parts]), np.concatenate([below for _, below in parts]), places

    def change_free(self, change: Array, places: PerShard) -> None:
        self.shards.gather(LinearShard.change_free, PerShard(change[place] for place in places))

    def free_products(self) -> Array:
        return self.shards.merge(LinearShard.free_products).sums[0]

    def shift_free(self, x: Array) -> None:
        self.shards.gather(LinearShard.shift_free, x)

    def repair(self, which: int, total: float) -> Array:
        """Make a candidate feasible with Σσ = ``total``; returns its Φᵀσ."""
        totals = split_total(self.shards.gather(LinearShard.clip, which), total)
        return self.shards.merge(LinearShard.repair, which, totals).sums[0]

    def judge(self, which: int, w: Array, beta: float, total: float) -> tuple[float, float]:
        """KKT violation and duality gap of a candidate, on the chosen rows."""
        merged = self.shards.merge(LinearShard.judge, which, w, beta)
        slack, sigma = merged.sums
        return max(0.0, sum(merged.maxima)), slack - beta * float(total - sigma)

    def accept(self, which: int, w: Array, beta: float) -> LinearConditions:
        """Take a candidate for σ and compute f on all rows."""
        return self._conditions(self.shards.merge(LinearShard.accept, which, w, beta))

    def keep_best(self) -> None:
        self.shards.gather(LinearShard.keep_best)

    def _conditions(self, merged: Partial) -> LinearConditions:
        slack, concave, nonbound, missing, f, squares, *_ = merged.sums
        deviation = float(np.sqrt(max(0.0, squares / self.n - (f / self.n) ** 2)))
        violation = max(0.0, sum(merged.maxima))
        return LinearConditions(slack, concave, int(nonbound), float(missing), deviation, violation)

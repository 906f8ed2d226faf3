"""The rows of the block solver, those with c > 0, as one object, whether they lie in one shard or in many.

The rows keep σ, G and the cached kernel rows. The solver sends them changes of σ and gets back blocks of the kernel
matrix and the state of the optimality conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.core.problem import Problem
from usmo.core.shards import LocalShards, PerShard, Shards, SubShards
from usmo.core.solution import EvaluatedPoint
from usmo.kernels.kept import KeptRows
from usmo.kernels.matrix import KernelMatrix, SourceRows, stacked
from usmo.solvers.block_shards import BlockShard, Conditions, merged_conditions
from usmo.solvers.row_cache import Slots

_PANELS_FROM = 4096
"""Rows from which a change of σ computes the kernel values between them once."""

_B_SHARE = 2.0
"""‖b‖² in units of max c·Σb up to which q has the float type of the kernel rows. That type suits the rounding of Kσ,
which adds up like √(max c·Σσ) (:func:`usmo.solvers.blocks.float_type`). The rounding of Kb adds up like ‖b‖."""


class BlockRows:
    """Shards of rows, and which kernel row is in which slot of their caches.

    ``only`` is the shard if there is one, in this process.

    λ and π enter only in ``begin``, so the problems of a path share one object and its cache; so do problems with other
    labels on the same rows (``take_problem``). ``entries`` counts kernel values computed; ``counted`` is its value when
    the last run ended.
    """

    only: BlockShard | None = None

    def __init__(
        self, shards: Shards, sizes: Sequence[int], dtype: Any, cache_size: float, entries: int, least: int
    ) -> None:
        """``sizes`` are the rows of each shard; all caches together have ``cache_size`` megabytes."""
        ends = np.cumsum(sizes)
        self.shards, self.n = shards, int(ends[-1])
        self.parts = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
        self.dtype, self.cache_size, self.least = np.dtype(dtype), cache_size, least
        row_bytes = self.n * self.dtype.itemsize
        self.slots = Slots(self.n, row_bytes, cache_size * 2**20, least=min(self.n, least))
        self.diag = np.ones(self.n)
        diagonals = shards.gather(BlockShard.allocate, self.slots.capacity, self.n)
        for part, diagonal in zip(self.parts, diagonals, strict=True):
            if diagonal is not None:
                self.diag[part] = diagonal
        self.entries, self.counted = entries, 0

    @classmethod
    def local(cls, problem: Problem, kernel: KernelMatrix, dtype: Any, cache_size: float, least: int) -> BlockRows:
        """All rows in one shard of this process."""
        matrix = kernel.restrict(problem.c_rows, dtype)
        places = np.minimum(np.searchsorted(problem.c_rows, problem.b_rows), problem.n - 1)
        inside = np.array_equal(problem.c_rows[places], problem.b_rows)
        if inside and float(problem.b @ problem.b) <= _B_SHARE * float(problem.c.max()) * problem.total:
            mean = matrix.product(np.arange(problem.n), places, problem.b / problem.total)
        else:
            mean = kernel.product(problem.c_rows, problem.b_rows, problem.b / problem.total)
        shard = BlockShard(matrix, mean, 0)
        rows = cls(LocalShards(shard), [problem.n], dtype, cache_size, problem.n * problem.p, least)
        rows.only = shard
        return rows

    def take_problem(self, problem: Problem, kernel: KernelMatrix) -> None:
        """Go over to another problem with the same ``c_rows``, whose b may differ. The cache stays."""
        self.mean = kernel.product(problem.c_rows, problem.b_rows, problem.b / problem.total)
        self.shards.gather(BlockShard.set_mean, self._split(self.mean))
        self.entries += problem.n * problem.p

    @cached_property
    def mean(self) -> Array:
        """q/Σb."""
        return np.concatenate(self.shards.gather(BlockShard.get_mean))

    @cached_property
    def prefers_products(self) -> bool:
        """Whether products with kernel rows cost less than computing those rows."""
        return all(self.shards.gather(BlockShard.prefers_products))

    def begin(self, problem: Problem, point: EvaluatedPoint | None) -> None:
        """Begin a run from a point with its G, or from σ = 0."""
        state = (None, None) if point is None else (self._split(point.sigma), self._split(point.G))
        self.shards.gather(BlockShard.begin, self._split(problem.c), problem.total, *state)

    def G(self) -> Array:
        """q - Kσ at the present σ."""
        return np.concatenate(self.shards.gather(BlockShard.get_G))

    def change(self, W: Index, change: Array, sigma: Array, *, cached: bool) -> None:
        """Set σ on W and update G. Kernel rows come from the cache, or are computed and not kept."""
        if cached:
            self._with_cached(BlockShard.change_cached, W, change, sigma)
        else:
            self.shards.gather(BlockShard.change_uncached, self._sources(W), W, change, sigma)

    @property
    def kept(self) -> KeptRows | None:
        """The kernel rows in the cache, if they are those of one process and of a Gaussian kernel in float32."""
        if self.only is None or self.only.matrix.kernel.name != "rbf" or self.dtype != np.float32:
            return None
        return KeptRows(self.only.matrix, self.only.cache, self.slots.slot)

    @property
    def reads_again(self) -> bool:
        """Whether the certificate takes less time if it reads kernel rows from the cache."""
        return self.kept is not None and self.kept.saves_time

    @property
    def holds(self) -> int:
        """How many kernel rows the cache holds within its size."""
        return min(self.n, int(self.cache_size * 2**20 // max(1, self.n * self.dtype.itemsize)))

    def has_panels(self, W: Index) -> bool:
        """Whether :meth:`change_in_panels` can be used and is worth it for these rows."""
        return self.only is not None and len(W) >= _PANELS_FROM and self.only.matrix.has_panels(len(W))

    def change_in_panels(self, W: Index, change: Array, sigma: Array, done: int) -> Iterator[int]:
        """Set σ on W and update G, a panel of W at a time; yields the panels done. σ is set at the end."""
        assert self.only is not None
        before = self.only.matrix.entries
        try:
            for panels in self.only.change_in_panels(W, change, done):
                self.entries += self.only.matrix.entries - before
                before = self.only.matrix.entries
                yield panels
        finally:
            self.only.set_sigma(W, sigma)

    def block(self, W: Index) -> tuple[Array, Array]:
        """K[W, W] in float64, and G[W]."""
        parts = self._with_cached(BlockShard.block, W)
        K = parts[0][0] if len(parts) == 1 else np.hstack([block for block, _ in parts])
        return K.astype(np.float64), np.concatenate([G for _, G in parts])

    def advance(self, W: Index, change: Array, sigma: Array, count: int) -> Conditions:
        """Set σ on W, whose kernel rows are cached, update G, and return the optimality conditions."""
        self.slots.reserve(W)  # marks them as used
        cached = self._split(self.slots.slot >= 0)
        parts = self.shards.gather(
            BlockShard.advance, W, self.slots.slot[W], change, sigma, cached, count
        )  # fmt: skip
        return merged_conditions(parts, count)

    def open_subsample(self, sample: Index) -> BlockRows:
        """Some of the rows as an object of its own, kept by the same shards."""
        sums = self.shards.gather(BlockShard.row_sums, sample, len(sample))
        centre = None if sums[0] is None else sum(sums) / len(sample)
        self.shards.gather(BlockShard.open_subsample, sample, centre)
        sizes = [int(np.diff(np.searchsorted(sample, [part.start, part.stop]))[0]) for part in self.parts]
        rows = BlockRows(SubShards(self.shards, "subsample"), sizes, self.dtype, self.cache_size, 0, self.least)
        rows.only = None if self.only is None else self.only.subsample
        return rows

    def close_subsample(self) -> None:
        self.shards.gather(BlockShard.close_subsample)

    def _split(self, values: Any) -> PerShard:
        return PerShard(values[part] for part in self.parts)

    def _with_cached(self, method: Callable[..., Any], W: Index, *args: Any) -> list[Any]:
        """Call a method that needs the kernel rows W in the cache; missing ones are computed first."""
        missing, free = self.slots.reserve(W)
        slots = self.slots.slot[W]
        slots[slots < 0] = free
        results = self.shards.gather(method, self._sources(missing), free, W, slots, *args)
        self.slots.assign(missing, free)
        return results

    def _sources(self, W: Index) -> SourceRows | None:
        """The rows of the table that kernel rows are computed from, gathered from all shards."""
        if len(W) == 0:
            return None
        self.entries += len(W) * self.n
        return stacked(self.shards.gather(BlockShard.rows_at, W))

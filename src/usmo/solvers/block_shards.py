"""One shard of the block solver: σ, G, q and columns of kernel rows for some consecutive rows with c > 0.

All shards cache the same kernel rows in the same slots. :class:`usmo.solvers.block_rows.BlockRows` decides which row
goes to which slot and calls the methods below on every shard. W are positions in U, ascending.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from usmo.core.arrays import Array, Index, Mask
from usmo.core.dual import DualPoint
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix, SourceRows, prepared, row_sums
from usmo.kernels.tiles import add_rows


class Candidates(NamedTuple):
    """Rows for the next block: those where raising σ gains most, and those where lowering it does."""

    raised: Index
    up: Array
    lowered: Index
    dn: Array

    @property
    def min_up(self) -> float:
        return float(self.up.min(initial=np.inf))

    @property
    def max_dn(self) -> float:
        return float(self.dn.max(initial=-np.inf))

    @property
    def violation(self) -> float:
        return self.max_dn - self.min_up


class Conditions(NamedTuple):
    """The optimality conditions at the present σ, and the rows that violate them most."""

    objective: float
    sides: float
    """Σ(±1 - G) over the non-bound rows."""
    nonbound: int
    candidates: Candidates
    cached: Candidates
    """Candidates among the rows whose kernel rows are in the cache."""

    @property
    def violation(self) -> float:
        return self.candidates.violation

    @property
    def beta(self) -> float:
        if self.nonbound:
            return self.sides / self.nonbound
        return 0.5 * (self.candidates.max_dn + self.candidates.min_up)


class BlockShard:
    """Some rows with c > 0, and their columns of the kernel matrix.

    ``mean`` is q/Σb on these rows, ``first`` the position of the first of them among all, ``subsample`` the shard of
    the subsample while the start is computed.
    """

    c: Array
    sigma: Array
    G: Array
    q: Array
    cache: Any

    def __init__(self, matrix: KernelMatrix, mean: Array, first: int) -> None:
        self.matrix, self.mean, self.first = matrix, mean, first
        self.subsample: BlockShard | None = None

    @classmethod
    def of_rows(
        cls, X: Any, kernel: Kernel, dtype: Any, n: int, centre: Array | None, first: int, P_rows: Any,
        b_share: Array,
    ) -> BlockShard:  # fmt: skip
        """The shard of the rows ``X``, out of ``n``.

        ``centre`` is the sum of :func:`usmo.kernels.matrix.row_sums` over all shards divided by n, or None.
        ``P_rows`` are the rows with b ≠ 0 and ``b_share`` is b/Σb.
        """
        mean = KernelMatrix(P_rows, kernel).cross_product(X, b_share)
        return cls(prepared(X, kernel, dtype, n, centre), mean, first)

    def allocate(self, slots: int, n: int) -> Array | None:
        """Allocate the cache for kernel rows over n rows. Returns k(x, x), or None if it is 1 for all rows."""
        size = len(self.matrix)
        if size < n and self.matrix.kernel.name == "precomputed":
            raise ValueError("a precomputed kernel needs its whole table in one shard")
        # memory of an empty array is used only once it is written
        self.cache = np.empty((slots, size), dtype=self.matrix.dtype)
        if self.matrix.kernel.name == "rbf":
            return None
        return self.matrix.diag(np.arange(size)).astype(np.float64) if size else np.empty(0)

    def begin(self, c: Array, total: float, sigma: Array | None, G: Array | None) -> None:
        """Begin a run for these bounds and Σb, from σ and G at it, or from σ = 0."""
        self.c, self.q = np.array(c), self.mean * total
        self.sigma = np.zeros(len(self.matrix)) if sigma is None else np.array(sigma)
        self.G = self.q.copy() if G is None else np.array(G)

    def get_G(self) -> Array:
        return self.G

    def get_mean(self) -> Array:
        return self.mean

    def set_mean(self, mean: Array) -> None:
        self.mean = np.array(mean)

    def prefers_products(self) -> bool:
        return self.matrix.prefers_products

    def rows_at(self, W: Index) -> SourceRows:
        """Those rows of W that are in this shard, as sources of kernel rows."""
        return self.matrix.rows_at(self._own(W)[1])

    def change_uncached(self, sources: SourceRows, W: Index, change: Array, sigma: Array) -> None:
        """Set σ on W and update G by kernel rows that are not kept."""
        self.G -= self.matrix.product_with(sources, np.array(change))
        self.set_sigma(W, sigma)

    def change_in_panels(self, W: Index, change: Array, done: int) -> Iterator[int]:
        """Update G for a change of σ on W, all of which are in this shard; yields the panels done so far.

        A kernel value between two rows of W is computed once. G is right again after the last panel; σ is not set.
        """
        others = np.setdiff1d(np.arange(len(self.matrix)), W, assume_unique=True)
        for inner, outer in self.matrix.product_panels(W, others, change, done):
            self.G[W] -= inner
            self.G[others] -= outer
            done += 1
            yield done

    def change_cached(
        self, sources: SourceRows | None, free: Index, W: Index, slots: Index, change: Array, sigma: Array
    ) -> None:
        """Set σ on W and update G by cached kernel rows, after computing those of the sources into free slots."""
        self._compute(sources, free)
        self._subtract(slots, change)
        self.set_sigma(W, sigma)

    def block(self, sources: SourceRows | None, free: Index, W: Index, slots: Index) -> tuple[Any, Array]:
        """The columns of K[W, W] and the part of G[W] that are in this shard."""
        self._compute(sources, free)
        _, places = self._own(W)
        return self.cache[slots[:, None], places[None, :]], self.G[places]

    def advance(self, W: Index, slots: Index, change: Array, sigma: Array, cached: Mask, count: int) -> Conditions:
        """Set σ on W, update G by cached kernel rows, and return the optimality conditions of this shard.

        ``cached`` marks rows of this shard whose kernel rows are in the cache. ``count`` rows are wanted for raising
        and as many for lowering.
        """
        self._subtract(slots, change)
        self.set_sigma(W, sigma)
        point = DualPoint(self.sigma, self.c)
        up, dn = point.slopes(self.G)
        inner = point.nonbound
        side = np.where(self.sigma[inner] < 0.5 * self.c[inner], -1.0, 1.0)
        up_cached, dn_cached = np.where(cached, up, np.inf), np.where(cached, dn, -np.inf)
        return Conditions(
            objective=float(-0.5 * (self.sigma @ (self.q + self.G))) - point.concave_part(),
            sides=float((side - self.G[inner]).sum()),
            nonbound=int(inner.sum()),
            candidates=_candidates(up, dn, count, self.first),
            cached=_candidates(up_cached, dn_cached, count if cached.any() else 0, self.first),
        )

    def row_sums(self, W: Index, n: int) -> Array | None:
        """Σx over the rows of W in this shard, or None if rows are not centred."""
        return row_sums(self.matrix.X[self._own(W)[1]], self.matrix.kernel, n)

    def open_subsample(self, W: Index, centre: Array | None) -> None:
        mine, places = self._own(W)
        matrix = self.matrix.restrict(places, self.matrix.dtype, len(W), centre)
        self.subsample = BlockShard(matrix, self.mean[places], mine.start)

    def close_subsample(self) -> None:
        self.subsample = None

    def _own(self, W: Index) -> tuple[slice, Index]:
        """The part of W that is in this shard, and its places in the shard."""
        low, high = np.searchsorted(W, [self.first, self.first + len(self.matrix)])
        return slice(low, high), W[low:high] - self.first

    def set_sigma(self, W: Index, sigma: Array) -> None:
        """Set σ on those rows of W that are in this shard."""
        mine, places = self._own(W)
        self.sigma[places] = sigma[mine]

    def _compute(self, sources: SourceRows | None, slots: Index) -> None:
        if sources is not None:
            self.matrix.write_rows(sources, self.cache, np.array(slots))

    def _subtract(self, slots: Index, change: Array) -> None:
        if len(self.G):
            # copies: see KernelMatrix on arrays from another process
            add_rows(self.G, self.cache, np.array(slots), -change)


def merged_conditions(parts: list[Conditions], count: int) -> Conditions:
    """The optimality conditions over all shards."""
    return Conditions(
        objective=sum(part.objective for part in parts),
        sides=sum(part.sides for part in parts),
        nonbound=sum(part.nonbound for part in parts),
        candidates=_merged_candidates([part.candidates for part in parts], count),
        cached=_merged_candidates([part.cached for part in parts], count),
    )


def _candidates(up: Array, dn: Array, count: int, first: int) -> Candidates:
    count = min(count, len(up))
    raised, lowered = _smallest(up, count), _smallest(-dn, count)
    return Candidates(raised + first, up[raised], lowered + first, dn[lowered])


def _merged_candidates(parts: list[Candidates], count: int) -> Candidates:
    raised, up, lowered, dn = (np.concatenate(column) for column in zip(*parts, strict=True))
    low, high = _smallest(up, count), _smallest(-dn, count)
    return Candidates(raised[low], up[low], lowered[high], dn[high])


def _smallest(x: Array, count: int) -> Index:
    """Positions of the ``count`` smallest values, in any order."""
    if count >= len(x) or count == 0:
        return np.arange(min(count, len(x)))
    return np.argpartition(x, count - 1)[:count]

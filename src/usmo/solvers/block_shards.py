"""The block solver's rows of U, a shard at a time: what is kept for them, and the work that is sent to them.

A shard has some consecutive rows of U. It keeps σ, G and q on them, and their columns of the kernel rows in the
cache. All shards have the same kernel rows in the same slots; which row is where only the driver knows
(:mod:`usmo.solvers.blocks`). The rows of the table that kernel rows are computed from it gathers from the shards
whose they are, and sends to all. W are positions in U, ascending.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.core.problem import PUProblem
from usmo.kernels.matrix import Given, Kernel, KernelMatrix, prepared, row_sums
from usmo.kernels.tiles import subtract_rows

_NONE = np.empty(0, dtype=np.intp)


class Ends(NamedTuple):
    """Rows from both ends of the violation: where raising σ gains most, and where lowering it does."""

    first: Index
    up: Array
    last: Index
    dn: Array

    @property
    def low(self) -> float:
        return float(self.up.min(initial=np.inf))

    @property
    def high(self) -> float:
        return float(self.dn.max(initial=-np.inf))


class Standing(NamedTuple):
    """Where the rows stand: their parts of the record, and which of them, and of those in the cache, come next."""

    objective: float
    sides: float
    """Σ(±1 - G) over the non-bound rows."""
    nonbound: int
    ends: Ends
    held: Ends

    @property
    def violation(self) -> float:
        return self.ends.high - self.ends.low

    @property
    def beta(self) -> float:
        return self.sides / self.nonbound if self.nonbound else 0.5 * (self.ends.high + self.ends.low)


class Columns:
    """One shard: its rows of U, and the columns of the kernel matrix that are theirs.

    ``mean`` is q/Σc1 on its rows, ``first`` the position of the first of them in U, ``below`` the shard of the
    subsample while one is solved.
    """

    part: PUProblem
    sigma: Array
    G: Array
    q: Array
    buffer: Any

    def __init__(self, matrix: KernelMatrix, mean: Array, first: int) -> None:
        self.matrix, self.mean, self.first = matrix, mean, first
        self.below: Columns | None = None

    def own(self, W: Index) -> tuple[slice, Index]:
        """Which of these rows are of the shard, and their places in it."""
        low, high = np.searchsorted(W, [self.first, self.first + len(self.matrix)])
        return slice(low, high), W[low:high] - self.first

    def put(self, W: Index, values: Array) -> None:
        mine, places = self.own(W)
        self.sigma[places] = values[mine]

    def write(self, given: Given | None, slots: Index) -> None:
        if given is not None:
            self.matrix.write_given(given, self.buffer, np.array(slots))

    def subtract(self, slots: Index, change: Array) -> None:
        if len(self.G):
            # copies, as what comes from another process may be read-only: see KernelMatrix
            subtract_rows(self.G, self.buffer, np.array(slots), np.array(change))


def columns_of(
    X_own: Any,
    kernel: Kernel,
    dtype: Any,
    n: int,
    centre: Array | None,
    first: int,
    P_rows: Any,
    c1_share: Array,
) -> Columns:
    """The shard of the unlabelled rows ``X_own``, some of ``n``, from tables as they are.

    ``centre`` is Σ :func:`usmo.kernels.matrix.row_sums` over all shards, divided by n, or None where these are;
    ``P_rows`` are the labelled rows, and ``c1_share`` is c1/Σc1.
    """
    mean = KernelMatrix(P_rows, kernel).cross_product(X_own, c1_share)
    return Columns(prepared(X_own, kernel, dtype, n, centre), mean, first)


def reserve(shard: Columns, slots: int, everyone: int) -> Array | None:
    """Make room for kernel rows over ``everyone``; k(x, x) of the rows of the shard, None where all are one."""
    n = len(shard.matrix)
    if n < everyone and shard.matrix.kernel.name == "precomputed":
        raise ValueError("a precomputed kernel has no rows to hand out: it needs all of its table in one place")
    # pages of an empty array take memory only once they are written
    shard.buffer = np.empty((slots, n), dtype=shard.matrix.dtype)
    if shard.matrix.kernel.name == "rbf":
        return None
    return shard.matrix.diag(np.arange(n)).astype(np.float64) if n else np.empty(0)


def begin(shard: Columns, c2: Array, total: float, sigma: Array | None, G: Array | None) -> None:
    """A run begins, for this c2 and Σc1: from σ and the G at it, or from σ = 0."""
    n = len(shard.matrix)
    shard.part = PUProblem(_NONE, np.arange(n), np.empty(0), np.array(c2))
    shard.q = shard.mean * total
    shard.sigma = np.zeros(n) if sigma is None else np.array(sigma)
    shard.G = shard.q.copy() if G is None else np.array(G)


def rows_of(shard: Columns, W: Index) -> Given:
    """Those of the rows that are the shard's, for kernel rows of them."""
    return shard.matrix.given(shard.own(W)[1])


def G_of(shard: Columns) -> Array:
    return shard.G


def mean_of(shard: Columns) -> Array:
    return shard.mean


def pass_by(shard: Columns, given: Given, W: Index, change: Array, values: Array) -> None:
    """Set σ on W, and G to match, by kernel rows that are used up as they are computed."""
    shard.G -= shard.matrix.product_with(given, np.array(change))
    shard.put(W, values)


def update(
    shard: Columns, given: Given | None, free: Index, W: Index, slots: Index, change: Array, values: Array
) -> None:
    """Set σ on W, and G to match, by kernel rows from the cache; those given are computed into the free slots."""
    shard.write(given, free)
    shard.subtract(slots, change)
    shard.put(W, values)


def block_of(shard: Columns, given: Given | None, free: Index, W: Index, slots: Index) -> tuple[Any, Array]:
    """The shard's columns of K[W, W], and its part of G[W], with the rows given computed into the free slots."""
    shard.write(given, free)
    _, places = shard.own(W)
    return shard.buffer[slots[:, None], places[None, :]], shard.G[places]


def advance(
    shard: Columns, W: Index, slots: Index, change: Array, values: Array, held: Any, half: int
) -> Standing:
    """Set σ on W, and G to match, by kernel rows in the cache, and tell where the shard's rows then stand.

    ``held`` marks those of the shard's rows whose kernel rows are in the cache; ``half`` rows are wanted from
    either end of the violation.
    """
    shard.subtract(slots, change)
    shard.put(W, values)
    part, sigma, G = shard.part, shard.sigma, shard.G
    up, dn = part.slopes(sigma, G)
    inner = part.nonbound(sigma)
    side = np.where(sigma[inner] < 0.5 * part.c2[inner], -1.0, 1.0)
    return Standing(
        objective=part.dual_objective(sigma, shard.q, G),
        sides=float((side - G[inner]).sum()),
        nonbound=int(inner.sum()),
        ends=_ends(up, dn, half, shard.first),
        held=_ends(
            np.where(held, up, np.inf), np.where(held, dn, -np.inf), half if held.any() else 0, shard.first
        ),
    )


def together(parts: list[Standing], half: int) -> Standing:
    """Where all rows stand."""
    return Standing(
        objective=sum(part.objective for part in parts),
        sides=sum(part.sides for part in parts),
        nonbound=sum(part.nonbound for part in parts),
        ends=_joined([part.ends for part in parts], half),
        held=_joined([part.held for part in parts], half),
    )


def row_sums_of(shard: Columns, W: Index, n: int) -> Array | None:
    """What the shard's part of the rows W adds to their centre, where they have one."""
    return row_sums(shard.matrix.X[shard.own(W)[1]], shard.matrix.kernel, n)


def descend(shard: Columns, W: Index, centre: Array | None) -> None:
    """Make the shard of the subsample W."""
    mine, places = shard.own(W)
    matrix = shard.matrix.restrict(places, shard.matrix.dtype, len(W), centre)
    shard.below = Columns(matrix, shard.mean[places], mine.start)


def ascend(shard: Columns) -> None:
    """The subsample is solved: drop what was kept for it."""
    shard.below = None


def _ends(up: Array, dn: Array, half: int, first: int) -> Ends:
    half = min(half, len(up))
    rising, falling = _smallest(up, half), _smallest(-dn, half)
    return Ends(rising + first, up[rising], falling + first, dn[falling])


def _joined(parts: list[Ends], half: int) -> Ends:
    first, up, last, dn = (np.concatenate(column) for column in zip(*parts, strict=True))
    rising, falling = _smallest(up, half), _smallest(-dn, half)
    return Ends(first[rising], up[rising], last[falling], dn[falling])


def _smallest(x: Array, count: int) -> Index:
    """Where the smallest are, in any order."""
    if count >= len(x) or count == 0:
        return np.arange(min(count, len(x)))
    return np.argpartition(x, count - 1)[:count]

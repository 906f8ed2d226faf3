"""The block solver: two-row steps inside blocks of kernel rows made by one matrix product.

    minimise  F(σ) = ½σᵀKσ - qᵀσ - Σ min(σ, c2-σ)     over 0 ≤ σ ≤ c2,  Σσ = Σc1,      G = q - Kσ = f - β
    until  max dn - min up ≤ τ  over all rows (τ-optimality, as in usmo.py)

Each round takes some hundred rows from both ends of the violation, computes the kernel rows that the cache has
not got in one product, steps on these rows alone until their own violation is a fraction of the outer one, and
updates G on all rows at once. Rows already in the cache come first: new ones are computed only when the cached
ones hold less than a share of the violation.

The start: a quarter of the rows is solved first (recursively), its decision function is extended to all rows, and
thresholding it at ±1 gives σ for most rows for good. The kernel rows computed are then the non-zero σ plus a tenth
of n. Measured on 8 problems of 10,000 rows (``python -m benchmarks.starts``), rows/n and time relative to this
start: this one 0.49 and 1; the paper's 0.50 and 1.4; thresholds of the kernel mean of P 0.52 and 1.4; uniform
1.01 and 3.6; a low-rank solution (300 Nyström features) 0.47 and 2.5. Only the rows nearest a threshold are
cached on the way; the others are summed up as they are computed.

There is no shrinking: fits take 4 to 18 rounds, and updating G on all rows in them is 1 to 8 % of their time
(``python -m benchmarks.blocks shares``).

The rows of U are in shards (:mod:`usmo.solvers.block_shards`): G, q and the kernel rows in the cache stay with them, a
round is three calls to them, and all steps are made here. Alone on a machine there is one shard.

Rows are float32 where their rounding is far below τ. The caller judges the result by G computed afresh in
float64 and, should it fall short, calls again with that G: what float32 then rounds is only the correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.core.problem import PUProblem
from usmo.core.shards import Each, Here, Inside, Team
from usmo.core.solution import PassRecord, Solution, Status
from usmo.kernels.matrix import Given, KernelMatrix, stacked
from usmo.solvers import block_shards as columns
from usmo.solvers import starts
from usmo.solvers.pair_steps import DONE, PAUSED, steps_on_set
from usmo.solvers.row_cache import Slots
from usmo.solvers.stopping import Limits, Progress, Save

BLOCK = 512
"""Rows per round. 256 takes 0.8 to 1.2 of the time and 1,024 0.7 to 1.3; rows/n grow by 0.01 to 0.03 with each
doubling (``python -m benchmarks.blocks shares``)."""

_INNER = 0.1
"""Steps on a block go to this share of the outer violation."""

_CACHED_FIRST = 0.3
"""Blocks are made of cached rows while these hold this share of the violation."""

_SUBSAMPLE, _SUBSAMPLE_FROM, _SUBSAMPLE_TOL = 4, 2000, 0.1
"""The start solves one row in four, down to this many rows, to this violation: f is then known to a tenth."""

_KEPT = 0.1
"""Share of the rows, those of the start whose f is nearest a threshold, that are kept in the cache; the others
hardly ever move again. Memory for a quarter costs more time than the rows it saves (0.01 to 0.03 n)."""

_PASSING = 2048
"""Rows per call that are used up as they are computed."""

_FLOAT32_SHARE = 0.25
"""Float32 rows are used where their rounding error in G is estimated below this share of τ."""

_STEPS_PER_ROW = 100

_PATIENCE = 300
"""Rounds without a smaller violation after which the fit is given up; whole fits take 4 to 18."""


@dataclass
class Workspace:
    """What does not depend on λ and π: the shards of U, and which kernel rows are in which slot of their cache."""

    team: Team
    """Of :class:`usmo.solvers.block_shards.Columns`."""
    parts: list[slice]
    """The positions of each shard."""
    slots: Slots
    diag: Array
    dtype: Any
    cache_size: float
    unbilled: int
    """Kernel entries computed for the mean, until a run takes them into its account."""

    @classmethod
    def of(cls, problem: PUProblem, kernel: KernelMatrix, dtype: Any, cache_size: float) -> Workspace:
        """All rows in one shard here."""
        mean = kernel.product(problem.unlabelled, problem.positives, problem.c1 / problem.total)
        shard = columns.Columns(kernel.restrict(problem.unlabelled, dtype), mean, 0)
        return cls.over(Here(shard), [problem.n], dtype, cache_size, problem.n * problem.p)

    @classmethod
    def over(cls, team: Team, sizes: Sequence[int], dtype: Any, cache_size: float, unbilled: int) -> Workspace:
        """A team of shards with so many rows each; the cache has its megabytes in all shards together."""
        ends = np.cumsum(sizes)
        n = int(ends[-1])
        parts = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
        slots = Slots(n, n * np.dtype(dtype).itemsize, cache_size * 2**20, least=min(n, BLOCK))
        diag = np.ones(n)
        for part, own in zip(parts, team.gather(columns.reserve, slots.capacity, n), strict=True):
            if own is not None:
                diag[part] = own
        return cls(team, parts, slots, diag, np.dtype(dtype), cache_size, unbilled)

    @cached_property
    def mean(self) -> Array:
        """q / Σc1."""
        return np.concatenate(self.team.gather(columns.mean_of))

    def split(self, values: Any) -> Each:
        """An array over U, to each shard its own."""
        return Each(values[part] for part in self.parts)

    def below(self, sample: Index) -> Workspace:
        """The workspace of some of the rows, kept by the same shards."""
        sums = self.team.gather(columns.row_sums_of, sample, len(sample))
        self.team.gather(columns.descend, sample, None if sums[0] is None else sum(sums) / len(sample))
        sizes = [int(np.diff(np.searchsorted(sample, [part.start, part.stop]))[0]) for part in self.parts]
        return self.over(Inside(self.team, "below"), sizes, self.dtype, self.cache_size, 0)


def precision(problem: PUProblem, kernel: KernelMatrix, tol: float) -> Any:
    """The float type of the kernel rows for this problem: see :func:`float_type`."""
    name, rows = kernel.kernel.name, problem.unlabelled
    largest = 0.0 if callable(name) else float(np.abs(kernel.diag(rows)).max())
    spread = kernel.spread(rows) if name == "rbf" else 0.0
    return float_type(name, largest, spread, float(problem.c2.max()), problem.total, tol)


def float_type(name: Any, largest: float, spread: float, c2_max: float, total: float, tol: float) -> Any:
    """float32 where the rounding of its kernel values stays far below the tolerance in G, else float64.

    Errors of the kernel values add up in G like √Σσ²·ε·κ with κ the size of what is rounded: the ``largest``
    k(x,x), and for rbf the distances γ‖x-y‖² too, whose ``spread`` is :meth:`KernelMatrix.spread`.
    """
    if callable(name):
        return np.float64
    scale = 1.0 + 4.0 * spread if name == "rbf" else largest
    error = float(np.finfo(np.float32).eps) * scale * np.sqrt(c2_max * total)
    return np.float32 if error <= _FLOAT32_SHARE * tol else np.float64


class _Run:
    """One run: σ over U as the shards have it too, where their rows stand, and the account."""

    standing: columns.Standing

    def __init__(
        self, problem: PUProblem, space: Workspace, limits: Limits, known: tuple[Array, Array] | None
    ) -> None:
        self.problem, self.space, self.limits = problem, space, limits
        self.entries, space.unbilled = space.unbilled, 0
        self.half = min(BLOCK // 2, problem.n)
        self.sigma = np.zeros(problem.n) if known is None else known[0].copy()
        state = (None, None) if known is None else (space.split(known[0]), space.split(known[1]))
        space.team.gather(columns.begin, space.split(problem.c2), problem.total, *state)
        self.rounds, self.steps = 0, 0

    @property
    def kernel_rows(self) -> float:
        return self.entries / self.problem.n

    def get_G(self) -> Array:
        """G = q - Kσ at the present σ, from the shards."""
        return np.concatenate(self.space.team.gather(columns.G_of))

    def move_to(self, target: Array, keep: Index | None = None) -> None:
        """Set σ, and G to match, in parts that the cache holds, as far as the time limit allows.

        ``keep`` marks the rows worth a place in the cache; the others are used up as they are computed.
        """
        rows = np.flatnonzero(target != self.sigma)
        held = self.space.slots.slot[rows] >= 0
        passing = np.zeros(len(rows), bool) if keep is None else ~(keep[rows] | held)
        step = min(BLOCK, self.space.slots.capacity)
        for group, size, update in (
            (rows[passing], _PASSING, self._pass_by),
            (rows[~passing], step, self._update),
        ):
            for k in range(0, len(group), size):
                part = group[k : k + size]
                update(part, target[part] - self.sigma[part], target[part])
                self.sigma[part] = target[part]
                self.limits.save(self.sigma, self.get_G, target)
                if self.limits.reached(self.rounds):
                    return

    def _pass_by(self, rows: Index, change: Array, values: Array) -> None:
        self.space.team.gather(columns.pass_by, self._given(rows), rows, change, values)

    def _update(self, rows: Index, change: Array, values: Array) -> None:
        self._with_rows(columns.update, rows, change, values)

    def _with_rows(self, work: Any, W: Index, *args: Any) -> list[Any]:
        """Send work that needs the kernel rows W in the cache, with the rows to compute the missing ones from."""
        cache = self.space.slots
        missing, free = cache.room(W)
        slots = cache.slot[W]
        slots[slots < 0] = free
        found = self.space.team.gather(work, self._given(missing), free, W, slots, *args)
        cache.settle(missing, free)
        return found

    def _given(self, rows: Index) -> Given | None:
        """The rows of the table that kernel rows are computed from, once and by all shards."""
        if len(rows) == 0:
            return None
        self.entries += len(rows) * self.problem.n
        return stacked(self.space.team.gather(columns.rows_of, rows))

    def advance(self, W: Index, change: Array) -> None:
        """Tell the shards how σ changed on W, whose kernel rows are in the cache, and see where they stand."""
        cache = self.space.slots
        held = self.space.split(cache.slot >= 0)
        found = self.space.team.gather(
            columns.advance, W, cache.slot[W], change, self.sigma[W], held, self.half
        )  # fmt: skip
        self.standing = columns.together(found, self.half)

    def choose(self, tau: float) -> Index:
        """Rows from both ends of the violation: cached ones while these still hold a share of it."""
        ends, held = self.standing.ends, self.standing.held
        if held.high - held.low > max(tau, _CACHED_FIRST * self.standing.violation):
            ends = held
        return np.union1d(
            ends.first[ends.up < ends.high - 0.5 * tau], ends.last[ends.dn > ends.low + 0.5 * tau]
        )  # fmt: skip

    def round(self, W: Index, tau: float) -> bool:
        """Solve the block of rows W; False if nothing moved."""
        found = self._with_rows(columns.block_of, W)
        K = (found[0][0] if len(found) == 1 else np.hstack([part for part, _ in found])).astype(np.float64)
        sigma, G = self.sigma[W], np.concatenate([part for _, part in found])
        everyone, stamp, clock = np.arange(len(W)), np.zeros(len(W), np.int64), np.zeros(1, np.int64)
        left = _STEPS_PER_ROW * len(W)
        goal = max(0.25 * tau, _INNER * self.standing.violation)
        code = PAUSED
        while code == PAUSED and left > 0:
            code, _, steps, _ = steps_on_set(
                sigma, G, self.problem.c2[W], self.space.diag[W], goal, left, K, everyone, everyone, stamp, clock
            )
            left -= steps
            self.steps += steps
        change = sigma - self.sigma[W]
        moved = change != 0.0
        self.sigma[W] = sigma
        self.space.slots.room(W[moved])  # used once more
        self.advance(W[moved], change[moved])
        self.rounds += 1
        return bool(moved.any()) or code == DONE

    def record(self, kind: str) -> PassRecord:
        return PassRecord(
            kind=kind,
            steps=self.steps,
            objective=self.standing.objective,
            violation=max(0.0, self.standing.violation),
            beta=self.standing.beta,
            nonbound=self.standing.nonbound,
            kernel_rows=self.kernel_rows,
            seconds=self.limits.seconds,
        )


def solve(
    problem: PUProblem,
    kernel: KernelMatrix | None,
    start: Array | None = None,
    *,
    known: tuple[Array, Array] | None = None,
    tol: float = 1e-3,
    max_iter: int = -1,
    max_time: float | None = None,
    cache_size: float = 1000.0,
    workspace: Workspace | None = None,
    progress: Progress | None = None,
    save: Save | None = None,
) -> Solution:
    """Solve by blocks from the feasible point ``start``, or from the solution of a subsample.

    Parameters
    ----------
    kernel : KernelMatrix or None
        The kernel matrix of the table; None with a workspace, which has all that is needed of it.
    known : pair of arrays, optional
        Some σ, feasible or not, and q - Kσ at it: only rows where it differs from ``start`` are then computed.
    tol : float
        τ: the KKT violation at which to stop.
    max_iter, max_time : int, float
        Limits on rounds and seconds; -1 and None for none.
    cache_size : float
        Megabytes for kernel rows; a workspace has its own.
    progress : callable, optional
        Called with the record of each round and the σ reached; returning True ends the fit.
    save : callable, optional
        Called with σ, what fetches G, and the point the solver is moving to; from these three the run can go on.
    workspace : Workspace, optional
        Rows and cache of an earlier run on the same unlabelled rows.

    References
    ----------
    T. Joachims. Making large-scale SVM learning practical. 1998 (decomposition by blocks).
    Z. Wen et al. ThunderSVM. JMLR, 2018 (blocks whose kernel rows are one product).
    R.-E. Fan, P.-H. Chen, C.-J. Lin. Working set selection using second order information. JMLR, 2005.
    """
    space = workspace
    if space is None:
        if kernel is None:
            raise ValueError("either a kernel matrix or a workspace is needed")
        space = Workspace.of(problem, kernel, precision(problem, kernel, tol), cache_size)
    limits = Limits(max_iter, max_time, progress, save, patience=_PATIENCE)
    run = _Run(problem, space, limits, known)
    if start is None:
        run.move_to(*_subsample_start(run))
    else:
        run.move_to(start)
    run.advance(np.empty(0, dtype=np.intp), np.empty(0))
    limits.report(run.record("start"), run.sigma)
    # half of the tolerance is left to the rounding of float32 rows
    tau = 0.5 * tol if space.dtype == np.float32 else tol
    tau = max(tau, problem.resolution(run.sigma, space.diag))
    status: Status | None = None
    while status is None:
        violation = run.standing.violation
        if violation <= tau:
            status = "optimal" if violation <= tol else "precision"
        else:
            status = limits.reached(run.rounds)
        if status is None:
            if not run.round(run.choose(tau), tau):
                status = "precision"
            limits.report(run.record("block"), run.sigma)
            limits.save(run.sigma, run.get_G, run.sigma)
    sigma, G = problem.repair(run.sigma), run.get_G()
    return Solution(
        sigma=sigma,
        beta=problem.bias(sigma, G),
        G=G,
        iterations=run.rounds,
        kernel_rows=run.kernel_rows,
        history=tuple(limits.history),
        status=status,
    )


def _subsample_start(run: _Run) -> tuple[Array, Index]:
    """σ by thresholds from the solution of a quarter of the rows; from the kernel mean where rows are few.

    With it, which rows lie near a threshold and will be wanted again.
    """
    problem = run.problem
    if problem.n > _SUBSAMPLE_FROM:
        sample = np.sort(np.random.default_rng(problem.n).permutation(problem.n)[: problem.n // _SUBSAMPLE])
        c2 = problem.c2[sample] * (problem.c2.sum() / problem.c2[sample].sum())
        small = PUProblem(problem.positives, problem.unlabelled[sample], problem.c1, c2)
        deadline = run.limits.deadline
        left = None if deadline is None else max(0.0, deadline - run.limits.began - run.limits.seconds)
        found = solve(small, None, tol=_SUBSAMPLE_TOL, max_time=left, workspace=run.space.below(sample))
        run.space.team.gather(columns.ascend)
        run.entries += round(found.kernel_rows * small.n)
        sigma = np.zeros(problem.n)
        sigma[sample] = found.sigma
        run.move_to(sigma)
    G = run.get_G()
    target = starts.from_scores(problem, G)
    low = G[target == 0.0].max(initial=-np.inf)
    high = G[target == problem.c2].min(initial=np.inf)
    distance = np.where(target > 0.0, np.minimum(np.abs(G - low), np.abs(G - high)), np.inf)
    kept = np.zeros(problem.n, bool)
    kept[np.argsort(distance)[: int(_KEPT * problem.n)]] = True
    return target, kept

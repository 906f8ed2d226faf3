"""The block solver: two-row steps inside blocks of kernel rows made by one matrix product.

    minimise  F(σ) = ½σᵀKσ - qᵀσ - Σ min(σ, c-σ)     over 0 ≤ σ ≤ c,  Σσ = Σb,      G = q - Kσ = f - β
    until  max dn - min up ≤ τ  over all rows (τ-optimality, as in usmo.py)

Each round takes some hundred rows from both ends of the violation and computes the missing kernel rows in one product.
It steps on these rows alone until their own violation is a fraction of the outer one, then updates G on all rows.
Cached rows come first: new kernel rows are computed only when the cached ones hold less than a share of the violation.

The start solves a sixth of the rows (recursively), extends the decision function to all rows, and thresholds it at
±1, which gives the final σ of most rows. The kernel rows computed are then those of the non-zero σ and a few more.
Only the rows nearest a threshold are cached on the way, unless the certificate can use the others. Measured on 8
problems of 10,000 rows (``python -m benchmarks.starts``):

    start                                     kernel rows / n    time relative to this start
    sixth of the rows (this one)              0.43               1
    the paper's                               0.50               1.2
    thresholds of the kernel mean of P        0.52               1.3
    uniform σ                                 1.01               2.8
    300 Nyström features                      0.46               2.4

Clusters of rows and Nyström features as starts of larger problems: ``python -m benchmarks.divided``.

There is no shrinking: fits take 4 to 18 rounds, and updating G on all rows in them is 1 to 8 % of their time
(``python -m benchmarks.blocks shares``).

G, q and the cached kernel rows belong to :class:`usmo.solvers.block_rows.BlockRows`, which may lie on a cluster. All
steps are made here.

Kernel rows are float32 where their rounding is far below τ. The caller certifies the result by G computed anew in
float64. If it falls short, the caller calls again with that G: float32 then rounds only the correction.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from usmo.core.arrays import Array, Index, Mask
from usmo.core.problem import Problem
from usmo.core.solution import EvaluatedPoint, PassRecord, Solution, Status
from usmo.kernels.matrix import KernelMatrix
from usmo.solvers import starts
from usmo.solvers.block_rows import BlockRows
from usmo.solvers.block_shards import Conditions
from usmo.solvers.narrowing import active, margins, rows_that_matter
from usmo.solvers.pair_steps import DONE, PAUSED, steps_on_set
from usmo.solvers.stopping import Limits, Progress, Save

BLOCK = 512
"""Rows per round. 256 takes 0.8 to 1.2 of the time and 1,024 0.7 to 1.3; rows/n grow by 0.01 to 0.03 with each
doubling (``python -m benchmarks.blocks shares``)."""

_INNER = 0.1
"""Steps on a block go to this share of the outer violation."""

_CACHED_FIRST = 0.3
"""Blocks are made of cached rows while these hold this share of the violation."""

_SUBSAMPLE_FROM, _SUBSAMPLE_TOL = 2000, 0.1
"""The start solves a sample of problems above this many rows, to this violation: that gives f to a tenth."""

_SAMPLE_SHARES = ((30_000, 6), (300_000, 8), (math.inf, 16))
"""Up to so many rows the sample is one row in so many. A smaller sample costs fewer kernel values to extend to all
rows, and more in the rounds after it: 50,000 poker hands take 0.95, 0.88, 0.91 and 0.99 n rows with 4, 8, 16 and 32,
20,000 rows of MNIST, adult and bank on average 0.355, 0.345, 0.349 and 0.357 n with 4, 6, 8 and 12."""

_KEPT = 0.1
"""Share of the rows that the start keeps in the cache: those whose f is nearest a threshold. The others hardly ever
move again. Caching a quarter costs more time than the rows it saves (0.01 to 0.03 n)."""

_READ_AGAIN = 0.8
"""Share of the cache that the start may fill where the certificate reads kernel rows again. If they fit, it keeps those
of all rows with σ > 0; the rest of the cache is for the rows that the rounds add."""

_NARROW_FROM, _NARROW_GOAL = 8192, 0.02
"""Rows from which a problem is narrowed, and the share of the violation to which the narrowed problem is solved."""

_PRODUCTS = 8
"""Number of products in which σ of all rows changes, for kernels that prefer products."""

_TIGHTER = 0.3
"""Share of the violation to which the rounds go on if the duality gap is too large."""

_TOGETHER = 2048
"""Kernel rows per call in which σ of many rows changes."""

_FLOAT32_SHARE = 0.2
"""Float32 rows are used where their rounding error in G is estimated below this share of τ. Errors were at most 2.7
times the estimate (MNIST, adult, bank, shuttle and poker hands)."""

_STEPS_PER_ROW = 100
"""Two-row steps per row of a block after which its round ends."""

_PATIENCE = 300
"""Rounds without a smaller violation after which the run ends. Whole fits take 4 to 18."""


def local_rows(problem: Problem, kernel: KernelMatrix, dtype: Any, cache_size: float) -> BlockRows:
    """The rows of a problem with c > 0 in one shard of this process, with a cache of so many megabytes."""
    return BlockRows.local(problem, kernel, dtype, cache_size, least=BLOCK)


def choose_float_type(problem: Problem, kernel: KernelMatrix, tol: float) -> Any:
    """The float type of the kernel rows for this problem: see :func:`float_type`."""
    return float_type(kernel, problem.c_rows, float(problem.c.max()), problem.total, tol)


def float_type(kernel: KernelMatrix, rows: Index, c_max: float, total: float, tol: float) -> Any:
    """float32 where the rounding of its kernel values stays far below the tolerance in G, else float64.

    It is measured on some of the rows. In Kσ means of errors add up like Σσ and deviations like √Σσ². If this is too
    hopeful, the certificate says so, and the solver goes on from its values.
    """
    if callable(kernel.kernel.name):
        return np.float64
    mean, deviation = kernel.float32_error(rows)
    error = mean * total + deviation * math.sqrt(c_max * total)
    return np.float32 if error <= _FLOAT32_SHARE * tol else np.float64


class _Run:
    """One run: the problem, its rows, σ, the optimality conditions and the record of the work."""

    conditions: Conditions

    def __init__(self, problem: Problem, rows: BlockRows, limits: Limits, point: EvaluatedPoint | None) -> None:
        self.problem, self.rows, self.limits = problem, rows, limits
        self.half = min(BLOCK // 2, problem.n)
        self.sigma = np.zeros(problem.n) if point is None else point.sigma.copy()
        rows.begin(problem, point)
        self.rounds, self.steps = 0, 0

    @property
    def kernel_rows(self) -> float:
        return (self.rows.entries - self.rows.counted) / self.problem.n

    def move_to(self, target: Array, keep: Mask | None = None, *, save: bool = True, panels: int = 0) -> None:
        """Set σ to the target, and G to match, as far as the time limit allows.

        ``keep`` marks the rows whose kernel rows are cached; the others are computed and not kept. Rows of kernels
        that prefer products are not cached before a round needs them. ``panels`` of the product are in G already.
        """
        moving = np.flatnonzero(target != self.sigma)
        present = self.rows.slots.slot[moving] >= 0
        if keep is None:
            cached = np.full(len(moving), len(moving) <= self.rows.slots.capacity)
        else:
            cached = keep[moving] | present
        uncached = _TOGETHER
        if self.rows.prefers_products:
            cached, uncached = present, max(_TOGETHER, self.problem.n // _PRODUCTS)
        if panels:
            cached[:] = False
        step = min(_TOGETHER, self.rows.slots.capacity)
        for group, size, is_cached in ((moving[cached], step, True), (moving[~cached], uncached, False)):
            if not is_cached and self.rows.has_panels(group):
                self._move_in_panels(group, target, panels, save)
                return
            for k in range(0, len(group), size):
                W = group[k : k + size]
                self.rows.change(W, target[W] - self.sigma[W], target[W], cached=is_cached)
                self.sigma[W] = target[W]
                if save:
                    self.limits.save(self.sigma, self.rows.G, target)
                if self.limits.reached(self.rounds):
                    return

    def _move_in_panels(self, W: Index, target: Array, done: int, save: bool) -> None:
        """Set σ to the target on W in one product. If the time ends before it, G is left behind σ."""
        for panels in self.rows.change_in_panels(W, target[W] - self.sigma[W], target[W], done):
            if save:
                self.limits.save(self.sigma, self.rows.G, target, panels)
            if self.limits.reached(self.rounds):
                break
        self.sigma[W] = target[W]

    def evaluate(self) -> None:
        """Compute the optimality conditions at the present σ."""
        self.conditions = self.rows.advance(np.empty(0, dtype=np.intp), np.empty(0), np.empty(0), self.half)

    def choose(self, tau: float) -> Index:
        """Rows from both ends of the violation: cached ones while these hold a share of it."""
        chosen = self.conditions.candidates
        cached = self.conditions.cached
        if cached.violation > max(tau, _CACHED_FIRST * self.conditions.violation):
            chosen = cached
        return np.union1d(
            chosen.raised[chosen.up < chosen.max_dn - 0.5 * tau], chosen.lowered[chosen.dn > chosen.min_up + 0.5 * tau]
        )  # fmt: skip

    def round(self, W: Index, tau: float) -> bool:
        """Solve the block of rows W, then update G on all rows. False if nothing moved."""
        K, G = self.rows.block(W)
        sigma = self.sigma[W]
        everyone, stamp, clock = np.arange(len(W)), np.zeros(len(W), np.int64), np.zeros(1, np.int64)
        left = _STEPS_PER_ROW * len(W)
        goal = max(0.25 * tau, _INNER * self.conditions.violation)
        code = PAUSED
        while code == PAUSED and left > 0:
            code, _, steps, _ = steps_on_set(
                sigma, G, self.problem.c[W], self.rows.diag[W], goal, left, K, everyone, everyone, stamp, clock
            )
            left -= steps
            self.steps += steps
        change = sigma - self.sigma[W]
        moved = change != 0.0
        self.sigma[W] = sigma
        self.conditions = self.rows.advance(W[moved], change[moved], sigma[moved], self.half)
        self.rounds += 1
        return bool(moved.any()) or code == DONE

    def margins(self) -> Array:
        return margins(self.problem.at(self.sigma), self.rows.G())

    def worth_narrowing(self, tau: float) -> bool:
        """Whether the rows that move are more than the cache holds, so that rounds would compute them many times."""
        if self.rows.only is None or self.problem.n < _NARROW_FROM or self.rows.holds == self.problem.n:
            return False
        return active(self.margins(), tau) > self.rows.holds or self.rows.holds < BLOCK

    def narrow(self, tau: float) -> bool:
        """Solve the problem of the rows that matter, with σ fixed on all others. False if nothing moved."""
        M = rows_that_matter(self.margins(), tau)
        sigma = self.sigma[M]
        scale = float(sigma.sum()) / self.problem.total
        small = Problem(self.problem.b_rows, self.problem.c_rows[M], scale * self.problem.b, self.problem.c[M])
        goal = max(0.5 * tau, _NARROW_GOAL * self.conditions.violation)
        solution = solve(
            small, self.rows.open_subsample(M), sigma, point=EvaluatedPoint(sigma, self.rows.G()[M]), tol=goal,
            max_time=self.limits.seconds_left,
        )  # fmt: skip
        self.rows.close_subsample()
        self.rows.entries += round(solution.kernel_rows * small.n)
        self.steps += solution.history[-1].steps
        target = self.sigma.copy()
        target[M] = solution.sigma
        moved = bool((target != self.sigma).any())
        self.move_to(target, np.zeros(self.problem.n, bool))
        self.evaluate()
        self.rounds += 1
        return moved

    def has_gap(self, share: float, b_part: float) -> bool:
        """Whether the duality gap, by the present G, exceeds this share of the primal objective."""
        gap = self.problem.gap(self.sigma, self.conditions.beta, self.rows.G())
        return gap > share * max(1.0, abs(gap - self.conditions.objective - b_part))

    def record(self, kind: str) -> PassRecord:
        return PassRecord(
            kind=kind,
            steps=self.steps,
            objective=self.conditions.objective,
            violation=max(0.0, self.conditions.violation),
            beta=self.conditions.beta,
            nonbound=self.conditions.nonbound,
            kernel_rows=self.kernel_rows,
            seconds=self.limits.seconds,
        )

    def result(self, status: Status) -> Solution:
        """The solution, feasible to rounding. The kernel rows computed are counted from here on for the next run."""
        sigma, G, kernel_rows = self.problem.repair(self.sigma), self.rows.G(), self.kernel_rows
        self.rows.counted = self.rows.entries
        return Solution(
            sigma=sigma,
            beta=self.problem.bias(sigma, G),
            G=G,
            iterations=self.rounds,
            kernel_rows=kernel_rows,
            history=tuple(self.limits.history),
            status=status,
        )


def solve(
    problem: Problem,
    rows: BlockRows,
    start: Array | None = None,
    *,
    point: EvaluatedPoint | None = None,
    tol: float = 1e-3,
    gap: tuple[float, float] | None = None,
    max_iter: int = -1,
    max_time: float | None = None,
    effort: int | None = None,
    progress: Progress | None = None,
    save: Save | None = None,
) -> Solution:
    """Solve by blocks from the feasible point ``start``, or from the solution of a subsample.

    Parameters
    ----------
    rows : BlockRows
        The rows with c > 0 and their cache; runs for other λ and π on the same rows share them.
    point : EvaluatedPoint, optional
        Some σ with its G. Only kernel rows of rows where it differs from ``start`` are computed.
    tol : float
        τ: the KKT violation at which to stop.
    gap : (float, float), optional
        The relative duality gap to reach as well, and ½bᵀKb, with which the dual objective is -F(σ) - ½bᵀKb.
    max_iter, max_time : int, float
        Limits on rounds and seconds; -1 and None for none.
    effort : int, optional
        Two-row steps after which the run ends with the status "precision".
    progress : callable, optional
        Called with the record of each round and the present σ. Returning True ends the fit.
    save : callable, optional
        Called with σ, a function that returns G, and the target of the solver. A run can go on from these three.

    References
    ----------
    T. Joachims. Making large-scale SVM learning practical. 1998 (decomposition by blocks).
    Z. Wen et al. ThunderSVM. JMLR, 2018 (blocks whose kernel rows are one product).
    R.-E. Fan, P.-H. Chen, C.-J. Lin. Working set selection using second order information. JMLR, 2005.
    """
    limits = Limits(max_iter, max_time, progress, save, _PATIENCE, effort)
    run = _Run(problem, rows, limits, point)
    # 1) start
    if start is None:
        run.move_to(*_subsample_start(run))
    else:
        run.move_to(start, panels=0 if point is None else point.panels)
    run.evaluate()
    limits.report(run.record("start"), run.sigma)
    # 2) rounds; half of the tolerance is left to the rounding of float32 kernel rows
    tau = 0.5 * tol if rows.dtype == np.float32 else tol
    least = problem.resolution(run.sigma, rows.diag)
    tau = max(tau, least)
    status: Status | None = None
    while status is None:
        violation = run.conditions.violation
        status = limits.reached(run.rounds)
        if violation <= tau:
            if gap is not None and tau > least and run.has_gap(*gap):
                tau = max(_TIGHTER * violation, least)
                continue
            status = "optimal" if violation <= tol else "precision"
        if status is None:
            narrow = run.worth_narrowing(tau)
            if not (run.narrow(tau) if narrow else run.round(run.choose(tau), tau)):
                status = "precision"
            limits.report(run.record("narrowed" if narrow else "block"), run.sigma)
            limits.save(run.sigma, rows.G, run.sigma)
    return run.result(status)


def _subsample_start(run: _Run) -> tuple[Array, Mask]:
    """σ by thresholds of the decision function of some of the rows, or of the kernel mean if rows are few.

    Also returns which rows lie near a threshold, so that their kernel rows are needed again.
    """
    problem = run.problem
    if problem.n > _SUBSAMPLE_FROM:
        share = next(share for most, share in _SAMPLE_SHARES if problem.n <= most)
        sample = np.sort(np.random.default_rng(problem.n).permutation(problem.n)[: problem.n // share])
        sample, c = starts.sample_bounds(problem.c, sample)
        small = Problem(problem.b_rows, problem.c_rows[sample], problem.b, c)
        rough = solve(small, run.rows.open_subsample(sample), tol=_SUBSAMPLE_TOL, max_time=run.limits.seconds_left)
        run.rows.close_subsample()
        run.rows.entries += round(rough.kernel_rows * small.n)
        sigma = np.zeros(problem.n)
        sigma[sample] = rough.sigma
        run.move_to(sigma, save=False)  # not a point of the whole problem: its bounds are smaller
    G = run.rows.G()
    target = starts.from_scores(problem, G)
    low = G[target == 0.0].max(initial=-np.inf)
    high = G[target == problem.c].min(initial=np.inf)
    distance = np.where(target > 0.0, np.minimum(np.abs(G - low), np.abs(G - high)), np.inf)
    count = min(int(_KEPT * problem.n), run.rows.holds)
    needed = int(np.count_nonzero(target))
    if run.rows.reads_again and needed <= _READ_AGAIN * run.rows.holds:
        count = needed
    kept = np.zeros(problem.n, bool)
    kept[np.argsort(distance)[:count]] = True
    return target, kept

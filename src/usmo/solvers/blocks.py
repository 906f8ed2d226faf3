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

Rows are float32 where their rounding is far below τ. The caller judges the result by G computed afresh in
float64 and, should it fall short, calls again with that G: what float32 then rounds is only the correction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from usmo import start as starts
from usmo.kernels import KernelMatrix
from usmo.problem import Array, Index, PUProblem
from usmo.solution import PassRecord, Solution, Status
from usmo.solvers.limits import Limits, Progress, Save
from usmo.solvers.rows import RowCache
from usmo.solvers.smo import DONE, PAUSED, steps_on_set
from usmo.tiles import subtract_rows

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
    """What does not depend on λ and π: the rows of U in one piece, the cache of their kernel rows, and q / Σc1."""

    matrix: KernelMatrix
    cache: RowCache
    diag: Array
    mean: Array
    unbilled: int
    """Kernel entries computed for ``mean``, until a run takes them into its account."""

    @classmethod
    def of(cls, problem: PUProblem, kernel: KernelMatrix, dtype: Any, cache_size: float) -> Workspace:
        mean = kernel.product(problem.unlabelled, problem.positives, problem.c1 / problem.total)
        matrix = kernel.restrict(problem.unlabelled, dtype)
        return cls._with(matrix, mean, problem.n * len(problem.positives), cache_size)

    def part(self, members: Index, cache_size: float) -> Workspace:
        """The workspace of some of the rows."""
        return self._with(self.matrix.restrict(members, self.matrix.dtype), self.mean[members], 0, cache_size)

    @classmethod
    def _with(cls, matrix: KernelMatrix, mean: Array, unbilled: int, cache_size: float) -> Workspace:
        n, dtype = len(matrix), matrix.dtype
        cache = RowCache(
            matrix.write_rows, n, n, cache_size * 2**20, least=min(n, BLOCK), dtype=dtype,
        )  # fmt: skip
        return cls(matrix, cache, matrix.diag(np.arange(n)).astype(np.float64), mean, unbilled)


def precision(problem: PUProblem, kernel: KernelMatrix, tol: float) -> Any:
    """float32 where the rounding of its kernel values stays far below the tolerance in G, else float64.

    Errors of the kernel values add up in G like √Σσ²·ε·κ with κ the size of what is rounded: the largest k(x,x),
    and for rbf the distances γ‖x-y‖² too.
    """
    if callable(kernel.kernel.name):
        return np.float64
    scale = float(np.abs(kernel.diag(problem.unlabelled)).max())
    if kernel.kernel.name == "rbf":
        scale = 1.0 + 4.0 * kernel.spread(problem.unlabelled)
    spread = np.sqrt(float(problem.c2.max()) * problem.total)
    error = float(np.finfo(np.float32).eps) * scale * spread
    return np.float32 if error <= _FLOAT32_SHARE * tol else np.float64


class _Run:
    """The state of one run: σ and G over U, and the account."""

    def __init__(self, problem: PUProblem, space: Workspace, limits: Limits) -> None:
        self.problem, self.space, self.limits = problem, space, limits
        self.first_entries = space.matrix.entries - space.unbilled
        space.unbilled = 0
        self.everyone = np.arange(problem.n)
        self.q = space.mean * problem.total
        self.sigma, self.G = np.zeros(problem.n), self.q.copy()
        self.rounds, self.steps, self.entries_below = 0, 0, 0.0

    @property
    def kernel_rows(self) -> float:
        return (self.space.matrix.entries - self.first_entries + self.entries_below) / self.problem.n

    def move_to(self, target: Array, keep: Index | None = None) -> None:
        """Set σ, and G to match, in parts that the cache holds, as far as the time limit allows.

        ``keep`` marks the rows worth a place in the cache; the others are used up as they are computed.
        """
        rows = np.flatnonzero(target != self.sigma)
        held = self.space.cache.slot[rows] >= 0
        passing = np.zeros(len(rows), bool) if keep is None else ~(keep[rows] | held)
        step = min(BLOCK, self.space.cache.capacity)
        for group, size, update in (
            (rows[passing], _PASSING, self._pass_by),
            (rows[~passing], step, self._update),
        ):
            for k in range(0, len(group), size):
                part = group[k : k + size]
                update(part, target[part] - self.sigma[part])
                self.sigma[part] = target[part]
                self.limits.save(self.sigma, self.G, target)
                if self.limits.reached(self.rounds):
                    return

    def _pass_by(self, rows: Index, change: Array) -> None:
        self.G -= self.space.matrix.product(self.everyone, rows, change)

    def _update(self, rows: Index, change: Array) -> None:
        cache = self.space.cache
        cache.fetch(rows)
        subtract_rows(self.G, cache.buffer, cache.slot[rows], change)

    def choose(self, up: Array, dn: Array, tau: float) -> Index:
        """Rows from both ends of the violation: cached ones while these still hold a share of it."""
        held = self.space.cache.slot >= 0
        if held.any() and dn[held].max() - up[held].min() > max(tau, _CACHED_FIRST * (dn.max() - up.min())):
            up, dn = np.where(held, up, np.inf), np.where(held, dn, -np.inf)
        half = min(BLOCK // 2, self.problem.n)
        first = np.argpartition(up, half - 1)[:half]
        last = np.argpartition(-dn, half - 1)[:half]
        low, high = up[first].min(), dn[last].max()
        return np.union1d(first[up[first] < high - 0.5 * tau], last[dn[last] > low + 0.5 * tau])

    def round(self, W: Index, violation: float, tau: float) -> bool:
        """Solve the block of rows W; False if nothing moved."""
        cache = self.space.cache
        cache.fetch(W)
        K = cache.buffer[cache.slot[W][:, None], W[None, :]].astype(np.float64)
        sigma, G = self.sigma[W], self.G[W]
        everyone, stamp, clock = np.arange(len(W)), np.zeros(len(W), np.int64), np.zeros(1, np.int64)
        left = _STEPS_PER_ROW * len(W)
        goal = max(0.25 * tau, _INNER * violation)
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
        self._update(W[moved], change[moved])
        self.rounds += 1
        return bool(moved.any()) or code == DONE

    def record(self, kind: str) -> PassRecord:
        return PassRecord(
            kind=kind,
            steps=self.steps,
            objective=self.problem.dual_objective(self.sigma, self.q, self.G),
            violation=self.problem.kkt_violation(self.sigma, self.G),
            beta=self.problem.bias(self.sigma, self.G),
            nonbound=int(self.problem.nonbound(self.sigma).sum()),
            kernel_rows=self.kernel_rows,
            seconds=self.limits.seconds,
        )


def solve(
    problem: PUProblem,
    kernel: KernelMatrix,
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
    known : pair of arrays, optional
        Some σ, feasible or not, and q - Kσ at it: only rows where it differs from ``start`` are then computed.
    tol : float
        τ: the KKT violation at which to stop.
    max_iter, max_time : int, float
        Limits on rounds and seconds; -1 and None for none.
    cache_size : float
        Megabytes for kernel rows.
    progress : callable, optional
        Called with the record of each round and the σ reached; returning True ends the fit.
    save : callable, optional
        Called with σ, G and the point the solver is moving to; from these three the run can go on.
    workspace : Workspace, optional
        Rows and cache of an earlier run on the same unlabelled rows.

    References
    ----------
    T. Joachims. Making large-scale SVM learning practical. 1998 (decomposition by blocks).
    Z. Wen et al. ThunderSVM. JMLR, 2018 (blocks whose kernel rows are one product).
    R.-E. Fan, P.-H. Chen, C.-J. Lin. Working set selection using second order information. JMLR, 2005.
    """
    space = workspace or Workspace.of(problem, kernel, precision(problem, kernel, tol), cache_size)
    limits = Limits(max_iter, max_time, progress, save, patience=_PATIENCE)
    run = _Run(problem, space, limits)
    if known is not None:
        run.sigma, run.G = known[0].copy(), known[1].copy()
    if start is None:
        start, near = _subsample_start(run, kernel, cache_size)
        run.move_to(start, near)
    else:
        run.move_to(start)
    limits.report(run.record("start"), run.sigma)
    # half of the tolerance is left to the rounding of float32 rows
    tau = 0.5 * tol if space.matrix.dtype == np.float32 else tol
    tau = max(tau, problem.resolution(run.sigma, space.diag))
    status: Status | None = None
    while status is None:
        up, dn = problem.slopes(run.sigma, run.G)
        violation = float(dn.max() - up.min())
        if violation <= tau:
            status = "optimal" if violation <= tol else "precision"
        else:
            status = limits.reached(run.rounds)
        if status is None:
            if not run.round(run.choose(up, dn, tau), violation, tau):
                status = "precision"
            limits.report(run.record("block"), run.sigma)
            limits.save(run.sigma, run.G, run.sigma)
    sigma = problem.repair(run.sigma)
    return Solution(
        sigma=sigma,
        beta=problem.bias(sigma, run.G),
        G=run.G,
        iterations=run.rounds,
        kernel_rows=run.kernel_rows,
        history=tuple(limits.history),
        status=status,
    )


def _subsample_start(run: _Run, kernel: KernelMatrix, cache_size: float) -> tuple[Array, Index]:
    """σ by thresholds from the solution of a quarter of the rows; from the kernel mean where rows are few.

    With it, which rows lie near a threshold and will be wanted again.
    """
    problem = run.problem
    if problem.n > _SUBSAMPLE_FROM:
        sample = np.sort(np.random.default_rng(problem.n).permutation(problem.n)[: problem.n // _SUBSAMPLE])
        c2 = problem.c2[sample] * (problem.c2.sum() / problem.c2[sample].sum())
        small = PUProblem(problem.positives, problem.unlabelled[sample], problem.c1, c2)
        space = run.space.part(sample, cache_size)
        deadline = run.limits.deadline
        left = None if deadline is None else max(0.0, deadline - run.limits.began - run.limits.seconds)
        found = solve(small, kernel, tol=_SUBSAMPLE_TOL, max_time=left, workspace=space)
        run.entries_below = found.kernel_rows * small.n
        sigma = np.zeros(problem.n)
        sigma[sample] = found.sigma
        run.move_to(sigma)
    target = starts.from_scores(problem, run.G)
    low = run.G[target == 0.0].max(initial=-np.inf)
    high = run.G[target == problem.c2].min(initial=np.inf)
    distance = np.where(target > 0.0, np.minimum(np.abs(run.G - low), np.abs(run.G - high)), np.inf)
    kept = np.zeros(problem.n, bool)
    kept[np.argsort(distance)[: int(_KEPT * problem.n)]] = True
    return target, kept

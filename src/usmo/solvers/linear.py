"""The linear solver: an exact solution for K = ΦΦᵀ from a few passes over all rows.

At the optimum all but about r + 1 rows have σ at 0, h or c, depending on where their f lies relative to -1 and 1. So:

1. Solve a sample of the rows by the interior point. Its f, thresholded, gives the final σ of almost all rows.
2. Solve the rows whose f is nearest a threshold by the interior point, with the others fixed.
3. Compute f on all rows and test the optimality conditions on all of them. Stop, or go back to 2 with more rows, among
   them every row that violates a condition.

The rows of step 2 double whenever a round does not halve the violation, up to all of them. So a misleading sample costs
rounds, not the optimum. Memory beyond the table is a handful of numbers per row, plus the rows of step 2 and some
twenty numbers for each of them.

σ and f stay with the rows (:class:`usmo.solvers.linear_rows.LinearRows`), which may lie on a cluster. Only numbers of
the size of w, and the sample of step 1, are here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from usmo.core.arrays import Array
from usmo.core.shards import LocalShards
from usmo.core.solution import PassRecord, Status
from usmo.kernels.row_blocks import ArrayFeatures, Blocks, steady_blas
from usmo.solvers import interior
from usmo.solvers.crossover import free_step
from usmo.solvers.interior_rows import InteriorRows
from usmo.solvers.interior_shards import InteriorShard
from usmo.solvers.linear_rows import LinearConditions, LinearRows
from usmo.solvers.stopping import Limits, Progress

ReportGuess = Callable[[Array, float], None]
"""Called with w and β of an intermediate decision function, from which a fit could start again."""

WIDEST = 4000
"""Columns up to which the normal equations are formed."""

_SAMPLE, _SAMPLE_ENTRIES, _PER_COLUMN = 40_000, 2_000_000, 20
"""Rows of the sample: this many, fewer if they hold more entries than this, but at least so many per column."""

_SHARE = 8
"""The first step 2 solves one row in this many, but at least as many as the sample has."""

_CROSSING = 3.0
"""The next round solves every row whose f is within this many violations of a threshold."""

_SAMPLE_WIDTH = 1e-2
"""Precision to which the sample determines f."""

_START_WIDTH = 0.05
"""Smoothing that step 2 starts from, in standard deviations of f."""

_GAP_SHARE, _WIDTH_SHARE = 0.1, 1e-3
"""The interior point goes to this share of the required gap, and determines f to this share of the tolerance."""

_ROUNDS = 12
"""Rounds of steps 2 and 3 at most."""

_SKETCH = 40_000
"""Distances from the thresholds from which step 2 estimates how near the nearest rows are."""


@dataclass(frozen=True)
class LinearResult:
    """β and the record of the work. σ and f stay with the rows. ``total`` is Σb."""

    beta: float
    iterations: int
    history: tuple[PassRecord, ...]
    status: Status
    total: float


class _Candidate(NamedTuple):
    """A candidate for σ of the chosen rows. Its merit is at most 1 if violation and gap are met."""

    merit: float
    which: int
    w: Array
    beta: float


class _Rounds:
    """The state between rounds: w = Φᵀα for the σ of all rows, the best β, and the optimality conditions."""

    conditions: LinearConditions

    def __init__(
        self, rows: LinearRows, centre: Array | None, limits: Limits, report_guess: ReportGuess | None
    ) -> None:
        self.rows, self.centre, self.limits, self.report_guess = rows, centre, limits, report_guess
        self.w, self.beta, self.steps = rows.b_sum, 0.0, 0
        self.guess = self.w, self.beta

    @property
    def steps_left(self) -> int:
        most = self.limits.max_iter
        return interior.MOST_ITERATIONS if most < 0 else max(0, most - self.steps)

    @property
    def r(self) -> int:
        return len(self.rows.b_sum)

    def centre_path(self, width: float) -> interior.Centre:
        """The last decision function with rows smoothed over ``width``, to start the interior point from."""
        return interior.Centre(*self.guess, 0.5 * (self.rows.mass / self.rows.n) * width)

    def begin(self, start: tuple[Array, float] | None) -> tuple[int, interior.Centre | None]:
        """Step 1, unless a start is given or rows are few; the rows for step 2, and where it starts (None: cold)."""
        r = max(1, self.r)
        sample = max(_PER_COLUMN * r, min(_SAMPLE, _SAMPLE_ENTRIES // r))
        size = max(sample, self.rows.n // _SHARE)
        if 2 * size >= self.rows.n:
            size = self.rows.n
        if start is None and size < self.rows.n:
            start = self.sample(sample)
        if start is None:
            return size, None
        self.threshold(*start)
        return size, self.centre_path(max(1e-4, _START_WIDTH * self.conditions.deviation))

    def sample(self, size: int) -> tuple[Array, float]:
        """Step 1: w and β of a random sample of the rows."""
        X, c = self.rows.sample(size)
        shard = InteriorShard(Blocks(ArrayFeatures(X), np.arange(len(c)), self.centre), c)
        goal = 2.0 * _SAMPLE_WIDTH * self.rows.mass
        self._interior(
            InteriorRows(LocalShards(shard)), self.rows.b_sum, self.rows.total, None, goal, None
        )  # fmt: skip
        return self.guess

    def threshold(self, w: Array, beta: float) -> None:
        """σ by thresholds of the given decision function. The first round makes Σσ right."""
        self.guess = w, beta
        conditions, self.w = self.rows.threshold(w, beta)
        self._note(conditions, beta)

    def nearest(self, size: int, tol: float) -> float:
        """The distance from a threshold up to which rows are solved in step 2: about ``size`` of them.

        Rows whose σ does not suit their f are always among these. There are enough of them for what is missing in Σσ.
        Infinity means all rows.
        """
        # f may still cross a threshold wherever a change by a few times the violation is enough
        distances = self.rows.measure_distances(tol, _CROSSING * self.conditions.violation, _SKETCH)
        order = np.argsort(distances.sample)
        counted = np.cumsum(distances.counts[order])
        # limited to 2·size: a few rows far off say little about the others, which the next round may find right
        size = max(size, 2 * distances.wrong, min(distances.crossing, 2 * size))
        while size < self.rows.n:
            at = float(distances.sample[order[min(int(np.searchsorted(counted, size)), len(order) - 1)]])
            count, capacity, sigma = self.rows.near_totals(at)
            if count == self.rows.n:
                break
            if 0.01 * capacity < float(sigma) + self.conditions.missing < 0.99 * capacity:
                return at
            size *= 2
        return np.inf

    def round(self, nearest: float, tol: float, gap: float, start: interior.Centre | None) -> None:
        """Step 2 on the rows this near a threshold, then step 3."""
        chosen = self.rows.choose(nearest)
        whole = chosen.size == self.rows.n
        fixed = self.rows.b_sum if whole else self.w + chosen.phi_sigma
        total = self.rows.total if whole else float(chosen.sigma + self.conditions.missing)
        goal = min(_GAP_SHARE * gap, 2.0 * _WIDTH_SHARE * tol * chosen.mass)
        point = self._interior(self.rows.interior, fixed, total, start, goal, self.report_guess)
        best = self._finish(point, fixed, total, tol, gap, cautious=False)
        if best.merit > 1.0 and point.converged:
            other = self._finish(point, fixed, total, tol, gap, cautious=True)
            best = (
                other if other.merit < best.merit else self._finish(point, fixed, total, tol, gap, cautious=False)
            )
        self.w, self.beta = best.w, best.beta
        self._note(self.rows.accept(best.which, self.w, self.beta), self.beta)

    def _finish(
        self, point: interior.InteriorPoint, fixed: Array, total: float, tol: float, gap: float, *, cautious: bool
    ) -> _Candidate:
        """The better of two candidates for σ: the interior point snapped to bounds, and its vertex."""
        free, phi_sigma, sigma = self.rows.make_candidates(point.w, point.beta, 0.25 * tol, cautious)
        betas = point.beta, self._cross(point, fixed - phi_sigma, float(total - sigma), free)
        candidates = []
        for which, beta in enumerate(betas):
            w = fixed - self.rows.repair(which, total)
            violation, gap_here = self.rows.judge(which, w, beta, total)
            candidates.append(_Candidate(max(violation / tol, gap_here / gap), which, w, beta))
        return min(candidates, key=lambda candidate: candidate.merit)

    def record(self, kind: str) -> PassRecord:
        v = self.rows.b_sum
        return PassRecord(
            kind=kind,
            steps=self.steps,
            objective=0.5 * (float(self.w @ self.w) - float(v @ v)) - self.conditions.concave,
            violation=self.conditions.violation,
            beta=self.beta,
            nonbound=self.conditions.nonbound,
            kernel_rows=0.0,
            seconds=self.limits.seconds,
        )

    def _interior(
        self, rows: InteriorRows, v: Array, total: float, start: interior.Centre | None, goal: float,
        report_guess: ReportGuess | None,
    ) -> interior.InteriorPoint:  # fmt: skip
        def solve(start: interior.Centre) -> interior.InteriorPoint:
            point = interior.solve(
                rows, v, total, start, goal=goal, most=self.steps_left, deadline=self.limits.deadline,
                save=report_guess,
            )  # fmt: skip
            self.steps += point.iterations
            return point

        with steady_blas(self.r):
            point = solve(start or interior.cold(rows, v, total))
            if start is not None and not point.converged and self.limits.reached(self.steps) is None:
                # a start far from the solution can stall; the cold start does not
                point = solve(interior.cold(rows, v, total))
        self.guess = point.w, point.beta
        if self.report_guess is not None:
            self.report_guess(*self.guess)
        return point

    def _note(self, conditions: LinearConditions, beta: float) -> None:
        self.conditions, self.beta = conditions, beta
        self.gap = conditions.slack - beta * conditions.missing
        # max(1, |P|)
        self.size = max(1.0, abs(conditions.concave - 0.5 * float(self.w @ self.w) + self.gap))

    def _cross(self, point: interior.InteriorPoint, w: Array, missing: float, free: int) -> float:
        """Complete the vertex that the active set of an interior point describes; returns its β.

        If few rows are free, f is put to -1 or 1 on them. If they are many (equal rows, or no signal), their σ change
        by the least that restores the w of the interior point.
        """
        if free == 0:
            return point.beta
        if free <= 2 * self.r + 50:
            Z, below, places = self.rows.free_rows()
            change, shift = free_step(Z @ Z.T, Z @ w + point.beta, below, missing)
            self.rows.change_free(change, places)
            return point.beta + shift
        products = self.rows.free_products()
        scale = 1.0 / np.sqrt(np.maximum(np.diagonal(products), np.finfo(float).tiny))
        wanted = scale * np.append(w - point.w, missing)
        x = scale * np.linalg.lstsq(products * scale * scale[:, None], wanted, rcond=1e-12)[0]
        self.rows.shift_free(x)
        return point.beta


def solve(
    rows: LinearRows,
    centre: Array | None = None,
    start: tuple[Array, float] | None = None,
    *,
    tol: float = 1e-3,
    gap_tol: float = 1e-6,
    max_iter: int = -1,
    max_time: float | None = None,
    progress: Progress | None = None,
    report_guess: ReportGuess | None = None,
) -> LinearResult:
    """Solve to a KKT violation of ``tol`` and a relative gap of ``gap_tol``.

    Parameters
    ----------
    rows : LinearRows
        The table and the problem.
    centre : array, optional
        Subtracted from every row by the shards. The solution is the same because Σα = 0; rounding is not.
    start : w and β, optional
        A decision function near the optimum, in centred coordinates.
    max_iter : int
        Limit on interior point iterations, over all rounds.
    progress : callable, optional
        Called with the record of each round and its w.
    report_guess : callable, optional
        Called with w and β of every intermediate decision function.
    """
    limits = Limits(max_iter, max_time, progress)
    run = _Rounds(rows, centre, limits, report_guess)
    size, centred = run.begin(start)
    status: Status | None = None
    best, beta = np.inf, 0.0
    for k in range(_ROUNDS):
        if status is not None:
            break
        cold = centred is None
        nearest = np.inf if cold else run.nearest(size, tol)
        gap = gap_tol * (1.0 if cold else run.size)
        before = run.conditions.violation if k > 0 else np.inf
        run.round(nearest, tol, gap, centred)
        limits.report(run.record("round"), run.w)
        violation = run.conditions.violation
        merit = max(violation / tol, run.gap / (gap_tol * run.size))
        if k == 0 or merit < best:
            best, beta = merit, run.beta
            rows.keep_best()
        status = "optimal" if merit <= 1.0 else limits.reached(run.steps)
        centred = run.centre_path(max(1e-5, violation))
        if violation > 0.5 * before:
            size = min(rows.n, 2 * size)
    return LinearResult(beta, run.steps, tuple(limits.history), status or "precision", rows.total)

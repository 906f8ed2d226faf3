"""The linear solver: an exact solution for K = ΦΦᵀ from a few passes over all rows.

At the optimum all but about r + 1 rows have σ at 0, h or c2, decided by which side of -1 and 1 their f lies. So:

1. Solve a sample of the rows by the interior point; its f, thresholded, gives σ for almost all rows for good.
2. Solve the rows whose f is nearest a threshold, the others held, by the interior point.
3. Compute f on all rows and test the optimality conditions on all of them. Done, or back to 2 with more rows,
   among them every row that violates a condition.

The rows of step 2 double whenever a round does not halve the violation, up to all of them, so a misleading sample
costs rounds and not the optimum. Memory beyond the table is a handful of numbers per row, plus the rows of step 2
and some twenty numbers for each of them.

All of that stays with the rows, in shards (``linear_rows.py``). Here are only numbers of the size of w, and the
sample of step 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from usmo.core.arrays import Array
from usmo.core.shards import Each, Found, Here, Inside, Team
from usmo.core.solution import PassRecord, Status
from usmo.kernels.matrix import rows_together
from usmo.kernels.row_blocks import ArrayFeatures, Blocks, steady_blas
from usmo.solvers import interior
from usmo.solvers import linear_shards as at_rows
from usmo.solvers.crossover import free_step
from usmo.solvers.interior_shards import Part
from usmo.solvers.stopping import Limits, Progress

Guess = Callable[[Array, float], None]
"""Called with the w and β of a decision function on the way, from which a fit could start again."""

WIDEST = 4000
"""Columns up to which the normal equations are formed."""

_SAMPLE, _SAMPLE_ENTRIES, _PER_COLUMN = 40_000, 2_000_000, 20
"""Rows of the sample: this many, fewer where they would hold more entries, but always some per column."""

_SHARE = 8
"""One row in this many is in the first step 2, and as many as in the sample at least."""

_CROSSING = 3.0
"""After a round, every row whose f is within this many violations of a threshold is in the next."""

_SAMPLE_WIDTH = 1e-2
"""How sharply the sample's f is resolved."""

_START_WIDTH = 0.05
"""Smoothing that step 2 starts from, in standard deviations of f."""

_GAP_SHARE, _WIDTH_SHARE = 0.1, 1e-3
"""The interior point goes to this share of the gap asked for, and resolves f to this share of the tolerance."""

_ROUNDS = 12

_SKETCH = 40_000
"""Distances from the thresholds by which step 2 finds how near the nearest rows are."""


@dataclass(frozen=True)
class Reached:
    """What the solver reached; σ and f stay with the rows. ``total`` is Σc1."""

    beta: float
    iterations: int
    history: tuple[PassRecord, ...]
    status: Status
    total: float


class _Rounds:
    """What is known between rounds: w = Φᵀα for the σ of all rows, the best β, and how far off they are."""

    def __init__(self, team: Team, centre: Array | None, limits: Limits, guess: Guess | None) -> None:
        self.team, self.centre, self.limits, self.report_guess = team, centre, limits, guess
        n, total, self.mass = team.total(at_rows.measure).sums
        self.n, self.total = int(n), float(total)
        self.from_positives = team.total(at_rows.from_positives).sums[0]
        self.r = len(self.from_positives)
        self.w, self.beta, self.steps = self.from_positives, 0.0, 0

    @property
    def steps_left(self) -> int:
        most = self.limits.max_iter
        return interior.MOST_ITERATIONS if most < 0 else max(0, most - self.steps)

    @property
    def mean_c2(self) -> float:
        return self.mass / self.n

    def _interior(
        self, team: Team, v: Array, total: float, start: interior.Centre | None, goal: float, guess: Guess | None
    ) -> interior.Reached:
        with steady_blas(self.r):
            found = interior.solve(
                team, v, total, start or interior.cold(team, v, total), goal=goal, most=self.steps_left,
                deadline=self.limits.deadline, save=guess,
            )  # fmt: skip
        self.steps += found.iterations
        self.guess = found.w, found.beta
        if self.report_guess is not None:
            self.report_guess(*self.guess)
        return found

    def sample(self, size: int) -> tuple[Array, float]:
        """w and β of a random sample of U, solved here."""
        sizes = [found.sums[0] for found in self.team.gather(at_rows.measure)]
        ends = np.round(np.cumsum(sizes) * (size / self.n)).astype(int)
        seeds = Each(self.n + k for k in range(self.team.size))
        found = self.team.gather(at_rows.sample, Each(np.diff(ends, prepend=0).tolist()), seeds)
        c2 = np.concatenate([c2 for _, c2 in found])
        c2 *= self.mass / float(c2.sum())
        X = rows_together([X for X, _ in found])
        part = Part(Blocks(ArrayFeatures(X), np.arange(len(c2)), self.centre), c2)
        goal = 2.0 * _SAMPLE_WIDTH * self.mass
        self._interior(Here(part), self.from_positives, self.total, None, goal, None)
        return self.guess

    def threshold(self, w: Array, beta: float) -> None:
        """σ by thresholds of the decision function given, whatever its sum; the first round makes that right."""
        self.guess = w, beta
        found = self.team.total(at_rows.threshold, w, beta)
        self.w = found.sums[-1]
        self.look(found, beta)

    def look(self, found: Found, beta: float) -> None:
        """Note the standing of the optimality conditions."""
        slack, self.concave, self.nonbound, imbalance, mean, square, *_ = found.sums
        self.beta, self.missing = beta, float(imbalance)
        self.violation = max(0.0, sum(found.highs))
        self.gap = slack - beta * self.missing
        self.deviation = float(np.sqrt(max(0.0, square / self.n - (mean / self.n) ** 2)))
        # max(1, |P|)
        self.size = max(1.0, abs(self.concave - 0.5 * float(self.w @ self.w) + self.gap))

    def nearest(self, size: int, tol: float) -> float:
        """How near a threshold f is on the rows for step 2: on about ``size`` of them.

        Rows that are not where their f wants them are always among these, and so many that what is missing in the
        sum of all σ finds room in theirs. Infinity for all rows.
        """
        # wherever f may still cross a threshold, if it changes by a few times what is violated now
        crossing = _CROSSING * self.violation
        most = -(-_SKETCH // self.team.size)
        found = self.team.gather(at_rows.distances, tol, crossing, most)
        must, reach = (sum(part[k] for part in found) for k in (2, 3))
        distance = np.concatenate([part[0] for part in found])
        order = np.argsort(distance)
        counted = np.cumsum(np.concatenate([np.full(len(part[0]), part[1]) for part in found])[order])
        # a few rows far off say little about the others: the next round may show that these were right
        size = max(size, 2 * must, min(reach, 2 * size))
        while size < self.n:
            at = float(distance[order[min(int(np.searchsorted(counted, size)), len(order) - 1)]])
            count, room, sigma = self.team.total(at_rows.room, at).sums
            if count == self.n:
                break
            if 0.01 * room < float(sigma) + self.missing < 0.99 * room:
                return at
            size *= 2
        return np.inf

    def round(self, nearest: float, tol: float, gap: float, start: interior.Centre | None) -> None:
        """Step 2 on the rows that near a threshold, then f on all."""
        pull, sigma, mass, count = self.team.total(at_rows.choose, nearest).sums
        whole = count == self.n
        held = self.from_positives if whole else self.w + pull
        total = self.total if whole else float(sigma + self.missing)
        goal = min(_GAP_SHARE * gap, 2.0 * _WIDTH_SHARE * tol * mass)
        found = self._interior(Inside(self.team, "part"), held, total, start, goal, self.report_guess)
        free, pull, sigma = self.team.total(at_rows.end, found.w, found.beta, 0.25 * tol).sums
        betas = found.beta, self._cross(found, held - pull, float(total - sigma), free)
        best = np.inf
        for which, beta in enumerate(betas):
            totals = self._shares(self.team.gather(at_rows.clip, which), total)
            w = held - self.team.total(at_rows.settle, which, totals).sums[0]
            found_here = self.team.total(at_rows.judge, which, w, beta)
            slack, sigma = found_here.sums
            violation = max(0.0, sum(found_here.highs))
            merit = max(violation / tol, (slack - beta * float(total - sigma)) / gap)
            if merit < best:
                best, chosen, self.w, self.beta = merit, which, w, beta
        self.look(self.team.total(at_rows.accept, chosen, self.w, self.beta), self.beta)

    def _cross(self, found: interior.Reached, w: Array, missing: float, free: int) -> float:
        """Complete the vertex that the active set of an interior point describes; its β.

        Where the rows that are at no bound are few, f is put to -1 or 1 on them; where they are many (equal rows,
        or no signal), their σ change by the least that brings w back to where the interior point had it.
        """
        if free == 0:
            return found.beta
        if free <= 2 * self.r + 50:
            rows = self.team.gather(at_rows.free_rows)
            Z, below = (np.concatenate([part[k] for part in rows]) for k in (0, 1))
            change, shift = free_step(Z @ Z.T, Z @ w + found.beta, below, missing)
            ends = np.cumsum([len(part[1]) for part in rows])[:-1]
            self.team.gather(at_rows.free_change, Each(np.split(change, ends)))
            return found.beta + shift
        products = self.team.total(at_rows.free_products).sums[0]
        scale = 1.0 / np.sqrt(np.maximum(np.diagonal(products), np.finfo(float).tiny))
        wanted = scale * np.append(w - found.w, missing)
        x = scale * np.linalg.lstsq(products * scale * scale[:, None], wanted, rcond=1e-12)[0]
        self.team.gather(at_rows.free_shift, x)
        return found.beta

    @staticmethod
    def _shares(found: list[tuple[np.longdouble, float, float]], total: float) -> Each:
        """What Σσ each shard must come to, so that all come to ``total``: the nearest to what they have.

        A small remainder goes to the shard of the row with the most room, a large one to the last shards that have
        room for it; what is rounding of the total stays, however large it is for a single shard.
        """
        sums, widest = [part[0] for part in found], [part[1] for part in found]
        missing = np.longdouble(total) - sum(sums, start=np.longdouble(0))
        if abs(missing) <= 4.0 * np.finfo(float).eps * total:  # rounding, as for PUProblem.repair
            pass
        elif abs(missing) < 0.5 * max(widest):
            sums[int(np.argmax(widest))] += missing
        else:
            for k in reversed(range(len(sums))):
                room = found[k][2] if missing > 0 else float(sums[k])
                part = np.sign(missing) * min(abs(missing), room)
                sums[k] += part
                missing -= part
            sums[-1] += missing  # rounding
        return Each(float(value) for value in sums)

    def record(self, kind: str) -> PassRecord:
        squares = float(self.w @ self.w) - float(self.from_positives @ self.from_positives)
        return PassRecord(
            kind=kind,
            steps=self.steps,
            objective=0.5 * squares - self.concave,
            violation=self.violation,
            beta=self.beta,
            nonbound=int(self.nonbound),
            kernel_rows=0.0,
            seconds=self.limits.seconds,
        )


def solve(
    team: Team,
    centre: Array | None = None,
    start: tuple[Array, float] | None = None,
    *,
    tol: float = 1e-3,
    gap_tol: float = 1e-6,
    max_iter: int = -1,
    max_time: float | None = None,
    progress: Progress | None = None,
    guess: Guess | None = None,
) -> Reached:
    """Solve to a KKT violation of ``tol`` and a relative gap of ``gap_tol``.

    Parameters
    ----------
    team : Team
        The table and the problem, in shards of :class:`usmo.solvers.linear_shards.Rows`.
    centre : array, optional
        Subtracted from every row by the shards. The solution is the same because Σα = 0; rounding is not.
    start : w and β, optional
        A decision function near the one sought, in centred coordinates.
    max_iter : int
        Limit on interior point iterations, over all rounds.
    progress : callable, optional
        Called with the record of each round and its w.
    """
    limits = Limits(max_iter, max_time, progress)
    run = _Rounds(team, centre, limits, guess)
    r = max(1, run.r)
    sample = max(_PER_COLUMN * r, min(_SAMPLE, _SAMPLE_ENTRIES // r))
    size = max(sample, run.n // _SHARE)
    centred: interior.Centre | None = None
    if 2 * size >= run.n:
        size = run.n
    if start is None and size < run.n:
        start = run.sample(sample)
    if start is not None:
        run.threshold(*start)
        width = max(1e-4, _START_WIDTH * run.deviation)
        centred = interior.Centre(*run.guess, 0.5 * run.mean_c2 * width)
    status: Status | None = None
    best, beta = np.inf, 0.0
    for k in range(_ROUNDS):
        if status is not None:
            break
        cold = start is None and k == 0
        nearest = np.inf if cold else run.nearest(size, tol)
        gap = gap_tol * (1.0 if cold else run.size)
        before = run.violation if k > 0 else np.inf
        run.round(nearest, tol, gap, centred)
        limits.report(run.record("round"), run.w)
        merit = max(run.violation / tol, run.gap / (gap_tol * run.size))
        if k == 0 or merit < best:
            best, beta = merit, run.beta
            team.gather(at_rows.keep)
        status = "optimal" if merit <= 1.0 else limits.reached(run.steps)
        width = max(1e-5, run.violation)
        centred = interior.Centre(*run.guess, 0.5 * run.mean_c2 * width)
        if run.violation > 0.5 * before:
            size = min(run.n, 2 * size)
    return Reached(beta, run.steps, tuple(limits.history), status or "precision", run.total)

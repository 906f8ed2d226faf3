"""The linear solver: an exact solution for K = ΦΦᵀ from a few passes over all rows.

At the optimum all but about r + 1 rows have σ at 0, h or c2, decided by which side of -1 and 1 their f lies. So:

1. Solve a sample of the rows by the interior point; its f, thresholded, gives σ for almost all rows for good.
2. Solve the rows whose f is nearest a threshold, the others held, by the interior point.
3. Compute f on all rows and test the optimality conditions on all of them. Done, or back to 2 with more rows,
   among them every row that violates a condition.

The rows of step 2 double whenever a round does not halve the violation, up to all of them, so a misleading sample
costs rounds and not the optimum. Memory beyond the table is a handful of numbers per row, plus the rows of step 2
and some twenty numbers for each of them.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from usmo._jit import compiled
from usmo.features import Blocks, Features, Sums
from usmo.problem import Array, Index, PUProblem
from usmo.solution import PassRecord, Solution, Status
from usmo.solvers import interior
from usmo.solvers.crossover import active_set, free_step
from usmo.solvers.limits import Limits, Progress

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


@compiled
def _standing(sigma, f, c2):  # type: ignore[no-untyped-def]
    """In one pass: min up, max dn, Σ of slacks, Σ min(σ, c2-σ), rows at no bound (see ``problem.py``)."""
    low, high, slack, concave, nonbound = np.inf, -np.inf, 0.0, 0.0, 0
    for i in range(len(f)):
        s, c = sigma[i], c2[i]
        h = 0.5 * c
        if s < c:
            low = min(low, (-1.0 if s < h else 1.0) - f[i])
        if s > 0.0:
            high = max(high, (1.0 if s > h else -1.0) - f[i])
        least = min(s, c - s)
        loss = c * max(0.0, max(f[i], 0.5 * (1.0 + f[i])))
        slack += max(0.0, loss - s * f[i] - least)
        concave += least
        nonbound += 0.0 < s < c and s != h
    return low, high, slack, concave, nonbound


class _Rounds:
    """The state between rounds: σ on U, w = Φᵀα for it, and f on the table with the best β known."""

    def __init__(self, problem: PUProblem, features: Features, centre: Array | None, limits: Limits) -> None:
        self.problem, self.features, self.centre, self.limits = problem, features, centre, limits
        self.table = Blocks(features, centre=centre)
        self.sigma = np.zeros(problem.n)
        self.beta, self.steps = 0.0, 0
        positive = Blocks(features, problem.positives, centre)
        self.from_positives = positive.weighted_sum(problem.c1)

    @property
    def steps_left(self) -> int:
        most = self.limits.max_iter
        return interior.MOST_ITERATIONS if most < 0 else max(0, most - self.steps)

    def _interior(
        self, blocks: Blocks, c2: Array, v: Array, total: float, start: interior.Centre | None, goal: float
    ) -> interior.Found:
        with blocks.held():
            found = interior.solve(
                blocks, c2, v, total, start or interior.cold(blocks, c2, v, total), goal=goal,
                most=self.steps_left, deadline=self.limits.deadline,
            )  # fmt: skip
        self.steps += found.iterations
        return found

    def sample(self, size: int) -> tuple[Array, float]:
        """w and β of a random sample of U."""
        problem = self.problem
        rows = np.sort(np.random.default_rng(problem.n).choice(problem.n, size, replace=False))
        c2 = problem.c2[rows] * (float(problem.c2.sum()) / float(problem.c2[rows].sum()))
        blocks = Blocks(self.features, problem.unlabelled[rows], self.centre)
        goal = 2.0 * _SAMPLE_WIDTH * float(c2.sum())
        found = self._interior(blocks, c2, self.from_positives, problem.total, None, goal)
        return found.w, found.beta

    def threshold(self, w: Array, beta: float) -> None:
        """σ by thresholds of the decision function given, whatever its sum; the first round makes that right."""
        f = self.table.dot(w)[self.problem.unlabelled] + beta
        self.sigma = np.where(f > 1.0, 1.0, np.where(f > -1.0, 0.5, 0.0)) * self.problem.c2
        self.guess = w, beta
        alpha = self.problem.table_coefficients(self.sigma, self.table.n)
        self.w = self.table.weighted_sum(alpha)
        self.look(f, beta)

    def look(self, f: Array, beta: float) -> None:
        """Note f on U, and the standing of the optimality conditions."""
        self.f, self.beta = f, beta
        low, high, slack, self.concave, self.nonbound = _standing(self.sigma, f, self.problem.c2)
        self.violation = max(0.0, high - low)
        self.gap = slack - beta * self.problem.residual(self.sigma)
        # max(1, |P|)
        self.size = max(1.0, abs(self.concave - 0.5 * float(self.w @ self.w) + self.gap))

    def nearest(self, size: int, tol: float) -> Index:
        """The rows for step 2: those that are not where their f wants them, then those nearest a threshold.

        They are so many that what is missing in the sum of all σ finds room in theirs.
        """
        up, dn = self.problem.slopes(self.sigma, self.f)
        must = (up < -0.5 * tol) | (dn > 0.5 * tol) | self.problem.nonbound(self.sigma)
        distance = np.minimum(np.abs(self.f + 1.0), np.abs(self.f - 1.0))
        distance[must] = -1.0
        # wherever f may still cross a threshold, if it changes by a few times what is violated now
        crossing = np.count_nonzero(distance <= _CROSSING * self.violation)
        size = max(size, 2 * int(np.count_nonzero(must)), int(crossing))
        missing = self.problem.residual(self.sigma)
        while size < self.problem.n:
            rows = np.argpartition(distance, size)[:size]
            room = float(self.problem.c2[rows].sum())
            if 0.01 * room < float(self.sigma[rows].sum()) + missing < 0.99 * room:
                return np.sort(rows)
            size *= 2
        return np.arange(self.problem.n)

    def round(self, rows: Index, tol: float, gap: float, start: interior.Centre | None) -> None:
        """Step 2 on these rows, then f on all."""
        problem = self.problem
        c2 = problem.c2[rows]
        whole = len(rows) == problem.n
        blocks = self.table
        if len(rows) < self.table.n:
            blocks = Blocks(self.features, problem.unlabelled[rows], self.centre)
        held = self.from_positives if whole else self.w + blocks.weighted_sum(self.sigma[rows])
        total = problem.total
        if not whole:
            total = float(np.sum(self.sigma[rows], dtype=np.longdouble)) + problem.residual(self.sigma)
        goal = min(_GAP_SHARE * gap, 2.0 * _WIDTH_SHARE * tol * float(c2.sum()))
        found = self._interior(blocks, c2, held, total, start, goal)
        self.guess = found.w, found.beta
        # the rows of this round as a problem of their own: the same conditions, another sum
        part = PUProblem(problem.positives[:1], problem.unlabelled[rows], np.array([total]), c2)
        f = blocks.dot(found.w) + found.beta
        ends = [
            (_snapped(found.sigma, f, c2, 0.25 * tol), found.beta),
            _crossed(part, blocks, held, found, f),
        ]
        best = np.inf
        for candidate, beta in ends:
            candidate = part.repair(candidate)
            w = held - blocks.weighted_sum(candidate)
            f = blocks.dot(w)
            merit = max(part.kkt_violation(candidate, f) / tol, part.gap(candidate, beta, f) / gap)
            if merit < best:
                best, self.sigma[rows], self.w, self.beta = merit, candidate, w, beta
        self.look(self.table.dot(self.w)[problem.unlabelled] + self.beta, self.beta)

    def record(self, kind: str) -> PassRecord:
        squares = float(self.w @ self.w) - float(self.from_positives @ self.from_positives)
        return PassRecord(
            kind=kind,
            steps=self.steps,
            objective=0.5 * squares - self.concave,
            violation=self.violation,
            beta=self.beta,
            nonbound=self.nonbound,
            kernel_rows=0.0,
            seconds=self.limits.seconds,
        )


def _crossed(part: PUProblem, blocks: Blocks, held: Array, found: interior.Found, f: Array) -> tuple[Array, float]:
    """The point that the active set of an interior point describes.

    Where the rows that are at no bound are few, f is put to -1 or 1 on them; where they are many (equal rows, or
    no signal), their σ change by the least that brings w back to where the interior point had it.
    """
    vertex, free = active_set(found.sigma, f, part.c2)
    A = np.flatnonzero(free)
    if len(A) == 0:
        return vertex, found.beta
    mine = blocks.part(A)
    w = held - blocks.weighted_sum(vertex)
    if len(A) <= 2 * blocks.r + 50:
        Z = mine.block(slice(0, mine.n))
        Z = Z.toarray() if sparse.issparse(Z) else Z
        below = vertex[A] < 0.5 * part.c2[A]
        change, shift = free_step(Z @ Z.T, Z @ w + found.beta, below, part.residual(vertex))
        vertex[A] += change
        return vertex, found.beta + shift
    total = Sums(mine.step)

    def work(which: slice) -> None:
        X = mine.block(which)
        Z = np.hstack([X.toarray() if sparse.issparse(X) else X, np.ones((X.shape[0], 1))])
        total.add(which, Z.T @ Z)

    mine.each(work)
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(total.total), np.finfo(float).tiny))
    missing = np.append(w - found.w, part.residual(vertex))
    x = scale * np.linalg.lstsq(total.total * scale * scale[:, None], scale * missing, rcond=1e-12)[0]
    vertex[A] += mine.dot(x[:-1]) + x[-1]
    return vertex, found.beta


def _snapped(sigma: Array, f: Array, c2: Array, near: float) -> Array:
    """σ with every row that is farther than ``near`` from both thresholds put to its bound."""
    sigma = np.clip(sigma, 0.0, c2)
    sigma[f < -1.0 - near] = 0.0
    middle = (f > -1.0 + near) & (f < 1.0 - near)
    sigma[middle] = 0.5 * c2[middle]
    above = f > 1.0 + near
    sigma[above] = c2[above]
    return sigma


def solve(
    problem: PUProblem,
    features: Features,
    centre: Array | None = None,
    start: tuple[Array, float] | None = None,
    *,
    tol: float = 1e-3,
    gap_tol: float = 1e-6,
    max_iter: int = -1,
    max_time: float | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Solve to a KKT violation of ``tol`` and a relative gap of ``gap_tol``.

    Parameters
    ----------
    features : Features
        The table; ``problem`` names its rows.
    centre : array, optional
        Subtracted from every row. The solution is the same because Σα = 0; rounding is not.
    start : w and β, optional
        A decision function near the one sought, in centred coordinates.
    max_iter : int
        Limit on interior point iterations, over all rounds.
    """
    limits = Limits(max_iter, max_time, progress)
    run = _Rounds(problem, features, centre, limits)
    r = max(1, features.shape[1])
    sample = max(_PER_COLUMN * r, min(_SAMPLE, _SAMPLE_ENTRIES // r))
    size = max(sample, problem.n // _SHARE)
    centred: interior.Centre | None = None
    if 2 * size >= problem.n:
        size = problem.n
    if start is None and size < problem.n:
        start = run.sample(sample)
    if start is not None:
        run.threshold(*start)
        width = max(1e-4, _START_WIDTH * float(run.f.std()))
        centred = interior.Centre(*run.guess, 0.5 * float(problem.c2.mean()) * width)
    status: Status | None = None
    best: tuple[float, Array, Array, float] | None = None
    for _ in range(_ROUNDS):
        if status is not None:
            break
        cold = start is None and best is None
        rows = np.arange(problem.n) if cold else run.nearest(size, tol)
        gap = gap_tol * (1.0 if cold else run.size)
        before = run.violation if best is not None else np.inf
        run.round(rows, tol, gap, centred)
        limits.report(run.record("round"), run.sigma)
        merit = max(run.violation / tol, run.gap / (gap_tol * run.size))
        if best is None or merit < best[0]:
            best = merit, run.sigma.copy(), run.f, run.beta
        status = "optimal" if merit <= 1.0 else limits.reached(run.steps)
        width = max(1e-5, run.violation)
        centred = interior.Centre(*run.guess, 0.5 * float(problem.c2.mean()) * width)
        if run.violation > 0.5 * before:
            size = min(problem.n, 2 * size)
    assert best is not None
    _, sigma, f, beta = best
    return Solution(
        sigma=sigma, beta=beta, G=f - beta, iterations=run.steps, kernel_rows=0.0, history=tuple(limits.history),
        status=status or "precision",
    )  # fmt: skip

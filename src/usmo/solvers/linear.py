"""The linear solver: an exact solution for K = ΦΦᵀ from a few passes over all rows.

At the optimum all but about r + 1 rows have σ at 0, h or c2, decided by which side of -1 and 1 their f lies. So:

1. Solve a sample of the rows by the interior point; its f, thresholded, gives σ for almost all rows for good.
2. Solve the rows whose f is nearest a threshold, the others held, by the interior point.
3. Compute f on all rows and test the optimality conditions on all of them. Done, or back to 2 with more rows,
   among them every row that violates a condition.

Step 2 lowers the dual objective each time, and its rows double each time, up to all of them, so the end is the
optimum whatever the first guess was. Memory beyond the table is a handful of numbers per row, plus some twenty for
each of the rows of step 2.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from usmo import start as starts
from usmo.features import Blocks, Features, Sums
from usmo.problem import Array, Index, PUProblem
from usmo.solution import PassRecord, Solution, Status
from usmo.solvers import interior
from usmo.solvers.crossover import active_set, free_step
from usmo.solvers.limits import Limits, Progress

WIDEST = 4000
"""Columns up to which the normal equations are formed."""

_LEAST, _PER_COLUMN, _SHARE = 20_000, 20, 16
"""Rows of the sample and of the first step 2: this many, and this many per column, and one in this many."""

_SAMPLE_WIDTH = 1e-3
"""How sharply the sample's f is resolved."""

_START_WIDTH = 0.1
"""Smoothing that step 2 starts from, in standard deviations of f."""

_GAP_SHARE, _WIDTH_SHARE = 0.1, 1e-3
"""The interior point goes to this share of the gap asked for, and resolves f to this share of the tolerance."""

_ROUNDS = 12


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
        return interior._MOST_ITERATIONS if most < 0 else max(0, most - self.steps)

    def sample(self, size: int) -> tuple[Array, float]:
        """w and β of a random sample of U."""
        problem = self.problem
        rows = np.sort(np.random.default_rng(problem.n).choice(problem.n, size, replace=False))
        c2 = problem.c2[rows] * (float(problem.c2.sum()) / float(problem.c2[rows].sum()))
        blocks = Blocks(self.features, problem.unlabelled[rows], self.centre)
        start = interior.cold(blocks, c2, self.from_positives, problem.total)
        goal = 2.0 * _SAMPLE_WIDTH * float(c2.sum())
        found = interior.solve(
            blocks, c2, self.from_positives, problem.total, start, goal=goal, most=self.steps_left,
            deadline=self.limits.deadline,
        )  # fmt: skip
        self.steps += found.iterations
        return found.w, found.beta

    def threshold(self, w: Array, beta: float) -> None:
        """σ by thresholds of the decision function given."""
        f = self.table.dot(w)[self.problem.unlabelled] + beta
        self.sigma = starts.from_scores(self.problem, f)
        self.guess = w, beta
        alpha = self.problem.table_coefficients(self.sigma, self.table.n)
        self.w = self.table.weighted_sum(alpha)
        self.look(f, beta)

    def look(self, f: Array, beta: float) -> None:
        """Note f on U, and the standing of the optimality conditions."""
        self.f = f
        self.beta = beta
        self.violation = self.problem.kkt_violation(self.sigma, f)

    def nearest(self, size: int, tol: float) -> Index:
        """The rows for step 2: those that are not where their f wants them, then those nearest a threshold."""
        up, dn = self.problem.slopes(self.sigma, self.f)
        must = (up < -0.5 * tol) | (dn > 0.5 * tol) | self.problem.nonbound(self.sigma)
        distance = np.minimum(np.abs(self.f + 1.0), np.abs(self.f - 1.0))
        distance[must] = -1.0
        size = min(self.problem.n, max(size, 2 * int(np.count_nonzero(must))))
        if size == self.problem.n:
            return np.arange(size)
        return np.sort(np.argpartition(distance, size)[:size])

    def round(self, rows: Index, tol: float, gap: float, start: interior.Centre | None) -> None:
        """Step 2 on these rows, then f on all."""
        problem = self.problem
        c2 = problem.c2[rows]
        whole = len(rows) == problem.n
        contiguous = whole and problem.unlabelled[-1] - problem.unlabelled[0] == problem.n - 1
        if contiguous and len(problem.unlabelled) == self.table.n:
            blocks = self.table
        else:
            blocks = Blocks(self.features, problem.unlabelled[rows], self.centre)
        held = self.from_positives if whole else self.w + blocks.weighted_sum(self.sigma[rows])
        total = problem.total if whole else float(np.sum(self.sigma[rows], dtype=np.longdouble))
        if start is None:
            start = interior.cold(blocks, c2, held, total)
        goal = min(_GAP_SHARE * gap, 2.0 * _WIDTH_SHARE * tol * float(c2.sum()))
        found = interior.solve(
            blocks, c2, held, total, start, goal=goal, most=self.steps_left, deadline=self.limits.deadline
        )
        self.steps += found.iterations
        self.guess = found.w, found.beta
        # the rows of this round as a problem of their own: the same conditions, another sum
        part = PUProblem(problem.positives[:1], problem.unlabelled[rows], np.array([total]), c2)
        f = blocks.dot(found.w) + found.beta
        ends = [(_snapped(found.sigma, f, c2, 0.25 * tol), found.beta)]
        ends.append(_crossed(part, blocks, held, found, f))
        best = np.inf
        for candidate, beta in ends:
            candidate = part.repair(candidate)
            w = held - blocks.weighted_sum(candidate)
            f = blocks.dot(w)
            merit = max(part.kkt_violation(candidate, f) / tol, part.gap(candidate, beta, f) / gap)
            if merit < best:
                best, self.sigma[rows], self.w, self.beta = merit, candidate, w, beta
        self.look(self.table.dot(self.w)[problem.unlabelled] + self.beta, self.beta)

    def gap(self) -> float:
        return self.problem.gap(self.sigma, self.beta, self.f - self.beta)

    def size(self) -> float:
        """max(1, |P|), by the dual objective and the gap."""
        dual = self.problem.concave_part(self.sigma) - 0.5 * float(self.w @ self.w)
        return max(1.0, abs(dual + self.gap()))

    def record(self, kind: str) -> PassRecord:
        problem = self.problem
        squares = float(self.w @ self.w) - float(self.from_positives @ self.from_positives)
        return PassRecord(
            kind=kind,
            steps=self.steps,
            objective=0.5 * squares - problem.concave_part(self.sigma),
            violation=self.violation,
            beta=self.beta,
            nonbound=int(problem.nonbound(self.sigma).sum()),
            kernel_rows=0.0,
            seconds=self.limits.seconds,
        )


def _crossed(
    part: PUProblem, blocks: Blocks, held: Array, found: interior.Found, f: Array
) -> tuple[Array, float]:
    """The point that the active set of an interior point describes.

    Where the rows that are at no bound are few, f is put to -1 or 1 on them; where they are many (equal rows, or no
    signal), their σ change by the least that brings w back to where the interior point had it.
    """
    vertex, free = active_set(found.sigma, f, part.c2)
    A = np.flatnonzero(free)
    if len(A) == 0:
        return vertex, found.beta
    mine = Blocks(blocks.features, A, blocks.centre)
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
) -> tuple[Solution, Array]:
    """Solve to a KKT violation of ``tol`` and a relative gap of ``gap_tol``; returns the solution and w.

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
    size = max(_LEAST, _PER_COLUMN * features.shape[1], problem.n // _SHARE)
    centred: interior.Centre | None = None
    if 2 * size >= problem.n:
        size = problem.n
    if start is None and size < problem.n:
        start = run.sample(size)
    if start is not None:
        run.threshold(*start)
        limits.report(run.record("sample"), run.sigma)
        width = max(1e-4, _START_WIDTH * float(run.f.std()))
        centred = interior.Centre(*run.guess, 0.5 * float(problem.c2.mean()) * width)
    status: Status | None = limits.reached(run.steps) if start is not None else None
    best: tuple[float, Array, Array, Array, float] | None = None
    for _ in range(_ROUNDS):
        if status is not None and best is not None:
            break
        rows = run.nearest(size, tol) if start is not None or best is not None else np.arange(problem.n)
        gap = gap_tol * (run.size() if start is not None or best is not None else 1.0)
        run.round(rows, tol, gap, centred)
        limits.report(run.record("round"), run.sigma)
        merit = max(run.violation / tol, run.gap() / (gap_tol * run.size()))
        if best is None or merit < best[0]:
            best = merit, run.sigma, run.w, run.f, run.beta
        if merit <= 1.0:
            status = "optimal"
        else:
            status = limits.reached(run.steps)
        width = max(1e-5, run.violation)
        centred = interior.Centre(*run.guess, 0.5 * float(problem.c2.mean()) * width)
        size = min(problem.n, 2 * size)
    assert best is not None
    _, sigma, w, f, beta = best
    solution = Solution(
        sigma=sigma, beta=beta, G=f - beta, iterations=run.steps, kernel_rows=0.0, history=tuple(limits.history),
        status=status or "precision",
    )  # fmt: skip
    return solution, w

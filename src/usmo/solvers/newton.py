"""Exact linear classifier for positive and unlabelled rows: wide or sparse rows, by narrowing to rows at kinks.

The problem, over w and β with f = Xw + β and m(f) = max(0, f, (1+f)/2):

    minimise  Σ c·m(f) - Σ b·f + ½‖w‖²
    dual      maximise  Σ min(σ, c-σ) - ½‖Xᵀα‖²,  α = b - σ,  0 ≤ σ ≤ c,  Σσ = Σb;  then w = Xᵀα

The loss has kinks at f = -1 and f = 1, where its pieces meet. A row away from them has σ = 0, c/2 or c: it only adds
a fixed vector to w. So each round

1. evaluates all rows once (f = Xw), sets β, and measures the duality gap;
2. takes the rows at or near a kink as the active rows, and fixes the others;
3. improves σ of the active rows by sweeps of exact coordinate steps. These are hard to beat while rows are nearly
   orthogonal, as those of texts are. They are slow along few directions, those of rows that are nearly copies of each
   other; where they are, a Newton step moves all rows inside a piece jointly, onto their kinks (``_joint_step``).

Nothing is assumed about the rows left out: step 1 of the next round looks at all of them. Sweeps and Newton steps
never decrease the dual objective (up to the weight of Σσ = Σb, which they hold by an augmented Lagrangian with β as its
multiplier), and the gap is computed from the returned numbers alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from usmo.core.solution import PassRecord, Status
from usmo.kernels.threads import single_blas
from usmo.solvers.newton_loss import inner
from usmo.solvers.newton_rows import Duals
from usmo.solvers.stopping import Limits, Progress

Array = np.ndarray

ROUNDS = 500
"""Most rounds. Usual are 2 to 10."""

IDLE = 12
"""Rounds without progress after which rounding is taken to forbid more."""

PROGRESS = 0.9
"""Share of the gap below which a round counts as progress."""

BELOW = 0.1
"""Share of the gap that a round aims at if the gap is met but the violation is not."""

SMALLEST = 1e-15
"""Relative gap that rounding leaves."""

SWEEPS = 30
"""Most sweeps in a round; more after rounds without progress."""

PATIENCE = 10.0
"""Factor by which a round aims lower after each round without progress: it may have ended while Σσ was far off."""

SLOW = 0.85
"""Slack left by a sweep, as a share of the slack before, from which a Newton step is due."""

TRIED = 4
"""Sweeps before their speed is judged for the first time in a round."""

TRIED_AGAIN = 2
"""Sweeps after a Newton step before their speed is judged again: where one was due, more will be."""

AIM = 0.05
"""Share of the gap that a round aims at on its active rows; more is wasted before the other rows are seen."""

FIRST_AIM = 0.01
"""Share of the first slack that the round after a start aims at, before anything is known of the other rows."""

SAFETY = 0.3
"""Share of the tolerance aimed at, so that the gap over all rows ends within it."""

MARGIN = 4.0
"""Distance to a kink up to which rows are active, in units of the mean distance that the slack stands for."""

STIFFNESS = 0.1
"""Weight of (Σb - Σσ)² in sweeps, in units of the mean ‖x‖²: the size of typical inner products between texts."""

CG_STEPS = 60
"""Most steps of conjugate gradients for a Newton step."""

CG_SHARE = 0.05
"""Residual at which conjugate gradients stop, as a share of the first."""

FEW = 256
"""Rows up to which the Newton matrix is formed and factored: then that is faster than conjugate gradients."""

SOME = 1500
"""Rows up to which it is formed and factored where conjugate gradients have not finished."""

NARROW = 1000
"""Columns up to which XᵀX is formed and factored instead, where rows are more."""

RIDGE = 1e-6
"""Added to the diagonal of the Newton matrix, in units of the mean ‖x‖², so that equal rows do not make it singular."""

FACES = 12
"""Times that a Newton step is continued after rows have reached the end of their piece."""

GAIN = 0.15
"""Share of the gain promised by a Newton step that it must keep when it is cut off at the ends of pieces."""


@dataclass(frozen=True)
class NewtonResult:
    """The best point met. ``products`` are passes over the entries of the table; w is Xᵀ(b - σ) up to rounding."""

    w: Array
    beta: float
    sigma: Array
    iterations: int
    products: float
    history: tuple[PassRecord, ...]
    status: Status


@dataclass
class _State:
    """A point of the dual and what follows from it; always w = Xᵀ(b - σ)."""

    duals: Duals
    w: Array
    beta: float
    tau: float
    primal: float = np.inf
    gap: float = np.inf
    violation: float = np.inf
    inside: int = 0
    steps: dict[str, int] = field(default_factory=lambda: {"sweeps": 0, "newton": 0, "faces": 0, "cg": 0})

    def record(self, limits: Limits) -> PassRecord:
        """The state after a round; the objective is that of the dual, to be minimised, less a constant."""
        return PassRecord(
            kind="round",
            steps=self.steps["sweeps"],
            objective=self.gap - self.primal,
            violation=self.violation,
            beta=self.beta,
            nonbound=self.inside,
            kernel_rows=0.0,
            seconds=limits.seconds,
        )


def solve(
    rows: Any,
    b: Array,
    c: Array,
    *,
    sigma: Array | None = None,
    w: Array | None = None,
    beta: float | None = None,
    tol: float = 1e-3,
    gap_tol: float = 1e-6,
    max_iter: int = -1,
    max_time: float | None = None,
    progress: Progress | None = None,
) -> NewtonResult:
    """Solve to a relative gap of ``gap_tol`` and a KKT violation of ``tol``. Needs b, c ≥ 0 and 0 < Σb < Σc.

    ``rows`` are those of :func:`usmo.solvers.newton_products.rows_of`; b and c have an entry for each. A start is σ,
    best with β, as of an earlier solution, or w with β. ``max_iter`` limits the rounds.
    """
    limits = Limits(max_iter, max_time, progress)
    with single_blas():
        before, duals = rows.products, Duals(rows, b, c)
        warm = w is not None or sigma is not None
        if warm:
            duals.start(sigma, w, beta)
        state = _State(duals, duals.point(), beta or 0.0, STIFFNESS * duals.norm or 1.0)
        if warm and beta is not None:
            dual = duals.gained() - 0.5 * inner(state.w, state.w)
            _sweeps(state, SAFETY * gap_tol * max(1.0, abs(dual)), SWEEPS, FIRST_AIM)
        best_w, best_beta, status = _rounds(state, tol, gap_tol, limits)
    spent = rows.products - before
    return NewtonResult(best_w, best_beta, duals.best, len(limits.history), spent, tuple(limits.history), status)


def _rounds(state: _State, tol: float, gap_tol: float, limits: Limits) -> tuple[Array, float, Status]:
    """Rounds until the tolerances are met: w and β of the best point, and why the rounds ended."""
    best, idle, status = (np.inf, state.w, state.beta), 0, None
    while status is None:
        if idle > 0:
            state.w = state.duals.point()  # without the rounding of many small changes
        _evaluate(state)
        limits.report(state.record(limits), state.duals.sigma)
        tolerance = gap_tol * max(1.0, abs(state.primal))
        merit = max(state.gap / tolerance, state.violation / tol)
        idle = 0 if merit < PROGRESS * best[0] else idle + 1
        if merit < best[0]:
            best = (merit, state.w.copy(), state.beta)
            state.duals.keep()
        status = "optimal" if merit <= 1.0 else limits.reached(len(limits.history))
        if status is None and (idle > IDLE or len(limits.history) >= ROUNDS):
            status = "precision"
        if status is None:
            if state.gap <= tolerance:  # only the violation is left, which falls with the gap
                tolerance = BELOW * max(state.gap, SMALLEST * max(1.0, abs(state.primal)))
            state.duals.choose(state.beta, max(state.gap, tolerance), MARGIN * 4.0**idle)
            goal = max(SAFETY * tolerance, AIM * state.gap) * PATIENCE**-idle
            _sweeps(state, goal, SWEEPS * (1 + idle))
    return best[1], best[2], status


def _evaluate(state: _State) -> None:
    """Scores of all rows, the best intercept for them, the gap and the violation."""
    state.beta, loss, state.gap = state.duals.evaluate(state.w, state.beta)
    state.primal = loss + 0.5 * inner(state.w, state.w)
    state.violation, state.inside = state.duals.violation(state.beta)


def _sweeps(state: _State, goal: float, most: int, share: float = 0.0) -> None:
    """One round: passes of coordinate steps over the chosen rows, with Newton steps where they are slow.

    The intercept follows Σb - Σσ within a pass, and takes over what is left after it. Rows that settle are left
    out of the passes that follow, until β has moved so far that they may have to move again. The round ends at a slack
    of ``goal``, or of ``share`` of the first slack.
    """
    duals, tau, tried = state.duals, state.tau, TRIED
    duals.begin()
    missing, margin, slacks = duals.missing(), np.inf, []
    moved, dropped = 0.0, np.inf  # by how much β moved since rows were left out, and their distance to a kink
    for sweep in range(most):
        state.steps["sweeps"] += 1
        seed = state.steps["sweeps"]
        missing, slack, weight = duals.sweep(seed, state.w, state.beta, tau, missing, margin)
        state.beta += tau * missing
        slack += tau * abs(missing) * max(weight, abs(missing))  # what the next change of β adds
        slacks.append(slack)
        goal = max(goal, share * slack) if sweep == 0 else goal
        if slack <= goal:
            break
        moved, dropped = moved + tau * abs(missing), min(dropped, margin)
        margin = MARGIN * slack / weight if weight > 0.0 else np.inf
        if moved > dropped:
            duals.recall()
            moved, dropped, margin = 0.0, np.inf, np.inf
        if len(slacks) > tried and slack > SLOW**tried * slacks[-1 - tried]:
            if share > 0.0:  # an evaluation costs less than a Newton step, and may show that nothing is left to do
                break
            missing = _joint_step(state, missing)
            slacks, tried = [], TRIED_AGAIN
    state.w += duals.make_feasible()


def _joint_step(state: _State, missing: float) -> float:
    """A Newton step of the rows inside a piece, towards f = -1 or f = 1 on all of them; returns Σb - Σσ.

    Rows that reach the end of their piece stay there, and the step is continued with the others. It is shortened so
    that what sweeps maximise does not fall.
    """
    found = state.duals.inside()
    if found is None:
        return missing
    places, part, columns, sigma, c = found
    w, upper = state.w[columns], sigma > 0.5 * c
    excess = part.dot(w) + state.beta - np.where(upper, 1.0, -1.0)
    ends = np.where(upper, 0.5 * c, 0.0), np.where(upper, c, 0.5 * c)
    moved, shift = _over_faces(part, sigma, excess, ends, state.steps)
    change = moved - sigma
    image, total = part.sum(change), float(change.sum())
    gain = inner(change, excess) + state.tau * missing * total
    step = min(1.0, gain / (inner(image, image) + state.tau * total**2 or 1.0))
    if step > 0.0:
        state.duals.move(places, moved if step == 1.0 else np.clip(sigma + step * change, *ends))
        state.w[columns] = w - step * image
        state.beta += step * shift
    return state.duals.missing()


def _over_faces(
    part: Any, sigma: Array, excess: Array, ends: tuple[Array, Array], steps: dict[str, int]
) -> tuple[Array, float]:
    """σ moved so that f - ``excess`` is met on the rows that stay inside their piece, and the change of β."""
    system = _System(part, steps)
    free, moved = np.ones(sigma.size, bool), sigma.copy()
    left, v = excess, np.zeros(sigma.size)
    steps["newton"] += 1
    for _ in range(FACES):
        steps["faces"] += 1
        v, shift = system.solve(left, free, v, float((sigma - moved).sum()))
        t, change, image = _cut_step(part, moved, v, left + shift, ends)
        moved = np.clip(moved + change, *ends)
        stopped = free & ((moved == ends[0]) | (moved == ends[1]))
        free &= ~stopped
        if not stopped.any() or np.count_nonzero(free) < 2:
            break
        left, v = left - part.dot(image), (1.0 - t) * v
    return moved, shift


def _cut_step(
    part: Any, moved: Array, v: Array, left: Array, ends: tuple[Array, Array]
) -> tuple[float, Array, Array]:
    """t·v cut off at the ends, with t ≤ 1 such that it still gains: at worst up to where the first row stops."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(v > 0, (ends[1] - moved) / v, np.where(v < 0, (ends[0] - moved) / v, np.inf))
    first, slope, t = float(room[room > 0].min(initial=np.inf)), inner(v, left), 1.0
    while True:
        change = np.where(room <= t, np.where(v > 0, ends[1], ends[0]), moved + t * v) - moved
        image = part.sum(change)
        if t <= first or inner(change, left) - 0.5 * inner(image, image) >= GAIN * t * slope:
            return t, change, image
        t = max(t / 3.0, first)


class _System:
    """(XXᵀ + ridge)·v - η = right on the free rows, with Σv given; by Cholesky or by conjugate gradients."""

    def __init__(self, part: Any, steps: dict[str, int]) -> None:
        self.part, self.steps = part, steps
        self.ridge = RIDGE * float(part.norms.mean()) or 1.0
        rows, columns = part.shape
        self.narrow = columns < min(rows, NARROW)
        self.gram: Any = part.gram() if rows <= FEW and not self.narrow else None
        self.end: float | None = None

    def solve(self, right: Array, free: Array, start: Array, total: float) -> tuple[Array, float]:
        """v and η. ``start`` is a guess of v."""
        if self.gram is None and not self.narrow:
            v, shift, finished = self._by_gradients(right, free, start, total)
            if finished or right.size > SOME:
                return v, shift
            self.gram = self.part.gram()
        both = np.stack([right * free, free.astype(np.float64)], axis=1)
        try:
            both = self._over_columns(both, free) if self.narrow else self._over_rows(both, free)
        except LinAlgError:
            return self._by_gradients(right, free, start, total)[:2]
        shift = (total - float(both[:, 0].sum())) / float(both[:, 1].sum())
        return both[:, 0] + shift * both[:, 1], shift

    def _over_rows(self, right: Array, free: Array) -> Array:
        """By the Gram matrix of the free rows."""
        chosen = np.flatnonzero(free)
        matrix = self.gram[np.ix_(chosen, chosen)]
        matrix.flat[:: chosen.size + 1] += self.ridge
        result = np.zeros_like(right)
        result[chosen] = cho_solve(cho_factor(matrix, lower=True, check_finite=False), right[chosen])
        return result

    def _over_columns(self, right: Array, free: Array) -> Array:
        """By XᵀX of the free rows (Woodbury's formula), where there are fewer columns than rows."""
        matrix = self.part.moments(free)
        matrix.flat[:: matrix.shape[0] + 1] += self.ridge
        factor = cho_factor(matrix, lower=True, check_finite=False)
        fits = [self.part.dot(cho_solve(factor, self.part.sum(column))) for column in right.T]
        return (right - free[:, None] * np.stack(fits, axis=1)) / self.ridge

    def _by_gradients(self, right: Array, free: Array, start: Array, total: float) -> tuple[Array, float, bool]:
        """Preconditioned by the diagonal; the first call sets the residual that all calls stop at."""
        part, inverse = self.part, free / (self.part.norms + self.ridge)
        whole = float(inverse.sum())
        v = start * free
        v += inverse * ((total - float(v.sum())) / whole)
        r = right - (self.ridge * v + part.dot(part.sum(v))) if v.any() else right.copy()
        y = inverse * (r - inner(inverse, r) / whole)
        p, now, k = y.copy(), inner(r, y), 0
        self.end = CG_SHARE**2 * now if self.end is None else self.end
        while k < CG_STEPS and now > self.end:
            image = self.ridge * p + part.dot(part.sum(p))
            step = now / inner(p, image)
            v += step * p
            r -= step * image
            y = inverse * (r - inner(inverse, r) / whole)
            now, last = inner(r, y), now
            p = y + (now / last) * p
            k += 1
        self.steps["cg"] += k
        return v, -inner(inverse, r) / whole, k < CG_STEPS

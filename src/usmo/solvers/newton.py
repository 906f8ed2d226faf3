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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from usmo.core.arrays import Array
from usmo.core.solution import PassRecord, Status
from usmo.kernels.threads import single_blas
from usmo.solvers.newton_direction import newton_direction
from usmo.solvers.newton_loss import inner
from usmo.solvers.newton_rows import MARGIN, Duals
from usmo.solvers.stopping import Limits, Progress

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

CRUMBS = 1e-12
"""Relative gap below which the violation does not count: a row that holds the rounding of Σσ has one, too."""

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

STIFFNESS = 0.1
"""Weight of (Σb - Σσ)² in sweeps, in units of the mean ‖x‖²: the size of typical inner products between texts."""


@dataclass(frozen=True)
class NewtonResult:
    """The best point met. ``products`` are passes over the entries of the table; w is Xᵀ(b - σ) up to rounding.

    ``sigma`` is empty if the rows lie in shards, which keep it.
    """

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

    duals: Any
    w: Array
    beta: float
    tau: float
    primal: float = np.inf
    gap: float = np.inf
    violation: float = np.inf
    inside: int = 0
    sweeps: int = 0

    def record(self, limits: Limits) -> PassRecord:
        """The state after a round; the objective is that of the dual, to be minimised, less a constant."""
        return PassRecord(
            kind="round",
            steps=self.sweeps,
            objective=self.gap - self.primal,
            violation=self.violation,
            beta=self.beta,
            nonbound=self.inside,
            kernel_rows=0.0,
            seconds=limits.seconds,
        )


def solve(rows: Any, b: Array, c: Array, **options: Any) -> NewtonResult:
    """Solve with ``rows`` of :func:`usmo.solvers.newton_products.rows_of`; b and c have an entry for each."""
    return solve_duals(Duals(rows, b, c), **options)


def solve_duals(
    duals: Any,
    *,
    sigma: Any = None,
    w: Array | None = None,
    beta: float | None = None,
    tol: float = 1e-3,
    gap_tol: float = 1e-6,
    max_iter: int = -1,
    max_time: float | None = None,
    progress: Progress | None = None,
    report_guess: Callable[[Array, float], None] | None = None,
) -> NewtonResult:
    """Solve to a relative gap of ``gap_tol`` and a KKT violation of ``tol``. Needs b, c ≥ 0 and 0 < Σb < Σc.

    ``duals`` are the rows of one process (:class:`usmo.solvers.newton_rows.Duals`) or of many shards
    (:class:`usmo.solvers.newton_shard_rows.ShardedDuals`). A start is σ, best with β, as of an earlier solution, or w
    with β. ``max_iter`` limits the rounds. ``report_guess`` gets the best w and β after each round.
    """
    limits = Limits(max_iter, max_time, progress)
    with single_blas():
        before = duals.spent
        warm = w is not None or sigma is not None
        if warm:
            duals.start(sigma, w, beta)
        state = _State(duals, duals.point(), beta or 0.0, STIFFNESS * duals.norm or 1.0)
        if warm and beta is not None:
            dual = duals.gained() - 0.5 * inner(state.w, state.w)
            _sweeps(state, SAFETY * gap_tol * max(1.0, abs(dual)), SWEEPS, FIRST_AIM)
        best_w, best_beta, status = _rounds(state, tol, gap_tol, limits, report_guess)
    spent = duals.spent - before
    return NewtonResult(best_w, best_beta, duals.best, len(limits.history), spent, tuple(limits.history), status)


def _rounds(
    state: _State, tol: float, gap_tol: float, limits: Limits, report_guess: Callable[[Array, float], None] | None
) -> tuple[Array, float, Status]:
    """Rounds until the tolerances are met: w and β of the best point, and why the rounds ended."""
    best, idle, status = (np.inf, state.w, state.beta), 0, None
    while status is None:
        if idle > 0:
            state.w = state.duals.point()  # without the rounding of many small changes
        _evaluate(state)
        limits.report(state.record(limits), state.duals.shown(state.w))
        tolerance = gap_tol * max(1.0, abs(state.primal))
        merit = state.gap / tolerance
        if state.gap > CRUMBS * max(1.0, abs(state.primal)):
            merit = max(merit, state.violation / tol)
        idle = 0 if merit < PROGRESS * best[0] else idle + 1
        if merit < best[0]:
            best = (merit, state.w.copy(), state.beta)
            state.duals.keep()
            if report_guess is not None:
                report_guess(*best[1:])
        status = "optimal" if merit <= 1.0 else limits.reached(len(limits.history))
        if status is None and (idle > IDLE or len(limits.history) >= ROUNDS):
            status = "precision"
        if status is None:
            if state.gap <= tolerance:  # only the violation is left, which falls with the gap
                tolerance = BELOW * max(state.gap, SMALLEST * max(1.0, abs(state.primal)))
            state.duals.choose(state.beta, max(state.gap, tolerance), idle)
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
        state.sweeps += 1
        missing, slack, weight = duals.sweep(state.sweeps, state.w, state.beta, tau, missing, margin)
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
    moved, shift = newton_direction(part, sigma, excess, ends)
    change = moved - sigma
    image, total = part.sum(change), float(change.sum())
    gain = inner(change, excess) + state.tau * missing * total
    step = min(1.0, gain / (inner(image, image) + state.tau * total**2 or 1.0))
    if step > 0.0:
        state.duals.move(places, moved if step == 1.0 else np.clip(sigma + step * change, *ends))
        state.w[columns] = w - step * image
        state.beta += step * shift
    return state.duals.missing()

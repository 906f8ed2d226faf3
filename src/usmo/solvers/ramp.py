"""The ramp loss: du Plessis, Niu, Sugiyama 2014, by the concave-convex procedure (CCCP).

    minimise  J(f) = ½‖f‖² + Σ_P 2b·ℓ(f) + Σ_U c·ℓ(-f),        ℓ(z) = ½·max(0, min(2, 1 - z))

Because ℓ(z) + ℓ(-z) = 1, this is the PU risk in the scale of ``core/problem.py``, up to a constant. It is not convex.
ℓ is a hinge at 1 minus a hinge at -1. Each step of the procedure replaces the second hinge by its tangent and solves
the rest, a support vector machine with some costs shifted:

    minimise  ½αᵀKα - yᵀα    over  Σα = 0,   α = y·(a - ζ),   0 ≤ a ≤ D,   ζ = D where y·f < -1, else 0

with y = 1, D = b on P and y = -1, D = c/2 on U. J falls with every step. The result depends on the start, so
three are tried and the lowest J is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from usmo.core.arrays import Array, Mask
from usmo.core.problem import Problem
from usmo.core.solution import Status
from usmo.kernels.matrix import KernelMatrix
from usmo.solvers import blocks, starts
from usmo.system.compilation import compiled

LARGEST = 12_000
"""Rows up to which the kernel matrix is held."""

_MOST_STEPS = 100
"""Convex steps from each start."""

_STEPS_PER_ROW = 10_000
"""Two-row steps per row after which a convex step ends."""

_CACHE = 1000.0
"""Megabytes for the kernel rows of the double hinge start."""


@dataclass(frozen=True)
class RampSolution:
    """α of every row of the table, β, J at the end and after each step of the procedure, for the best of the starts.

    ``violation`` is that of the last convex step. ``status`` is "optimal" if it is at most the tolerance and the
    procedure ended by itself, "max_iter" if it ran out of steps, "precision" if the convex step did not converge.
    """

    alpha: Array
    beta: float
    objective: float
    history: tuple[float, ...]
    iterations: int
    start: str
    objectives: dict[str, float]
    """J at the end of each start."""
    violation: float
    status: Status


@compiled
def _pair_steps(alpha, g, K, low, high, tau, most):  # type: ignore[no-untyped-def]
    """Two-row steps with second-order choice on ½αᵀKα - yᵀα, with g = y - Kα updated; returns violation and steps."""
    n = len(alpha)
    for step in range(most):
        i, best_up = -1, -np.inf
        least_down = np.inf
        for u in range(n):
            if alpha[u] < high[u] and g[u] > best_up:
                i, best_up = u, g[u]
            if alpha[u] > low[u]:
                least_down = min(least_down, g[u])
        if i < 0 or best_up - least_down <= tau:
            return best_up - least_down, step
        j, gain = -1, -1.0
        for u in range(n):
            difference = best_up - g[u]
            if alpha[u] > low[u] and difference > 0.0:
                curvature = max(K[i, i] + K[u, u] - 2.0 * K[i, u], 1e-12)
                if difference * difference / curvature > gain:
                    j, gain = u, difference * difference / curvature
        curvature = max(K[i, i] + K[j, j] - 2.0 * K[i, j], 1e-12)
        room_i, room_j = high[i] - alpha[i], alpha[j] - low[j]
        move = (g[i] - g[j]) / curvature
        if move >= min(room_i, room_j):
            move = min(room_i, room_j)
        alpha[i] = high[i] if move == room_i else alpha[i] + move
        alpha[j] = low[j] if move == room_j else alpha[j] - move
        for u in range(n):
            g[u] -= move * (K[i, u] - K[j, u])
    return np.inf, most


class _Descent(NamedTuple):
    """Where the procedure ends from one start."""

    alpha: Array
    beta: float
    history: list[float]
    violation: float
    status: Status


class _Procedure:
    """One problem with its kernel matrix over P and then U."""

    def __init__(self, problem: Problem, kernel: KernelMatrix) -> None:
        rows = np.concatenate([problem.b_rows, problem.c_rows])
        if len(rows) > LARGEST:
            raise ValueError(f"the ramp loss holds the kernel matrix, of at most {LARGEST} rows; got {len(rows)}")
        self.K = np.ascontiguousarray(kernel.block(rows, rows))
        self.y = np.r_[np.ones(problem.p), -np.ones(problem.n)]
        self.D = np.r_[problem.b, 0.5 * problem.c]

    def objective(self, alpha: Array, beta: float) -> float:
        g = self.K @ alpha
        z = self.y * (g + beta)
        ramp = np.clip(1.0 - z, 0.0, 2.0)
        return float(0.5 * alpha @ g + self.D @ ramp)

    def convex_step(self, alpha: Array, far: Mask, tau: float) -> tuple[Array, float, float]:
        """α, β and the violation at the minimum with the tangent taken at the rows ``far`` below -1."""
        shift = np.where(far, self.D, 0.0)
        ends = self.y * (self.D - shift), -self.y * shift
        low, high = np.minimum(*ends), np.maximum(*ends)
        alpha = _balanced(np.clip(alpha, low, high), low, high)
        g = self.y - self.K @ alpha
        violation, _ = _pair_steps(alpha, g, self.K, low, high, tau, _STEPS_PER_ROW * len(alpha))
        free = (alpha > low) & (alpha < high)
        if free.any():
            return alpha, float(g[free].mean()), violation
        bounds = g[alpha < high].max(initial=-np.inf), g[alpha > low].min(initial=np.inf)
        finite = [value for value in bounds if np.isfinite(value)]
        return alpha, float(np.mean(finite)), violation

    def run(self, f: Array, tau: float, most: int) -> _Descent:
        """The procedure from the decision values ``f``, until no row changes its part of the loss."""
        alpha, history = np.zeros(len(f)), []
        far = self.y * f < -1.0
        beta, violation, ended = 0.0, 0.0, False
        for _ in range(most):
            alpha, beta, violation = self.convex_step(alpha, far, tau)
            history.append(self.objective(alpha, beta))
            now = self.y * (self.K @ alpha + beta) < -1.0
            if (now == far).all() or (len(history) > 1 and history[-1] >= history[-2] * (1.0 - 1e-9)):
                ended = True
                break
            far = now
        status: Status = "optimal" if ended else "max_iter"
        return _Descent(alpha, beta, history, violation, status if violation <= tau else "precision")


def _balanced(alpha: Array, low: Array, high: Array) -> Array:
    """α changed so that Σα = 0, each row by the same share of its room."""
    for _ in range(3):
        missing = -float(np.sum(alpha, dtype=np.longdouble))
        room = high - alpha if missing > 0 else alpha - low
        total = float(room.sum())
        if missing == 0.0 or total <= 0.0:
            break
        alpha = np.clip(alpha + missing * room / total, low, high)
    return alpha


def solve(
    problem: Problem, kernel: KernelMatrix, *, tol: float = 1e-3, max_iter: int = _MOST_STEPS
) -> RampSolution:
    """Minimise from three starts: no tangents (f = 0), the paper's one-class start, the double hinge optimum."""
    procedure = _Procedure(problem, kernel)
    rows = np.concatenate([problem.b_rows, problem.c_rows])
    scores = starts.one_class_scores(problem, kernel)
    own_rows = blocks.local_rows(problem, kernel, blocks.choose_float_type(problem, kernel, tol), _CACHE)
    hinge = blocks.solve(problem, own_rows, tol=tol)
    coefficients = problem.table_coefficients(hinge.sigma, len(kernel))
    support = np.flatnonzero(coefficients)
    ranked = np.full(problem.n, -2.0)
    ranked[np.argsort(scores)[::-1][: max(1, round(problem.share * problem.n))]] = 2.0
    begin = {
        "zero": np.zeros(len(rows)),
        "one-class": np.r_[np.full(problem.p, 2.0), ranked],
        "double hinge": kernel.product(rows, support, coefficients[support]) + hinge.beta,
    }
    descents = {name: procedure.run(f, tol, max_iter) for name, f in begin.items()}
    start = min(descents, key=lambda name: descents[name].history[-1])
    best = descents[start]
    alpha = np.zeros(len(kernel))
    np.add.at(alpha, rows, best.alpha)  # a row may be in P and in U
    return RampSolution(
        alpha=alpha,
        beta=best.beta,
        objective=best.history[-1],
        history=tuple(best.history),
        iterations=sum(len(descent.history) for descent in descents.values()),
        start=start,
        objectives={name: descent.history[-1] for name, descent in descents.items()},
        violation=best.violation,
        status=best.status,
    )

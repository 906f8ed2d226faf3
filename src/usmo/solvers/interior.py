"""The primal-dual interior point for K = ΦΦᵀ: all work is sums over blocks of rows of Φ and one r × r system.

    minimise  ½‖w‖² - Σ min(σ, c2-σ)    over 0 ≤ σ ≤ c2,  Σσ = total,    w = v - Φᵀσ,    f = Φw + β

The kink is split away: σ = a + b with 0 ≤ a, b ≤ h = c2/2, where a earns 1 and b costs 1 per unit. With
multipliers z for the lower bounds and y for the upper ones, optimality is y - z = f + 1 on the a side, y - z =
f - 1 on the b side and four products per row that vanish; the method drives them to zero together (Mehrotra's
predictor and corrector). Eliminating rows leaves

    [ I + ΦᵀEΦ   ΦᵀE1 ] [dw]
    [ 1ᵀEΦ       1ᵀE1 ] [dβ]  = right-hand side,        E = 1/(z/a + y/(h-a)) summed over both sides.

Because f enters every row in the same way, it need not be kept: it is y - z - 1, and the two equations stay true
to rounding as long as all variables move by one common step length. The start is exactly centred: for given w, β
and μ, every row's a and b solve a quadratic equation. So any w, from a subsample or from another λ, is a warm
start; only the r + 1 equations for w and Σσ are then open, and they close linearly with the steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from usmo.core.arrays import Array
from usmo.core.shards import Found, Here, Team
from usmo.kernels.row_blocks import ArrayFeatures, Blocks
from usmo.solvers import interior_shards as rows

MOST_ITERATIONS = 200
_TOWARDS_BOUND = 0.995
"""Share of the longest step that keeps all variables positive."""

_STALLED = 12
"""Iterations without a smaller merit after which precision is exhausted."""


@dataclass(frozen=True)
class Centre:
    """A point near the central path: w, β and the μ to start from."""

    w: Array
    beta: float
    mu: float


@dataclass(frozen=True)
class Reached:
    """What the method reached: ``gap`` is the sum of the products, ``residual`` what is open of w = v - Φᵀσ.

    σ stays with the rows.
    """

    w: Array
    beta: float
    mu: float
    gap: float
    residual: float
    iterations: int


class _System:
    """The normal equations, factored after scaling their diagonal to one."""

    def __init__(self, M: Array) -> None:
        self.M = M
        self.scale = 1.0 / np.sqrt(np.maximum(np.diagonal(M), np.finfo(float).tiny))
        scaled = M * self.scale * self.scale[:, None]
        shift = 0.0
        while True:
            try:
                # NumPy's, like the products: SciPy may bring a BLAS of its own, whose threads would compete
                self.factor = np.linalg.cholesky(scaled + shift * np.eye(len(M)))
                break
            except np.linalg.LinAlgError:
                shift = max(1e-15, 100.0 * shift)
                if shift > 1e-3:
                    raise

    def solve(self, right: Array) -> Array:
        x = self._once(right)
        return x + self._once(right - self.M @ x)

    def _once(self, right: Array) -> Array:
        half = linalg.solve_triangular(self.factor, self.scale * right, lower=True, check_finite=False)
        return self.scale * linalg.solve_triangular(self.factor, half, lower=True, trans="T", check_finite=False)


def solve(
    team: Team,
    v: Array,
    total: float,
    start: Centre,
    *,
    goal: float,
    most: int = MOST_ITERATIONS,
    deadline: float | None = None,
    save: Callable[[Array, float], None] | None = None,
) -> Reached:
    """Minimise to a sum of products of ``goal``, or as far as float64, ``most`` and the time carry.

    ``team`` has shards of :class:`usmo.solvers.interior_shards.Part`. An iteration is three calls: the normal
    equations, (r + 3)(r + 1) numbers from each shard; the predictor, 2(r + 1); the corrector, one. ``save`` is
    called with w and β after each.

    References
    ----------
    S. Mehrotra. On the implementation of a primal-dual interior point method. SIAM J. Optim., 1992.
    M. C. Ferris, T. S. Munson. Interior-point methods for massive support vector machines. SIAM J. Optim., 2002.
    """
    w, beta = start.w.copy(), start.beta
    size = 1.0 + float(np.abs(v).max(initial=0.0))
    best, since, iterations = np.inf, 0, 0
    found = team.total(rows.begin, w, beta, start.mu)
    while True:
        system, right, residual, products = _normal_equations(found, v, w, total)
        mu = products / (4.0 * found.sums[2])
        open_ = float(np.abs(residual[:-1]).max(initial=0.0)) / size
        open_ = max(open_, abs(float(residual[-1])) / max(total, np.finfo(float).tiny))
        merit = max(products / goal, open_ / 1e-9)
        best, since = (merit, 0) if merit < 0.9 * best else (best, since + 1)
        over = deadline is not None and time.perf_counter() >= deadline
        if merit <= 1.0 or since >= _STALLED or iterations >= most or over:
            break
        affine = system.solve(right)
        ahead = team.total(rows.predict, affine)
        (towards, second), quadratic, longest = *ahead.sums, 1.0 / ahead.highs[0]
        left = max(0.0, products * (1.0 - longest) + longest**2 * quadratic)
        target = mu * min(1.0, (left / products) ** 3) if products > 0 else 0.0
        step = system.solve(right - target * towards - second)
        if not np.isfinite(step).all():
            break
        length = min(1.0, _TOWARDS_BOUND / team.total(rows.correct, step, target).highs[0])
        found = team.total(rows.move, length)
        w, beta = w + length * step[:-1], beta + length * float(step[-1])
        iterations += 1
        if save is not None:
            save(w, beta)
    return Reached(w, beta, mu, products, open_, iterations)


def _normal_equations(found: Found, v: Array, w: Array, total: float) -> tuple[_System, Array, Array, float]:
    """The normal equations, the affine right-hand side with the open residuals in it, these, and Σ of products."""
    sums, products, _ = found.sums
    r = len(w)
    M = sums[: r + 1].copy()
    M[np.arange(r), np.arange(r)] += 1.0
    residual = np.append(v - w - sums[r + 2, :r], total - sums[r + 2, r])
    return _System(M), residual - sums[r + 1], residual, products


def cold(team: Team, v: Array, total: float) -> Centre:
    """The start without any knowledge: w = 0, and rows smoothed over the whole range that f might come to have.

    That is the range for σ all equal: there every row pulls alike, and with little regularisation far too much.
    """
    pull, mass, n = team.total(rows.bounds, 1.0).sums
    squares = team.total(rows.spread, v, (total / mass) * pull).sums[0]
    width = 1.0 + 0.1 * float(np.sqrt(squares / n))
    return Centre(np.zeros(len(v)), 0.0, 0.5 * mass / n * width)


def warm_up() -> None:
    """Compile the row loops."""
    team = Here(rows.Part(Blocks(ArrayFeatures(np.array([[0.0], [1.0], [2.0]]))), np.ones(3)))
    solve(team, np.ones(1), 1.0, cold(team, np.ones(1), 1.0), goal=1e-3)

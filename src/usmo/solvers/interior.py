"""The primal-dual interior point for K = ΦΦᵀ: all work is sums over blocks of rows of Φ and one r × r system.

    minimise  ½‖w‖² - Σ min(σ, c-σ)    over 0 ≤ σ ≤ c,  Σσ = total,    w = v - Φᵀσ,    f = Φw + β

The kink is removed by σ = a + b with 0 ≤ a, b ≤ h = c/2; -Σ min(σ, c-σ) becomes Σ(b - a). With multipliers z for
the lower bounds and y for the upper ones, optimality is y - z = f + 1 on the a side, y - z = f - 1 on the b side and
four products per row that vanish; the method drives them to zero together (Mehrotra's predictor and corrector).
Eliminating rows leaves

    [ I + ΦᵀEΦ   ΦᵀE1 ] [dw]
    [ 1ᵀEΦ       1ᵀE1 ] [dβ]  = right-hand side,        E = 1/(z/a + y/(h-a)) summed over both sides.

f is not stored: it is y - z - 1, and the two equations stay true to rounding as long as all variables move by one
common step length. The start is exactly centred: for given w, β and μ, the a and b of every row solve a quadratic
equation. So any w, from a subsample or from another λ, is a warm start. Only the r + 1 equations for w and Σσ are then
violated, and their residuals fall linearly with the steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from usmo.core.arrays import Array
from usmo.core.shards import LocalShards
from usmo.kernels.row_blocks import ArrayFeatures, Blocks
from usmo.solvers.interior_rows import Equations, InteriorRows
from usmo.solvers.interior_shards import InteriorShard

MOST_ITERATIONS = 200
_TOWARDS_BOUND = 0.995
"""Share of the longest step that keeps all variables positive."""

_STALLED = 12
"""Iterations without a smaller merit after which rounding prevents progress."""

_RESIDUAL = 1e-9
"""Relative residual of the linear equations that counts as solved."""


@dataclass(frozen=True)
class Centre:
    """A point near the central path: w, β and the μ to start from."""

    w: Array
    beta: float
    mu: float


@dataclass(frozen=True)
class InteriorPoint:
    """The last iterate. σ stays with the rows.

    ``gap`` is the sum of the products, ``residual`` that of w = v - Φᵀσ, and ``converged`` tells whether both are as
    small as required.
    """

    w: Array
    beta: float
    mu: float
    gap: float
    residual: float
    iterations: int
    converged: bool


class _System:
    """The normal equations, factored after scaling their diagonal to one."""

    def __init__(self, M: Array) -> None:
        self.M = M
        self.scale = 1.0 / np.sqrt(np.maximum(np.diagonal(M), np.finfo(float).tiny))
        scaled = M * self.scale * self.scale[:, None]
        shift = 0.0
        while True:
            try:
                # NumPy's, like the products: SciPy may ship another BLAS, whose threads would compete
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
    rows: InteriorRows,
    v: Array,
    total: float,
    start: Centre,
    *,
    goal: float,
    most: int = MOST_ITERATIONS,
    deadline: float | None = None,
    save: Callable[[Array, float], None] | None = None,
) -> InteriorPoint:
    """Minimise until the sum of products is ``goal``, or until rounding, ``most`` iterations or the deadline end it.

    An iteration is three calls of ``rows``: the normal equations, (r + 3)(r + 1) numbers from each shard; the
    predictor, 2(r + 1); the corrector, one. ``save`` is called with w and β after each.

    References
    ----------
    S. Mehrotra. On the implementation of a primal-dual interior point method. SIAM J. Optim., 1992.
    M. C. Ferris, T. S. Munson. Interior-point methods for massive support vector machines. SIAM J. Optim., 2002.
    """
    w, beta = start.w.copy(), start.beta
    size = 1.0 + float(np.abs(v).max(initial=0.0))
    best, since, iterations = np.inf, 0, 0
    equations = rows.begin(w, beta, start.mu)
    while True:
        # 1) the normal equations, and whether they are solved
        system, right, residual = _normal_equations(equations, v, w, total)
        products = equations.products
        mu = products / (4.0 * equations.n)
        violated = float(np.abs(residual[:-1]).max(initial=0.0)) / size
        violated = max(violated, abs(float(residual[-1])) / max(total, np.finfo(float).tiny))
        merit = max(products / goal, violated / _RESIDUAL)
        best, since = (merit, 0) if merit < 0.9 * best else (best, since + 1)
        over = deadline is not None and time.perf_counter() >= deadline
        if merit <= 1.0 or since >= _STALLED or iterations >= most or over:
            break
        # 2) predictor
        affine = rows.predict(system.solve(right))
        left = max(0.0, products * (1.0 - affine.longest) + affine.longest**2 * affine.quadratic)
        target = mu * min(1.0, (left / products) ** 3) if products > 0 else 0.0
        # 3) corrector
        step = system.solve(right - target * affine.towards - affine.second)
        if not np.isfinite(step).all():
            break
        length = min(1.0, _TOWARDS_BOUND / rows.correct(step, target))
        # 4) step
        equations = rows.move(length)
        w, beta = w + length * step[:-1], beta + length * float(step[-1])
        iterations += 1
        if save is not None:
            save(w, beta)
    return InteriorPoint(w, beta, mu, products, violated, iterations, bool(merit <= 1.0))


def _normal_equations(equations: Equations, v: Array, w: Array, total: float) -> tuple[_System, Array, Array]:
    """The normal equations, their right-hand side for the affine step, and the residuals of w and Σσ."""
    r = len(w)
    M = equations.matrix.copy()
    M[np.arange(r), np.arange(r)] += 1.0
    residual = np.append(v - w - equations.sigma[:r], total - equations.sigma[r])
    return _System(M), residual - equations.affine, residual


def cold(rows: InteriorRows, v: Array, total: float) -> Centre:
    """Cold start: w = 0 and a μ that smooths σ over 1 + a tenth of the RMS of f at equal σ/c.

    The full RMS is too wide for small λ.
    """
    phi_c, mass, n = rows.totals()
    width = 1.0 + 0.1 * float(np.sqrt(rows.mean_square(v - (total / mass) * phi_c, n)))
    return Centre(np.zeros(len(v)), 0.0, 0.5 * mass / n * width)


def warm_up() -> None:
    """Compile the loops over rows."""
    shard = InteriorShard(Blocks(ArrayFeatures(np.array([[0.0], [1.0], [2.0]]))), np.ones(3))
    rows = InteriorRows(LocalShards(shard))
    solve(rows, np.ones(1), 1.0, cold(rows, np.ones(1), 1.0), goal=1e-3)

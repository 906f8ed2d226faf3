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
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from usmo._jit import compiled
from usmo.features import Blocks, Sums
from usmo.problem import Array

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
class Found:
    """What the method reached: ``gap`` is the sum of the products, ``residual`` what is open of w = v - Φᵀσ."""

    sigma: Array
    w: Array
    beta: float
    mu: float
    gap: float
    residual: float
    iterations: int


@compiled
def _centred(S, h, f, mu):  # type: ignore[no-untyped-def]
    """Rows on the central path for their f: a·z = (h-a)·y = μ and y - z = f ± 1."""
    for i in range(len(h)):
        for side in range(2):
            c = f[i] + (1.0 if side == 0 else -1.0)
            reach = np.sqrt(c * c * h[i] * h[i] + 4.0 * mu * mu) + 2.0 * mu + abs(c) * h[i]
            near = 2.0 * mu * h[i] / reach
            a = h[i] - near if c > 0.0 else near
            rest = near if c > 0.0 else h[i] - near
            S[side, i] = a
            S[2 + 2 * side, i] = mu / a
            S[3 + 2 * side, i] = mu / rest


# With D = 1/(zs + ya), s = h - a, every quotient below is a product: 1/(z/a + y/s) = a·s·D.


@compiled
def _weights(S, h, first, last, E, g, sigma):  # type: ignore[no-untyped-def]
    """E, the affine part of dσ, and σ of the rows; returns the sum of the products."""
    total = 0.0
    for i in range(first, last):
        a, b, s, t = S[0, i], S[1, i], h[i] - S[0, i], h[i] - S[1, i]
        za, ya, zb, yb = S[2, i], S[3, i], S[4, i], S[5, i]
        ea, eb = a * s / (za * s + ya * a), b * t / (zb * t + yb * b)
        E[i - first] = ea + eb
        g[i - first] = (ya - za) * ea + (yb - zb) * eb
        sigma[i - first] = a + b
        total += a * za + s * ya + b * zb + t * yb
    return total


@compiled
def _affine(a, z, y, h, df):  # type: ignore[no-untyped-def]
    """One side of a row: how near its step comes to a bound, its second-order products, and their part of dσ."""
    s = h - a
    D = 1.0 / (z * s + y * a)
    N = (df + y - z) * D
    to_a, to_s = N * s, N * a  # da/a and da/s
    da = to_a * a
    dz, dy = -z - z * to_a, -y + y * to_s
    reach = max(max(-to_a, to_s), 1.0 + max(to_a, -to_s))
    return reach, da * dz, -da * dy, (s - a) * D, -(to_a * dz + to_s * dy) * (a * s * D)


@compiled
def _predict(S, h, first, last, df, D, g1, g2):  # type: ignore[no-untyped-def]
    """The affine step: the reciprocal of its length, the sum of its second-order products, and what μ adds."""
    nearest, quadratic = 1.0, 0.0
    for i in range(first, last):
        k = i - first
        reach_a, low_a, high_a, mu_a, more_a = _affine(S[0, i], S[2, i], S[3, i], h[i], df[k])
        reach_b, low_b, high_b, mu_b, more_b = _affine(S[1, i], S[4, i], S[5, i], h[i], df[k])
        nearest = max(nearest, max(reach_a, reach_b))
        quadratic += low_a + high_a + low_b + high_b
        D[0, i], D[1, i], D[2, i], D[3, i] = low_a, high_a, low_b, high_b
        g1[k] = mu_a + mu_b
        g2[k] = more_a + more_b
    return nearest, quadratic


@compiled
def _corrected(a, z, y, h, df, lower, upper):  # type: ignore[no-untyped-def]
    """One side of a row: how near its corrected step comes to a bound, and the step."""
    s = h - a
    da = (df * a * s + lower * s - upper * a) / (z * s + y * a)
    to_a, to_s = 1.0 / a, 1.0 / s
    dz, dy = (lower - z * da) * to_a, (upper + y * da) * to_s
    reach = max(max(-da * to_a, da * to_s), max(-dz / z, -dy / y))
    return reach, da, dz, dy


@compiled
def _correct(S, h, first, last, df, target, D):  # type: ignore[no-untyped-def]
    """The corrected step of the rows, into D; returns the reciprocal of its longest length."""
    nearest = 0.0
    for i in range(first, last):
        k = i - first
        a, b, za, ya, zb, yb = S[0, i], S[1, i], S[2, i], S[3, i], S[4, i], S[5, i]
        low_a, high_a = target - a * za - D[0, i], target - (h[i] - a) * ya - D[1, i]
        low_b, high_b = target - b * zb - D[2, i], target - (h[i] - b) * yb - D[3, i]
        reach_a, D[0, i], D[2, i], D[3, i] = _corrected(a, za, ya, h[i], df[k], low_a, high_a)
        reach_b, D[1, i], D[4, i], D[5, i] = _corrected(b, zb, yb, h[i], df[k], low_b, high_b)
        nearest = max(nearest, max(reach_a, reach_b))
    return nearest


@compiled
def _move(S, h, D, first, last, length):  # type: ignore[no-untyped-def]
    """Take the step, staying a rounding away from every bound."""
    for i in range(first, last):
        for k in range(2):
            S[k, i] = min(max(S[k, i] + length * D[k, i], h[i] * 1e-100), h[i] * (1.0 - 2e-16))
        for k in range(2, 6):
            S[k, i] = max(S[k, i] + length * D[k, i], 1e-200)


@compiled
def _scaled(X, E):  # type: ignore[no-untyped-def]
    """Rows times √E, with a last column for β."""
    Y = np.empty((X.shape[0], X.shape[1] + 1))
    for i in range(X.shape[0]):
        root = np.sqrt(E[i])
        for j in range(X.shape[1]):
            Y[i, j] = root * X[i, j]
        Y[i, X.shape[1]] = root
    return Y


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


class _Method:
    """The state of all rows (a, b, z, y, z, y) and the sums over blocks that an iteration needs."""

    def __init__(self, blocks: Blocks, h: Array, v: Array, total: float, start: Centre) -> None:
        self.blocks, self.h, self.v, self.total = blocks, h, v, total
        self.w, self.beta = start.w.copy(), start.beta
        self.S, self.D = np.empty((6, blocks.n)), np.empty((6, blocks.n))
        _centred(self.S, h, blocks.dot(self.w) + self.beta, start.mu)

    def system(self) -> tuple[_System, Array, float]:
        """The normal equations, the affine right-hand side with the open residuals in it, and Σ of products."""
        r, sums = self.blocks.r, Sums(self.blocks.step)

        def work(part: slice) -> None:
            X = self.blocks.block(part)
            E, g, sigma = (np.empty(X.shape[0]) for _ in range(3))
            products = _weights(self.S, self.h, part.start, part.stop, E, g, sigma)
            both = np.stack([g, sigma])
            out = np.zeros((r + 3, r + 1))
            if sparse.issparse(X):
                Y = sparse.hstack([X, np.ones((X.shape[0], 1))], format="csr")
                Y.data *= np.repeat(np.sqrt(E), np.diff(Y.indptr))
                product = Y.T @ Y
                out[: r + 1] = product.toarray() if sparse.issparse(product) else product
            else:
                Y = _scaled(X, E)
                np.dot(Y.T, Y, out=out[: r + 1])  # NumPy sees that it is symmetric
            out[r + 1 :, :r] = both @ X
            out[r + 1 :, r] = both.sum(axis=1)
            sums.add(part, np.append(out.ravel(), products))

        self.blocks.each(work)
        found = sums.total[:-1].reshape(r + 3, r + 1)
        M = found[: r + 1].copy()
        M[np.arange(r), np.arange(r)] += 1.0
        self.residual = np.append(self.v - self.w - found[r + 2, :r], self.total - found[r + 2, r])
        return _System(M), self.residual - found[r + 1], float(sums.total[-1])

    def predict(self, step: Array) -> tuple[float, float, Array, Array]:
        """Along the affine step: its longest length, the second-order part of Σ of products, Φᵀ of two vectors."""
        r, sums, reaches = self.blocks.r, Sums(self.blocks.step), []

        def work(part: slice) -> None:
            X = self.blocks.block(part)
            df = X @ step[:r] + step[r]
            g = np.empty((2, X.shape[0]))
            nearest, quadratic = _predict(self.S, self.h, part.start, part.stop, df, self.D, g[0], g[1])
            reaches.append(nearest)
            out = np.empty((2, r + 1))
            out[:, :r] = g @ X
            out[:, r] = g.sum(axis=1)
            sums.add(part, np.append(out.ravel(), quadratic))

        self.blocks.each(work)
        towards, second = sums.total[:-1].reshape(2, r + 1)
        return 1.0 / max(reaches), float(sums.total[-1]), towards, second

    def correct(self, step: Array, target: float) -> float:
        """The corrected step of all rows; returns its longest length."""
        r, reaches = self.blocks.r, [0.0]

        def work(part: slice) -> None:
            df = self.blocks.block(part) @ step[:r] + step[r]
            reaches.append(_correct(self.S, self.h, part.start, part.stop, df, target, self.D))

        self.blocks.each(work)
        return 1.0 / max(max(reaches), 0.5)

    def move(self, step: Array, length: float) -> None:
        self.blocks.each(lambda part: _move(self.S, self.h, self.D, part.start, part.stop, length))
        self.w += length * step[:-1]
        self.beta += length * float(step[-1])


def solve(
    blocks: Blocks,
    c2: Array,
    v: Array,
    total: float,
    start: Centre,
    *,
    goal: float,
    most: int = MOST_ITERATIONS,
    deadline: float | None = None,
) -> Found:
    """Minimise to a sum of products of ``goal``, or as far as float64, ``most`` and the time carry.

    References
    ----------
    S. Mehrotra. On the implementation of a primal-dual interior point method. SIAM J. Optim., 1992.
    M. C. Ferris, T. S. Munson. Interior-point methods for massive support vector machines. SIAM J. Optim., 2002.
    """
    h = 0.5 * c2
    method = _Method(blocks, h, v, total, start)
    size = 1.0 + float(np.abs(v).max(initial=0.0))
    best, since, iterations, products, open_ = np.inf, 0, 0, np.inf, np.inf
    while True:
        system, right, products = method.system()
        mu = products / (4.0 * blocks.n)
        open_ = float(np.abs(method.residual[:-1]).max(initial=0.0)) / size
        open_ = max(open_, abs(float(method.residual[-1])) / max(total, np.finfo(float).tiny))
        merit = max(products / goal, open_ / 1e-9)
        best, since = (merit, 0) if merit < 0.9 * best else (best, since + 1)
        over = deadline is not None and time.perf_counter() >= deadline
        if merit <= 1.0 or since >= _STALLED or iterations >= most or over:
            break
        affine = system.solve(right)
        longest, quadratic, towards, second = method.predict(affine)
        ahead = max(0.0, products * (1.0 - longest) + longest**2 * quadratic)
        target = mu * min(1.0, (ahead / products) ** 3) if products > 0 else 0.0
        step = system.solve(right - target * towards - second)
        if not np.isfinite(step).all():
            break
        length = min(1.0, _TOWARDS_BOUND * method.correct(step, target))
        method.move(step, length)
        iterations += 1
    sigma = method.S[0] + method.S[1]
    return Found(sigma, method.w, method.beta, mu, products, open_, iterations)


def cold(blocks: Blocks, c2: Array, v: Array, total: float) -> Centre:
    """The start without any knowledge: w = 0, and rows smoothed over the whole range that f might come to have.

    That is the range for σ all equal: there every row pulls alike, and with little regularisation far too much.
    """
    share = total / float(c2.sum())
    f = blocks.dot(v - blocks.weighted_sum(share * c2))
    width = 1.0 + 0.1 * float(np.sqrt(np.mean(f * f)))
    return Centre(np.zeros(blocks.r), 0.0, 0.5 * float(c2.mean()) * width)


def warm_up() -> None:
    """Compile the row loops."""
    X: Any = np.array([[0.0], [1.0], [2.0]])
    from usmo.features import ArrayFeatures

    blocks = Blocks(ArrayFeatures(X))
    solve(blocks, np.ones(3), np.ones(1), 1.0, cold(blocks, np.ones(3), np.ones(1), 1.0), goal=1e-3)

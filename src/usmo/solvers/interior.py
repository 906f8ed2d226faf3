"""The primal-dual interior point for K = ΦΦᵀ: all work is sums over blocks of rows of Φ and one r × r system.

    minimise  ½‖w‖² - Σ min(σ, c2-σ)    over 0 ≤ σ ≤ c2,  Σσ = total,    w = v - Φᵀσ,    f = Φw + β

The kink is split away: σ = a + b with 0 ≤ a, b ≤ h = c2/2, where a earns 1 and b costs 1 per unit. With multipliers
z for the lower bounds and y for the upper ones, optimality is y - z = f + 1 on the a side, y - z = f - 1 on the b
side and four products per row that vanish; the method drives them to zero together (Mehrotra's predictor and
corrector). Eliminating rows leaves

    [ I + ΦᵀEΦ   ΦᵀE1 ] [dw]
    [ 1ᵀEΦ       1ᵀE1 ] [dβ]  = right-hand side,        E = 1/(z/a + y/(h-a)) summed over both sides.

Because f enters every row in the same way, it need not be kept: it is y - z - 1, and the two equations stay true to
rounding as long as all variables move by one common step length. The start is exactly centred: for given w, β and
μ, every row's a and b solve a quadratic equation. So any w, from a subsample or from another λ, is a warm start;
only the r + 1 equations for w and Σσ are then open, and they close linearly with the steps.
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

_MOST_ITERATIONS = 200
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


@compiled
def _weights(S, h, first, last, E, g, sigma):  # type: ignore[no-untyped-def]
    """E, the affine part of dσ, and σ of the rows; returns the sum of the products."""
    total = 0.0
    for i in range(first, last):
        a, b, s, t = S[0, i], S[1, i], h[i] - S[0, i], h[i] - S[1, i]
        za, ya, zb, yb = S[2, i], S[3, i], S[4, i], S[5, i]
        ea, eb = 1.0 / (za / a + ya / s), 1.0 / (zb / b + yb / t)
        E[i - first] = ea + eb
        g[i - first] = (ya - za) * ea + (yb - zb) * eb
        sigma[i - first] = a + b
        total += a * za + s * ya + b * zb + t * yb
    return total


@compiled
def _limit(value, change, longest):  # type: ignore[no-untyped-def]
    return min(longest, -value / change) if change < 0.0 else longest


@compiled
def _predict(S, h, first, last, df, D, g1, g2):  # type: ignore[no-untyped-def]
    """The affine step: its length, its second-order products, and what these and μ add to dσ."""
    longest, quadratic = 1.0, 0.0
    for i in range(first, last):
        k = i - first
        g1[k] = 0.0
        g2[k] = 0.0
        for side in range(2):
            a, z, y = S[side, i], S[2 + 2 * side, i], S[3 + 2 * side, i]
            s = h[i] - a
            e = 1.0 / (z / a + y / s)
            da = (df[k] + y - z) * e
            dz = -z - z * da / a
            dy = -y + y * da / s
            longest = _limit(a, da, longest)
            longest = _limit(s, -da, longest)
            longest = _limit(z, dz, longest)
            longest = _limit(y, dy, longest)
            quadratic += da * (dz - dy)
            D[2 * side, i] = da * dz
            D[2 * side + 1, i] = -da * dy
            g1[k] += (1.0 / a - 1.0 / s) * e
            g2[k] += (-da * dz / a - da * dy / s) * e
    return longest, quadratic


@compiled
def _correct(S, h, first, last, df, target, D):  # type: ignore[no-untyped-def]
    """The corrected step of the rows, into D; returns how far it can go."""
    longest = np.inf
    for i in range(first, last):
        k = i - first
        products = (D[0, i], D[1, i], D[2, i], D[3, i])
        for side in range(2):
            a, z, y = S[side, i], S[2 + 2 * side, i], S[3 + 2 * side, i]
            s = h[i] - a
            lower = target - a * z - products[2 * side]
            upper = target - s * y - products[2 * side + 1]
            da = (df[k] + lower / a - upper / s) / (z / a + y / s)
            dz = (lower - z * da) / a
            dy = (upper + y * da) / s
            longest = _limit(a, da, longest)
            longest = _limit(s, -da, longest)
            longest = _limit(z, dz, longest)
            longest = _limit(y, dy, longest)
            D[side, i] = da
            D[2 + 2 * side, i] = dz
            D[3 + 2 * side, i] = dy
    return longest


@compiled
def _move(S, h, D, first, last, length):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        for k in range(6):
            S[k, i] += length * D[k, i]
        for k in range(2):
            # a rounding away from its upper bound is as good as on it
            S[k, i] = min(S[k, i], h[i] * (1.0 - 1e-16))


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
                self.factor = linalg.cho_factor(scaled + shift * np.eye(len(M)), lower=True, check_finite=False)
                break
            except linalg.LinAlgError:
                shift = max(1e-15, 100.0 * shift)
                if shift > 1e-3:
                    raise

    def solve(self, right: Array) -> Array:
        x = self._once(right)
        return x + self._once(right - self.M @ x)

    def _once(self, right: Array) -> Array:
        return self.scale * linalg.cho_solve(self.factor, self.scale * right, check_finite=False)


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
                np.dot(Y.T, Y, out=out[: r + 1])
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
        """Along the affine step: its longest length, the quadratic part of Σ of products, and Φᵀ of two vectors."""
        r, sums, lengths = self.blocks.r, Sums(self.blocks.step), []

        def work(part: slice) -> None:
            X = self.blocks.block(part)
            df = X @ step[:r] + step[r]
            g = np.empty((2, X.shape[0]))
            longest, quadratic = _predict(self.S, self.h, part.start, part.stop, df, self.D, g[0], g[1])
            lengths.append(longest)
            out = np.empty((2, r + 1))
            out[:, :r] = g @ X
            out[:, r] = g.sum(axis=1)
            sums.add(part, np.append(out.ravel(), quadratic))

        self.blocks.each(work)
        towards, second = sums.total[:-1].reshape(2, r + 1)
        return min(lengths), float(sums.total[-1]), towards, second

    def correct(self, step: Array, target: float) -> float:
        r, lengths = self.blocks.r, []

        def work(part: slice) -> None:
            df = self.blocks.block(part) @ step[:r] + step[r]
            lengths.append(_correct(self.S, self.h, part.start, part.stop, df, target, self.D))

        self.blocks.each(work)
        return float(min(lengths))

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
    most: int = _MOST_ITERATIONS,
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

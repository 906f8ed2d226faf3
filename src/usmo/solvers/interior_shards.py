"""One shard of the interior point: the variables of some rows, and the part of an iteration that runs on them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array
from usmo.core.shards import Partial
from usmo.kernels.row_blocks import Blocks, OrderedSum
from usmo.system.compilation import compiled


@compiled
def _centred(S, h, f, mu):  # type: ignore[no-untyped-def]
    """Put rows on the central path for their f: a·z = (h-a)·y = μ and y - z = f ± 1."""
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
    """Compute E, the affine part of dσ, and σ of the rows; returns the sum of the products."""
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
    """Of one side (a or b): 1/longest affine step, two second-order products, dσ per unit of μ, second-order dσ."""
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
    """1/length of the affine step and Σ of second-order products; g1 gets dσ per unit of μ, g2 second-order dσ."""
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
    """Take the step. a and b are clamped to [1e-100·h, (1-2e-16)·h], multipliers to at least 1e-200."""
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


class InteriorShard:
    """Rows with their bounds c and, once begun, their variables (a, b, z, y, z, y) in ``S`` and the step in ``D``."""

    def __init__(self, blocks: Blocks, c: Array) -> None:
        self.blocks, self.c, self.h = blocks, c, 0.5 * c
        self.release()

    def release(self) -> None:
        """Free the variables."""
        self.S = self.D = np.empty((6, 0))

    @property
    def begun(self) -> bool:
        return self.S.shape[1] > 0

    @property
    def sigma(self) -> Array:
        return self.S[0] + self.S[1]

    def begin(self, w: Array, beta: float, mu: float) -> Partial:
        """Put the rows on the central path for this f and μ; returns their :meth:`equations`."""
        self.S, self.D = np.empty((6, self.blocks.n)), np.empty((6, self.blocks.n))
        _centred(self.S, self.h, self.blocks.dot(w) + beta, mu)
        return self.equations()

    def equations(self) -> Partial:
        """(ΦᵀEΦ bordered by β, then Φᵀ of the affine part of dσ and of σ: r + 3 lines; Σ of products; rows)."""
        blocks, r = self.blocks, self.blocks.r
        sums = OrderedSum(blocks.step)

        def work(rows: slice) -> None:
            X = blocks.block(rows)
            E, g, sigma = (np.empty(X.shape[0]) for _ in range(3))
            products = _weights(self.S, self.h, rows.start, rows.stop, E, g, sigma)
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
            sums.add(rows, np.append(out.ravel(), products))

        blocks.each(work)
        total = np.zeros((r + 3) * (r + 1) + 1) + sums.total
        return Partial((total[:-1].reshape(r + 3, r + 1), float(total[-1]), blocks.n))

    def predict(self, step: Array) -> Partial:
        """Along the affine step: Φᵀ of two vectors, second-order part of Σ of products; 1 / its longest length."""
        blocks, r = self.blocks, self.blocks.r
        sums, reaches = OrderedSum(blocks.step), [1.0]

        def work(rows: slice) -> None:
            X = blocks.block(rows)
            df = X @ step[:r] + step[r]
            g = np.empty((2, X.shape[0]))
            nearest, quadratic = _predict(self.S, self.h, rows.start, rows.stop, df, self.D, g[0], g[1])
            reaches.append(nearest)
            out = np.empty((2, r + 1))
            out[:, :r] = g @ X
            out[:, r] = g.sum(axis=1)
            sums.add(rows, np.append(out.ravel(), quadratic))

        blocks.each(work)
        total = np.zeros(2 * r + 3) + sums.total
        return Partial((total[:-1].reshape(2, r + 1), float(total[-1])), (max(reaches),))

    def correct(self, step: Array, target: float) -> Partial:
        """Compute the corrected step; returns 1 / its longest length."""
        r, reaches = self.blocks.r, [0.5]

        def work(rows: slice) -> None:
            df = self.blocks.block(rows) @ step[:r] + step[r]
            reaches.append(_correct(self.S, self.h, rows.start, rows.stop, df, target, self.D))

        self.blocks.each(work)
        return Partial((), (max(reaches),))

    def move(self, length: float) -> Partial:
        """Take the step; returns the new :meth:`equations`."""
        self.blocks.each(lambda rows: _move(self.S, self.h, self.D, rows.start, rows.stop, length))
        return self.equations()

    def sum_of_squares(self, v: Array) -> Partial:
        """Σf² of f = Φv, without β."""
        f = self.blocks.dot(v)
        return Partial((float(f @ f),))

    def totals(self) -> Partial:
        """Φᵀc, Σc and the number of rows."""
        return Partial((self.blocks.weighted_sum(self.c), float(self.c.sum()), self.blocks.n))

"""The idea of FALKON: kernel least squares on Nyström centres by preconditioned conjugate gradients.

The loss is the squared one, (1 - z)²/4, whose composite is linear like that of the double hinge. So labels and class
weights give the same b and c as in :mod:`usmo.core.labels`:

    minimise  Σ c·(1 + f)²/4 - Σ b·f + lam·‖f‖²,      f(x) = Σ_j a_j·k(z_j, x)  over m centres z
    (½KᵀCK + 2·lam·K_Z) a = Kᵀ(b - ½c)

With Cholesky factors TᵀT = K_Z and AᵀA = (Σc/2m)·TTᵀ + 2·lam·I the matrix Bᵀ(½KᵀCK + 2·lam·K_Z)B with B = T⁻¹A⁻¹ is
near the identity; conjugate gradients need some twenty products with K. Kernel values between rows and centres are
computed once, in float32, and kept, as FALKON does where memory allows; factors and vectors are float64.

A. Rudi, L. Carratino, L. Rosasco. FALKON: an optimal large scale kernel method. NIPS, 2017.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from usmo.core.labels import Part, Risk, label_problem
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.tables import tile_slices

_JITTER = 1e-7
"""Share of m added to the diagonal of K_Z, so that its factor exists in float64."""

_BLOCK = 8192
"""Rows whose products are added up in float32."""


class Falkon:
    """FALKON for labels 1 (positive) and 0 (unlabelled), with uniform centres."""

    def __init__(
        self, prior: float, lam: float, gamma: float, centres: int, *, tol: float = 1e-4, max_iter: int = 50
    ) -> None:
        self.prior, self.lam, self.gamma, self.centres = prior, lam, gamma, centres
        self.tol, self.max_iter = tol, max_iter

    def fit(self, X: np.ndarray, y: np.ndarray) -> Falkon:
        risk = Risk(class_weight="balanced")
        problem = label_problem(risk, self.prior, 0.5, *(Part.of(np.flatnonzero(y == k)) for k in (1, 0)))
        b, c = problem.dense(len(X))
        Z = X[np.random.default_rng(0).choice(len(X), self.centres, replace=False)]
        self.matrix = KernelMatrix(Z.astype(np.float32), Kernel("rbf", self.gamma), np.float32)
        K = self._values(X)
        K_Z = KernelMatrix(Z, Kernel("rbf", self.gamma)).block(slice(None), slice(None))
        K_Z[np.diag_indices(self.centres)] += _JITTER * self.centres
        T = cholesky(K_Z)
        A = cholesky(0.5 * c.sum() / self.centres * (T @ T.T) + 2.0 * self.lam * np.eye(self.centres))
        half = (0.5 * c).astype(np.float32)

        def whole(v: np.ndarray) -> np.ndarray:
            """B v."""
            return solve_triangular(T, solve_triangular(A, v))

        def transposed(v: np.ndarray) -> np.ndarray:
            """Bᵀ v."""
            return solve_triangular(A, solve_triangular(T, v, trans="T"), trans="T")

        def product(v: np.ndarray) -> np.ndarray:
            a = whole(v)
            return transposed(_summed(K, half * (K @ a.astype(np.float32))) + 2.0 * self.lam * (K_Z @ a))

        right = transposed(_summed(K, (b - 0.5 * c).astype(np.float32)))
        solution, self.n_iter_ = _conjugate_gradients(product, right, self.tol, self.max_iter)
        self.coefficients = whole(solution).astype(np.float32)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        parts = tile_slices(len(X), self.centres)
        return np.concatenate([self.matrix.cross_block(X[part]) @ self.coefficients for part in parts])

    def _values(self, X: np.ndarray) -> np.ndarray:
        """Kernel values between rows and centres."""
        out = np.empty((len(X), self.centres), dtype=np.float32)
        for part in tile_slices(len(X), self.centres):
            out[part] = self.matrix.cross_block(X[part])
        return out


def _summed(K: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Kᵀv in float32 over blocks of rows, added up in float64."""
    return sum(
        ((K[k : k + _BLOCK].T @ v[k : k + _BLOCK]).astype(np.float64) for k in range(0, len(v), _BLOCK)),
        np.zeros(K.shape[1]),
    )


def _conjugate_gradients(product: Any, right: np.ndarray, tol: float, most: int) -> tuple[np.ndarray, int]:
    """x with ``product(x)`` = ``right`` up to the relative residual ``tol``, and the number of products."""
    x, residual = np.zeros_like(right), right.copy()
    direction, square = residual.copy(), float(residual @ residual)
    goal = tol**2 * square
    for k in range(most):
        if square <= goal:
            return x, k
        image = product(direction)
        step = square / float(direction @ image)
        x += step * direction
        residual -= step * image
        square, before = float(residual @ residual), square
        direction = residual + (square / before) * direction
    return x, most

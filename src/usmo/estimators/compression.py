"""Smaller models: f projected on the span of a few of its support vectors.

The projection of f = Σ α_i k(x_i, ·) on span{k(z_1, ·), …, k(z_m, ·)} interpolates it at z_1 … z_m, and among all
functions of that span it is nearest to f in the norm of the kernel. The z are chosen one after the other, each
where the error is largest (f-greedy), in the Newton basis, which costs one kernel row and one column per z.

For kernels of learned trees the leaf values hold the sums over the support vectors. "forest" needs none of them, and of
"forest+rbf" only the rbf part is projected.

S. Müller, R. Schaback. A Newton basis for kernel spaces. Journal of Approximation Theory, 2009.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.kernels.kernel import Kernel
from usmo.kernels.leaf_matrix import LEAF_SHARE
from usmo.kernels.matrix import KernelMatrix


class Compression(NamedTuple):
    """Differences between the smaller model and the model it was made from, over the given rows."""

    n_components: int
    n_support: int
    max_error: float
    mean_error: float
    changed_decisions: int


def greedy_projection(
    kernel: KernelMatrix, alpha: Array, n_components: int, max_error: float
) -> tuple[Index, Array, Array]:
    """Rows z, their coefficients, and the error left on every row of the kernel matrix.

    Stops at ``n_components`` rows, at a largest error of ``max_error``, or at the precision of float64.
    """
    n = len(kernel)
    everything = np.arange(n)
    error = kernel.product(everything, everything, alpha)
    power = kernel.diag(everything)
    least = 1e-12 * float(power.max())
    basis = np.empty((n_components, n))
    chosen: list[int] = []
    weights: list[float] = []
    while len(chosen) < n_components and np.abs(error).max() > max_error:
        free = power > least
        if not free.any():
            break
        z = int(np.argmax(np.where(free, np.abs(error), -1.0)))
        m = len(chosen)
        column = kernel.block(np.array([z]), slice(None))[0] - basis[:m, z] @ basis[:m]
        column /= np.sqrt(power[z])
        weights.append(float(error[z] / np.sqrt(power[z])))
        error -= weights[-1] * column
        power = np.maximum(power - column**2, 0.0)
        power[z] = 0.0
        basis[m] = column
        chosen.append(z)
    rows = np.array(chosen, dtype=np.intp)
    # K_zz = L Lᵀ with L the basis at z: the coefficients solve Lᵀ c = w
    factor = basis[: len(rows), rows].T
    coefficients = np.linalg.solve(factor.T, np.array(weights)) if len(rows) else np.empty(0)
    return rows, coefficients, error


def measured(before: Array, after: Array, n_components: int, n_support: int) -> Compression:
    """Compare two decision functions on the same rows."""
    error = np.abs(after - before)
    changed = int(np.sum((before > 0) != (after > 0)))
    return Compression(n_components, n_support, float(error.max()), float(error.mean()), changed)


def compressed(model: Any, X: Any, n_components: int | None, max_error: float | None) -> Any:
    """A copy of a fitted PUSVC with fewer support vectors; see ``PUSVC.compress``."""
    n_support = len(model.support_)
    limit = n_support if n_components is None else min(n_components, n_support)
    goal = 0.0 if max_error is None else max_error
    rows, coefficients = _projected(model, limit, goal)
    small = type(model)(**model.get_params(deep=False))
    small.__dict__.update(model.__dict__)
    small.support_ = model.support_[rows]
    small.support_vectors_ = model.support_vectors_[rows]
    small.dual_coef_ = coefficients[None, :]
    small.compression_ = measured(model.decision_function(X), small.decision_function(X), len(rows), n_support)
    for name in ("certificate_", "history_", "_share"):  # they describe the larger model
        small.__dict__.pop(name, None)
    return small


def _projected(model: Any, limit: int, goal: float) -> tuple[Index, Array]:
    """The support vectors that are kept, and their coefficients; of a forest none."""
    kernel, alpha = model._kernel, model.dual_coef_[0]
    if kernel.name == "forest":
        return np.empty(0, dtype=np.intp), np.empty(0)
    vectors, share = model.support_vectors_, 1.0
    if kernel.name == "forest+rbf":
        vectors, share = model._forest.standardised(vectors), 1.0 - LEAF_SHARE
        kernel = Kernel("rbf", kernel.gamma)
    rows, coefficients, _ = greedy_projection(KernelMatrix(vectors, kernel), share * alpha, limit, goal)
    return rows, coefficients / share

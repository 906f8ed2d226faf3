"""The decision function as fitted attributes, and its values on new rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.kernels.kernel import Kernel
from usmo.kernels.maps import MappedFeatures
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.row_blocks import Blocks


def kernel_expansion(X: Any, kernel: Kernel, alpha: Array, beta: float) -> dict[str, Any]:
    """The attributes of f = Σ α·k(x_i, ·) + β over the rows of X."""
    support = np.flatnonzero(alpha)
    attributes = {
        "support_": support,
        "support_vectors_": np.empty((0, 0)) if kernel.name == "precomputed" else X[support],
        "dual_coef_": alpha[support][None, :],
        "intercept_": np.array([beta]),
        "_kernel": kernel,
    }
    if kernel.name == "linear":
        attributes["coef_"] = np.asarray(X[support].T @ alpha[support])[None, :]
    return attributes


def map_expansion(mapped: Any, coef: Array, X: Any, landmarks: Index | None) -> dict[str, Any]:
    """The attributes of f = φ(x)·coef: support vectors for "nystroem", the map for "rff"."""
    if landmarks is None:
        return {"_map": mapped, "_map_coef": coef}
    return {
        "support_": landmarks,
        "support_vectors_": X[landmarks],
        "dual_coef_": mapped.coefficients(coef)[None, :],
    }


def expansion_values(model: Any, X: Any) -> Array:
    """f on the rows of a validated table, for a model with the attributes above."""
    beta = model.intercept_[0]
    if hasattr(model, "_map"):
        return Blocks(MappedFeatures(X, model._map)).dot(model._map_coef) + beta
    alpha, kernel = model.dual_coef_[0], model._kernel
    if kernel.name == "precomputed":
        return np.asarray(X[:, model.support_] @ alpha).ravel() + beta
    if kernel.name == "linear":
        return np.asarray(X @ model.coef_[0]).ravel() + beta
    return KernelMatrix(model.support_vectors_, kernel).cross_product(X, alpha) + beta

"""The decision function as fitted attributes, and its values on new rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.kernels.forest import LeafTable
from usmo.kernels.kernel import FORESTS, Kernel
from usmo.kernels.leaf_matrix import LEAF_SHARE
from usmo.kernels.maps import MappedFeatures
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.row_blocks import ArrayFeatures, Blocks, column_weights
from usmo.kernels.tables import tile_slices


def kernel_expansion(
    X: Any, kernel: Kernel, alpha: Array, beta: float, coef: Array | None = None
) -> dict[str, Any]:
    """The attributes of f = Σ α·k(x_i, ·) + β over the rows of X.

    ``coef`` are the weights of the columns of a certified fit with the linear kernel.
    """
    support = np.flatnonzero(alpha)
    trees: dict[str, Any] = {}
    if isinstance(X, LeafTable):
        unit = (1.0 if X.columns is None else LEAF_SHARE) / X.forest.n_trees
        values = X.forest.leaf_values(X.leaves[:, support], alpha[support], unit)
        X, trees = X.raw, {"_forest": X.forest, "_leaf_values": values}
    attributes = {
        "support_": support,
        "support_vectors_": np.empty((0, 0)) if kernel.name == "precomputed" else X[support],
        "dual_coef_": alpha[support][None, :],
        "intercept_": np.array([beta]),
        "_kernel": kernel,
        **trees,
    }
    if kernel.name == "linear":
        attributes["coef_"] = (column_weights(ArrayFeatures(X), alpha) if coef is None else coef)[None, :]
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
    if isinstance(X, LeafTable):
        X = X.raw
    alpha, kernel = model.dual_coef_[0], model._kernel
    if kernel.name in FORESTS:
        return _forest_values(model, X) + beta
    if kernel.name == "precomputed":
        return np.asarray(X[:, model.support_] @ alpha).ravel() + beta
    if kernel.name == "linear":
        return np.asarray(X @ model.coef_[0]).ravel() + beta
    return KernelMatrix(model.support_vectors_, kernel).cross_product(X, alpha) + beta


def _forest_values(model: Any, X: Any) -> Array:
    """Σ α·k(x_i, ·) as a forest whose leaves hold sums of α, plus the rbf part over the support vectors."""
    forest, kernel = model._forest, model._kernel
    values = forest.evaluate(X, model._leaf_values)
    if kernel.name == "forest":
        return values
    vectors = forest.standardised(model.support_vectors_)
    matrix, weights = KernelMatrix(vectors, Kernel("rbf", kernel.gamma)), (1.0 - LEAF_SHARE) * model.dual_coef_[0]
    for part in tile_slices(X.shape[0], X.shape[1]):
        values[part] += matrix.cross_product(forest.standardised(X[part]), weights)
    return values

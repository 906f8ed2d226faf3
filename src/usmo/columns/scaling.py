"""Scaling of numeric columns: (x - mean) / scale, missing values at the median."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def matrix_scaling(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Median, mean and scale of each column; for a CSR matrix 0, 0 and the largest magnitude."""
    if sparse.issparse(X):
        largest = np.asarray(abs(X).max(axis=0).todense(), dtype=float).ravel()
        return np.zeros(X.shape[1]), np.zeros(X.shape[1]), np.where(largest > 0, largest, 1.0)
    scalings = np.array([column_scaling(X[:, j]) for j in range(X.shape[1])]).reshape(-1, 3)
    return scalings[:, 0].copy(), scalings[:, 1].copy(), scalings[:, 2].copy()


def column_scaling(x: np.ndarray) -> tuple[float, float, float]:
    """Median of the values that are not nan; mean and standard deviation after it replaces the nan."""
    present = x[~np.isnan(x)]
    largest = float(np.abs(present).max(initial=0.0))
    if largest == 0:
        return 0.0, 0.0, 1.0
    scaled = present / largest  # squares of 1e200 would overflow
    median = float(np.median(scaled))
    scaled = np.concatenate([scaled, np.full(len(x) - len(present), median)])
    mean, scale = float(scaled.mean()), float(scaled.std()) * largest
    if not scale > 1e-15 * largest or scaled.max() == scaled.min():
        # constant up to rounding: the magnitude is the only scale that later values can be measured by
        scale = largest if largest > 1 else 1.0
    return median * largest, mean * largest, scale


def standardise(x: np.ndarray, mean: Any, scale: Any) -> np.ndarray:
    """(x - mean) / scale."""
    with np.errstate(over="ignore"):
        out = 2 * ((x / 2 - mean / 2) / scale)  # halves: the difference of two large numbers stays finite
    return np.asarray(out)

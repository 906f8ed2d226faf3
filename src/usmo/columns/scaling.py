"""Scaling of numeric columns: (x - mean) / scale, missing values at the median."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from usmo.io.infer_types import groups_of


def matrix_scaling(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Median, mean and scale of each column; for a CSR matrix 0, 0 and the largest magnitude."""
    if sparse.issparse(X):
        largest = np.asarray(abs(X).max(axis=0).todense(), dtype=float).ravel()
        return np.zeros(X.shape[1]), np.zeros(X.shape[1]), np.where(largest > 0, largest, 1.0)
    groups = groups_of(range(X.shape[1]), len(X))
    scalings = [scaling(np.ascontiguousarray(X[:, group].T)) for group in groups]
    median, mean, scale = (np.concatenate(each) for each in zip(*scalings, strict=True))
    return median, mean, scale


def scaling(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Median of each row of X without nan; mean and standard deviation after it replaces the nan."""
    missing = np.isnan(X)
    largest = np.fmax.reduce(np.abs(X), axis=1, initial=0.0)
    scaled = X / np.where(largest > 0, largest, 1.0)[:, None]  # squares of 1e200 would overflow
    n_present = X.shape[1] - missing.sum(axis=1)
    middle = np.maximum([(n_present - 1) // 2, n_present // 2], 0)
    ordered = np.partition(scaled, np.unique(middle), axis=1)  # puts nan last
    median = np.where(n_present > 0, ordered[np.arange(len(X)), middle].mean(axis=0), 0.0)
    scaled = np.where(missing, median[:, None], scaled)
    mean, scale = scaled.mean(axis=1), scaled.std(axis=1) * largest
    constant = ~(scale > 1e-15 * largest) | (scaled.max(axis=1) == scaled.min(axis=1))
    # constant up to rounding: the magnitude is the only scale that later values can be measured by
    return median * largest, mean * largest, np.where(constant, np.maximum(largest, 1.0), scale)


def standardise(x: np.ndarray, mean: Any, scale: Any) -> np.ndarray:
    """(x - mean) / scale."""
    with np.errstate(over="ignore"):
        out = 2 * ((x / 2 - mean / 2) / scale)  # halves: the difference of two large numbers stays finite
    return np.asarray(out)

"""γ of a kernel from the scale of the table, as in scikit-learn's SVC."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array
from usmo.kernels.row_blocks import ArrayFeatures, Blocks
from usmo.kernels.tables import squared_distances

_LARGEST = 1e140
"""Largest entry whose squares add up without overflow."""


def refuse_large_entries(X: Any) -> None:
    """Raise an error if squared norms of rows do not fit float64."""
    values = X.data if sparse.issparse(X) else X
    if not max(float(values.max(initial=0.0)), -float(values.min(initial=0.0))) < _LARGEST:
        raise ValueError(f"entries of X must be below {_LARGEST:g} for this kernel: scale the columns of X")


def resolve_gamma(gamma: str | float, X: Any, weight: Array | None = None) -> float:
    """γ as a number: "scale" is 1/(d·var(X)) with weighted rows, "auto" is 1/d."""
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    share = np.ones(X.shape[0]) if weight is None else weight / weight.max()
    share /= share.sum()
    centre = mean_entry(X, share)
    return scale_gamma(X.shape[1], centre, entry_variance(X, share, centre))


def forest_gamma(gamma: str | float, d: int) -> float:
    """γ of the rbf part of "forest+rbf". Its d columns are standardised, so "scale" and "auto" are both 1/d.

    From 0.1/d to 3/d mean AUC and F1 over 20 tables change by 0.001 and 0.006, one draw each; 1/d is best or near it
    for all λ tried (``python -m benchmarks.forest trees``).
    """
    return 1.0 / d if isinstance(gamma, str) else float(gamma)


def mean_entry(X: Any, share: Array) -> float:
    """The mean of the entries, each row multiplied by its share. The values of several shards add up."""
    if sparse.issparse(X):
        return float(np.mean(share @ X.astype(np.float64)))
    return float(np.mean(Blocks(ArrayFeatures(X)).weighted_sum(share)))


def entry_variance(X: Any, share: Array, centre: float) -> float:
    """The mean of the squared distance of the entries from ``centre``. The values of several shards add up."""
    if sparse.issparse(X):
        X = X.astype(np.float64)
        square = float(np.mean(share @ X.multiply(X)))
        return square - 2.0 * centre * mean_entry(X, share) + centre**2 * float(share.sum())
    return float(share @ squared_distances(X, centre)) / X.shape[1]


def scale_gamma(d: int, centre: float, variance: float) -> float:
    """1/(d·variance), 1 for a table whose entries are all equal, or so nearly that their variance is no number."""
    constant = variance <= max((8.0 * np.finfo(float).eps * centre) ** 2, np.finfo(float).tiny)
    return 1.0 if constant else 1.0 / (d * variance)

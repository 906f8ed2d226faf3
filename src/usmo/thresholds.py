"""Where the decision changes: the value of f above which the share π of the unlabelled rows lies."""

from __future__ import annotations

import numpy as np

from usmo.metrics import prior_threshold
from usmo.problem import Array

_SORTED = 200_000
"""Decision values up to which all are sorted."""


def stable_threshold(f: Array, prior: float, weight: Array, tol: float) -> float:
    """The threshold at the prior, which does not depend on how rounding or ``tol`` order rows of one value.

    The optimum puts many rows at exactly -1 or 1, where the solver leaves them within ``tol``; they stay together.
    Of many rows only those near the quantile are sorted.
    """
    if len(f) > _SORTED:
        some = f[:: len(f) // _SORTED]
        around = np.quantile(some, np.clip([0.99 - prior, 1.01 - prior], 0.0, 1.0))
        low, high = float(around[0]) - 8.0 * tol, float(around[1]) + 8.0 * tol
        near = (f >= low) & (f <= high)
        total, inside = float(weight.sum()), float(weight[near].sum())
        missing = prior * total - float(weight[f > high].sum())
        if 0 < missing < inside < total:
            return stable_threshold(f[near], missing / inside, weight[near], tol)
    f = np.round(f, 9)
    for edge in (-1.0, 1.0):
        f = np.where(np.abs(f - edge) <= 4.0 * tol, edge, f)
    found = prior_threshold(f, prior, sample_weight=weight)
    low, high = float(f.min()), float(f.max())
    margin = 1e-6 * (1.0 + max(abs(low), abs(high)))
    return high + margin if found >= high else low - margin if found < low else found

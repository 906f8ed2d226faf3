"""Heavy tails: a column of numbers whose few large values would decide its scale is compressed by a logarithm.

    t(x) = sign(x)·log(1 + |x|/s),    s the 5 % quantile of |x| over the values other than 0

t is monotone, defined for all numbers, about linear below s and logarithmic above. A column is compressed if its
skewness is above 2 in magnitude (that of an exponential distribution) and t at least halves it. Columns with few
different values are left alone: their distances are those of their few steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_SKEW, _RATIO = 2.0, 0.5
_QUANTILE = 5.0
_DIFFERENT = 20
"""Different values from which the tails of a column can be told."""


def tail_scale(x: np.ndarray) -> float:
    """s for the values of a column, 0 if its tails are not heavy."""
    if len(x) < _DIFFERENT:
        return 0.0
    x = x[~np.isnan(x)]
    before = _skewness(x)
    if not abs(before) > _SKEW or len(np.unique(x)) < _DIFFERENT:
        return 0.0
    scale = float(np.percentile(np.abs(x[x != 0.0]), _QUANTILE))
    if not 0.0 < scale < np.inf:
        return 0.0
    return scale if abs(_skewness(compressed(x, scale))) <= _RATIO * abs(before) else 0.0


def compressed(X: np.ndarray, scale: Any) -> np.ndarray:
    """t(x) of all values with their scales, x itself where the scale is 0."""
    scale = np.asarray(scale, dtype=np.float64)
    if not scale.any():
        return X
    with np.errstate(over="ignore"):
        sizes = np.abs(X) / np.where(scale > 0.0, scale, 1.0)
    logarithm = np.log1p(np.minimum(sizes, np.finfo(np.float64).max))
    return np.where(scale > 0.0, np.copysign(logarithm, X), X)


def _skewness(x: np.ndarray) -> float:
    """The third standardised moment; 0 for a constant column."""
    largest = np.abs(x).max(initial=0.0)
    if not largest > 0.0:
        return 0.0
    x = x / largest
    deviation = x - x.mean()
    spread = np.sqrt(np.mean(deviation**2))
    return float(np.mean((deviation / spread) ** 3)) if spread > 1e-12 else 0.0

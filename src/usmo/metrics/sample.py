"""Decision values with labels and weights, split into P, U and N, and the checks of all arguments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from usmo.core.arrays import Array, Index
from usmo.core.targets import known_values, label_rule
from usmo.core.weights import are_counts, scaled

SCENARIOS = ("case-control", "censored")
"""Names of the scenarios: what the prior refers to, the unlabelled rows or all rows."""


@dataclass(frozen=True)
class PUSample:
    """Decision values and weights, with the masks of P, of U (all rows if censored) and of N.

    ``rows`` are the numbers of these rows among those given. Weights are positive; those that are not numbers of rows
    are at most 1.
    """

    rows: Index
    f: Array
    weight: Array
    labelled: NDArray[np.bool_]
    unlabelled: NDArray[np.bool_]
    negative: NDArray[np.bool_]

    @classmethod
    def of(cls, y: Any, f: Any, scenario: str, sample_weight: Any = None) -> PUSample:
        """Check y, f and the weights, and drop the rows of weight zero."""
        check_scenario(scenario)
        y, f = np.asarray(y), checked_values(f, "f")
        if y.shape != f.shape:
            raise ValueError(f"y must hold one label per decision value, {len(f)}; got shape {y.shape}")
        if y.dtype.kind == "f" and np.isinf(y).any():
            raise ValueError("y must hold labels, got infinity")
        kind, weight = label_rule(*known_values(y), warn=False).kinds(y), checked_weights(f, sample_weight)
        for value, what in ((1, "labelled positive"), (0, "unlabelled")):
            if not (weight[kind == value] > 0).any():
                raise ValueError(f"sample_weight leaves only one class: no {what} row has a positive weight")
        counted = np.flatnonzero(weight > 0)
        f, weight, kind = f[counted], weight[counted], kind[counted]
        weight = scaled(weight)
        unlabelled = kind == 0 if scenario == "case-control" else np.ones_like(kind, dtype=bool)
        return cls(counted, f, weight, kind == 1, unlabelled, kind == -1)

    @property
    def integer_weights(self) -> bool:
        """Whether all weights are integers, that is numbers of equal rows."""
        return are_counts(self.weight)

    def size(self, rows: NDArray[np.bool_]) -> float:
        """Size of a sample: the sum of integer weights, the number of rows for others."""
        return float(self.weight[rows].sum() if self.integer_weights else np.count_nonzero(rows))

    def mean_p(self, values: Any) -> float:
        """Weighted mean over P; ``values`` has an entry for every row."""
        return float(np.average(values[self.labelled], weights=self.weight[self.labelled]))

    def mean_u(self, values: Any) -> float:
        """Weighted mean over U; ``values`` has an entry for every row."""
        return float(np.average(values[self.unlabelled], weights=self.weight[self.unlabelled]))

    def mean_n(self, values: Any) -> float:
        """Weighted mean over N; ``values`` has an entry for every row."""
        return float(np.average(values[self.negative], weights=self.weight[self.negative]))

    def shares(self, threshold: float, prior: float | None = None) -> tuple[float, float]:
        """Recall r = P_P(f > threshold) and q = P_U(f > threshold).

        Known negatives give a second estimate of q = π·r + (1-π)·P_N(f > threshold), if π is known. The two are
        averaged with the inverses of their variances.
        """
        above = above_threshold(self.f, threshold)
        r, q = self.mean_p(above), self.mean_u(above)
        if prior is None or not self.negative.any():
            return r, q
        p, n, m = (self.size(rows) for rows in (self.labelled, self.unlabelled, self.negative))
        rate = self.mean_n(above)
        of_u = (_variance(q, n) + prior**2 * _variance(r, p)) / (1.0 - prior) ** 2
        rate = combined((q - prior * r) / (1.0 - prior), of_u, rate, _variance(rate, m))
        return r, prior * r + (1.0 - prior) * rate


def combined(one: float, variance: float, other: float, other_variance: float) -> float:
    """The average of two estimates of one number, with the inverses of their variances as weights."""
    share = other_variance / (variance + other_variance)
    return share * one + (1.0 - share) * other


def _variance(share: float, size: float) -> float:
    """The variance of a share of a sample; Laplace's rule keeps it above 0 for shares of 0 and 1."""
    smooth = (share * size + 1.0) / (size + 2.0)
    return smooth * (1.0 - smooth) / size


def above_threshold(f: Array, threshold: float) -> NDArray[np.bool_]:
    """Which rows are called positive."""
    if not np.isfinite(threshold):
        raise ValueError(f"threshold must be finite, got {threshold}")
    return f > threshold


def check_scenario(scenario: Any) -> None:
    """Raise ValueError if this is not the name of a scenario."""
    if scenario not in SCENARIOS:
        raise ValueError(f"scenario must be 'case-control' or 'censored', got {scenario!r}")


def checked_prior(prior: Any, *, needed: bool = True) -> float:
    """π as a float in (0, 1), else ValueError; NaN for None if it is not needed."""
    if prior is None and not needed:
        return math.nan
    if isinstance(prior, bool | np.bool_) or not isinstance(prior, Real) or not 0.0 < float(prior) < 1.0:
        raise ValueError(f"prior must lie in (0, 1), got {prior}")
    return float(prior)


def checked_values(f: Any, name: str) -> Array:
    """Decision values as a finite float array, else ValueError naming the argument."""
    f = np.asarray(f, dtype=np.float64)
    if f.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {f.shape}")
    if not np.isfinite(f).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity in row {int(np.argmin(np.isfinite(f)))}")
    return f


def checked_weights(f: Array, sample_weight: Any) -> Array:
    """A non-negative weight for each decision value; 1 by default."""
    if sample_weight is None:
        return np.ones(len(f))
    return np.asarray(_check_sample_weight(sample_weight, f, dtype=np.float64, ensure_non_negative=True))

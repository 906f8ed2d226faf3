"""The samples of a prior estimator, and sizes that respect weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from usmo.core.arrays import Array

_MOST_DRAWS = 2**53
"""Draws of a bootstrap sample at most: integer weights above it are a scale, not numbers of rows."""


@dataclass(frozen=True)
class Sample:
    """Weighted samples P and U: rows of a table, or one-dimensional scores, with their effective sizes.

    ``N`` has the scores of labelled negatives for the estimators that use them.
    """

    P: Any
    U: Any
    w_p: Array
    w_u: Array
    sizes: tuple[float, float]
    N: Any = field(default_factory=lambda: np.zeros(0))
    w_n: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of_counts(cls, P: Any, U: Any, w_p: Array, w_u: Array) -> Sample:
        """Samples whose weights are numbers of equal rows."""
        return cls(P, U, w_p, w_u, (float(w_p.sum()), float(w_u.sum())))

    def resampled(self, rng: np.random.Generator) -> Sample:
        """A bootstrap draw of both: the rows drawn, with the number of times as weight."""
        rows: list[Any] = []
        counts: list[Array] = []
        for sample, weight, size in zip((self.P, self.U), (self.w_p, self.w_u), self.sizes, strict=True):
            count = rng.multinomial(min(max(2, round(size)), _MOST_DRAWS), weight / weight.sum())
            rows.append(sample[count > 0])
            counts.append(count[count > 0].astype(np.float64))
        return Sample.of_counts(*rows, *counts)


def effective_size(weight: Array, integer_weights: bool) -> float:
    """Sum of integer weights, which are numbers of equal rows; Kish's effective sample size for other weights."""
    if integer_weights or not weight.any():
        return float(weight.sum())
    share = weight / weight.max()  # squares of small weights would underflow
    return float(share.sum()) ** 2 / float(share @ share)

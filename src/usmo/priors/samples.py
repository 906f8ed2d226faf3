"""The samples of a prior estimator."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.preprocessing import MaxAbsScaler

from usmo.core.arrays import Array, Index, Mask
from usmo.core.groups import group_folds
from usmo.core.weights import MOST_COUNTED


def of_one_unit(X: Any) -> Any:
    """The columns divided by their largest magnitudes, however small these are."""
    scaler = MaxAbsScaler().fit(X)  # on its own it leaves columns of values below 2e-15 as they are
    usable = scaler.max_abs_ >= np.finfo(np.float64).tiny
    scaler.scale_ = np.where(usable, scaler.max_abs_, 1.0)
    return scaler.transform(X)


@dataclass(frozen=True)
class Sample:
    """Weighted samples P and U: rows of a table, or one-dimensional scores, with their effective sizes.

    ``groups`` are the groups of the rows of P and of U, if there are groups. ``N`` has the scores of known negatives
    for the estimators that use them.
    """

    P: Any
    U: Any
    w_p: Array
    w_u: Array
    sizes: tuple[float, float]
    groups: tuple[Index, Index] | None = None
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
        drawn: list[Mask] = []
        for sample, weight, size in zip((self.P, self.U), (self.w_p, self.w_u), self.sizes, strict=True):
            count = rng.multinomial(min(max(2, round(size)), int(MOST_COUNTED)), weight / weight.sum())
            rows.append(sample[count > 0])
            counts.append(count[count > 0].astype(np.float64))
            drawn.append(count > 0)
        if self.groups is None:
            return Sample.of_counts(*rows, *counts)
        p, u = (group[which] for group, which in zip(self.groups, drawn, strict=True))
        return replace(Sample.of_counts(*rows, *counts), groups=(p, u))

    def group_folds(self, folds: int) -> tuple[Index, Index]:
        """The folds of the rows of P and of U; rows of one group share a fold."""
        assert self.groups is not None
        kind = np.repeat([1, 0], [len(self.w_p), len(self.w_u)])
        fold = group_folds(np.concatenate(self.groups), kind, np.concatenate([self.w_p, self.w_u]), folds)
        return fold[: len(self.w_p)], fold[len(self.w_p) :]

"""The rows of the interior point as one object, whether they lie in one shard or in many."""

from __future__ import annotations

from typing import NamedTuple

from usmo.core.arrays import Array
from usmo.core.shards import Partial, Shards
from usmo.solvers.interior_shards import InteriorShard


class Equations(NamedTuple):
    """Sums over rows that the normal equations are made of."""

    matrix: Array
    """ΦᵀEΦ bordered by β: r + 1 lines."""
    affine: Array
    """Φᵀ and 1ᵀ of the affine part of dσ."""
    sigma: Array
    """Φᵀσ and Σσ."""
    products: float
    """The sum of the four products of every row, which the method drives to zero."""
    n: int


class Prediction(NamedTuple):
    """Result of the affine step."""

    towards: Array
    """∂dσ/∂μ, multiplied by Φᵀ and 1ᵀ."""
    second: Array
    """Second-order part of dσ, multiplied by Φᵀ and 1ᵀ."""
    quadratic: float
    """Second-order part of the sum of products."""
    longest: float
    """The longest step that keeps all variables positive, at most 1."""


class InteriorRows:
    """Shards of :class:`InteriorShard`. An iteration is three calls: predict, correct, move."""

    def __init__(self, shards: Shards) -> None:
        self.shards = shards

    def begin(self, w: Array, beta: float, mu: float) -> Equations:
        """Put all rows on the central path for this f and μ."""
        return _equations(self.shards.merge(InteriorShard.begin, w, beta, mu))

    def predict(self, step: Array) -> Prediction:
        """Evaluate the affine step."""
        merged = self.shards.merge(InteriorShard.predict, step)
        (towards, second), quadratic = merged.sums
        return Prediction(towards, second, quadratic, 1.0 / merged.maxima[0])

    def correct(self, step: Array, target: float) -> float:
        """Compute the corrected step towards μ = ``target``; returns 1 / its longest length."""
        return self.shards.merge(InteriorShard.correct, step, target).maxima[0]

    def move(self, length: float) -> Equations:
        """Take the corrected step."""
        return _equations(self.shards.merge(InteriorShard.move, length))

    def totals(self) -> tuple[Array, float, int]:
        """Φᵀc, Σc and the number of rows."""
        phi_c, mass, n = self.shards.merge(InteriorShard.totals).sums
        return phi_c, mass, n

    def mean_square(self, v: Array, n: int) -> float:
        """The mean of f² for f = Φv."""
        return float(self.shards.merge(InteriorShard.sum_of_squares, v).sums[0] / n)


def _equations(merged: Partial) -> Equations:
    sums, products, n = merged.sums
    r = sums.shape[1] - 1
    return Equations(sums[: r + 1], sums[r + 1], sums[r + 2], products, n)

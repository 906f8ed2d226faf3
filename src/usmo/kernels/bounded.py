"""Products with a Gaussian kernel matrix in float32, with a bound on the rounding error of every sum.

Rows are centred and scaled to z with k(x, y) = exp(-t), t = ‖z_x - z_y‖². With u = 2⁻²⁴, d columns and the norms
a = ‖z_x‖, b = ‖z_y‖, the computed t differs from the exact one by at most

    rounding of the rows       2u(a+b)²        |‖ẑ_x - ẑ_y‖ - ‖z_x - z_y‖| ≤ u(a+b)
    rounding of a² and b²       u(a²+b²)
    the product ẑ_x·ẑ_y        2du·ab          in any order of summation
    a² + b² - 2ẑ_x·ẑ_y          u(a²+b²) + u(a+b)²

which is at most u(d/2 + 5)(a+b)² ≤ u(d + 10)(a²+b²). The exponential adds its relative error, and a tile of T terms
(T+2)u, with the rounding of the weights. With v = u(d + 10) and r·v these two, added up, a sum Σ w·k is off by at most

    v·Σ|w|·k·(a² + b² + r)  ≤  v·max(1, (a² + r)/m)·Σ|w|·k·(b² + m)      for any m > 0

and the last sum is computed beside the first, with m the median of a² + r. Rows far out, where a² or b² is large, have
small k with most rows, so they add little. ``_SAFETY`` covers the products of these errors with each other and the
float64 rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.symmetric import TERMS

UNIT = 2.0**-24
"""Largest relative error of one rounding to float32."""

EXP_ERROR = 4e-7
"""Bound on the relative error of the float32 exponential of :mod:`usmo.kernels.tiles`, between -87 and 0."""

_LEAST = 2.0e-38
"""Bound on its absolute error below -87."""

_REST = EXP_ERROR + (TERMS + 2) * UNIT
"""Relative error of the exponential and of the sum over a tile."""

_SAFETY = 1.01


class Bounded(NamedTuple):
    """Sums over a kernel matrix, and a bound on the error of each."""

    values: Array
    error: Array


class ErrorBound:
    """The bound above for sums Σ α·k over some rows, given by their squared norms.

    ``columns`` holds the weights of two sums over the kernel values: α, whose sum is wanted, and the weights of the sum
    that bounds its error.
    """

    def __init__(self, squares: Array, alpha: Array, table_columns: int) -> None:
        squares = squares.astype(np.float64)
        self.unit = UNIT * (table_columns + 10.0)
        self.largest = float(squares.max(initial=0.0))
        self.middle = float(np.median(squares) if len(squares) else 0.0) + _REST / self.unit
        self.columns = np.stack([alpha, np.abs(alpha) * (squares + self.middle)], axis=1)

    def of(self, sums: Array, squares: Array) -> Bounded:
        """The wanted sum and the bound on its error, from both sums at rows with these squared norms."""
        a2 = squares.astype(np.float64)
        most = self.unit * (a2 + self.largest)  # of the exponents of a row
        curved = np.expm1(np.minimum(most, 1.0)) / np.maximum(np.minimum(most, 1.0), _LEAST)
        relative = _SAFETY * (curved * most + _REST)
        factor = self.unit * np.maximum(1.0, (a2 + _REST / self.unit) / self.middle)
        total, weight = float(np.abs(self.columns[:, 0]).sum()), float(self.columns[:, 1].sum())
        # the sums are too small by at most their own relative error
        error = _SAFETY * np.maximum(curved, 1.0) * factor * sums[:, 1] / np.maximum(1.0 - relative, 0.5)
        error += _LEAST * (total + factor * weight)
        error = np.where(relative < 0.5, error, _SAFETY * total)  # kernel values lie between 0 and 1
        return Bounded(sums[:, 0], error)


class BoundedProducts:
    """K[rows, members] @ α in float32 with bounds, for rows of one table. ``members`` come first among ``rows``."""

    def __init__(self, kernel: KernelMatrix, members: Index, others: Index, alpha: Array) -> None:
        self.kernel, self.members, self.others, self.alpha = kernel, members, others, alpha
        rbf, self.weight = kernel.rbf_part()
        if rbf is None or not rbf.has_tiles:
            raise ValueError("bounded products need a Gaussian part and dense rows")
        self.rbf = rbf.restrict(np.concatenate([members, others]), np.float32)
        squares = self.rbf.squared_norms_at(np.arange(len(members)))
        self.bound = ErrorBound(squares, alpha, self.rbf.X.shape[1])

    @staticmethod
    def possible(kernel: KernelMatrix) -> bool:
        """Whether the kernel has a Gaussian part with dense rows."""
        rbf, _ = kernel.rbf_part()
        return rbf is not None and rbf.has_tiles

    def at(self, places: Index) -> Bounded:
        """The sums for some of the rows, given by their places among members and others."""
        sums = self.rbf.product(places, np.arange(len(self.members)), self.bound.columns)
        return self._bounded(sums, places)

    def all(self) -> tuple[Bounded, Bounded]:
        """The sums for the members and for the others; an entry between two members is computed once."""
        m, n = len(self.members), len(self.rbf)
        places = np.arange(m), np.arange(m, n)
        sums = self.rbf.paired_product(*places, self.bound.columns)
        self.kernel.entries += self.rbf.entries
        inner, outer = (self._bounded(each, where) for each, where in zip(sums, places, strict=True))
        return inner, outer

    def _bounded(self, sums: Array, places: Index) -> Bounded:
        values, error = self.bound.of(sums, self.rbf.squared_norms_at(places))
        rows = np.concatenate([self.members, self.others])[places]
        return Bounded(
            self.weight * values + self.kernel.leaf_part(rows, self.members, self.alpha), self.weight * error
        )

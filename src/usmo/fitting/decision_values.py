"""Decision values for a certificate: Kα on every row in use, computed independently of the solver.

They are float64, or for large Gaussian fits float32 with a bound on the error of each. A row whose σ is at a bound and
whose f is farther from its kink than that error adds nothing to the gap, whatever f is exactly. The other rows are
computed again in float64. If a sample says that these are many, float64 is used at once.

Kernel rows of wide tables that the solver has in memory are not computed again. Nothing else is taken from the solver:
f is added up from these rows in float64. On a random sample of 512 rows it must agree, within the bounds, with f
computed from the table. If it does not, all kernel values are computed anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from usmo.core.arrays import Array, Index, Mask
from usmo.core.dual import ROUNDING
from usmo.core.problem import Problem
from usmo.core.solution import Solution
from usmo.kernels.bounded import BoundedProducts
from usmo.kernels.kept import KeptRows
from usmo.kernels.matrix import KernelMatrix

_LARGE = 2e9
"""Multiplications of a product from which float32 with bounds is tried: below, float64 takes tenths of a second."""

_EXP_COST = 30
"""Multiplications that take as long as one exponential."""

_SAMPLE, _MOST_AGAIN = 512, 0.15
"""Rows of the sample, and the share of rows computed again above which float64 throughout is faster: float64 tiles
take three to four times as long as float32 ones (``python -m benchmarks.million tiles``)."""

_WIDER = 2.0
"""Factor on the error for the choice of rows, because β may still change a little."""

_READ_BELOW = 0.3
"""Share of the kernel values of a certificate that may be missing in memory. If more are, all are computed anew."""


class Values(NamedTuple):
    """Kα on every row of the table, and bounds on its error if it is float32."""

    f: Array
    error: Array | None = None


def exact_values(rows: Index, kernel: KernelMatrix, alpha: Array) -> Array:
    """Kα on these rows, for each column of α, in float64; 0 on the others."""
    support, others = _support(rows, np.asarray(alpha.any(axis=1)))
    values = np.zeros(alpha.shape)
    values[support], values[others] = kernel.paired_product(support, others, alpha[support])
    return values


def bounded_values(
    problem: Problem, kernel: KernelMatrix, solution: Solution, kept: KeptRows | None = None
) -> Values | None:
    """Kα in float32 with bounds, rows near a kink in float64; None if float64 throughout is as good.

    ``kept`` are kernel rows of ``problem.c_rows``.
    """
    alpha = problem.table_coefficients(solution.sigma, len(kernel))
    support, others = _support(problem.rows, alpha != 0.0)
    cost = len(problem.rows) * len(support) * (kernel.X.shape[1] + _EXP_COST)
    if cost < _LARGE or not BoundedProducts.possible(kernel):
        return None
    rows = np.concatenate([support, others])
    places = np.random.default_rng(0).permutation(len(rows))[:_SAMPLE]
    sample = rows[places]
    members = None if kept is None else _kept_members(problem, kept, support, len(kernel))
    if members is not None:  # no copy of the whole table is needed
        others, places = sample, len(support) + np.arange(len(sample))
    products = BoundedProducts(kernel, support, others, alpha[support])
    fresh = products.at(places)
    f, error = np.zeros(len(kernel)), np.zeros(len(kernel))
    f[sample], error[sample] = fresh
    if _uncertain(problem, solution, f, error)[sample].mean() > _MOST_AGAIN:
        return None
    if kept is not None and members is not None:
        f[problem.c_rows], error[problem.c_rows] = kept.sums(members, alpha[support])
        if not (np.abs(f[sample] - fresh.values) <= error[sample] + fresh.error).all():
            return bounded_values(problem, kernel, solution)
    else:
        (f[support], error[support]), (f[others], error[others]) = products.all()
    again = np.flatnonzero(_uncertain(problem, solution, f, error))
    f[again], error[again] = kernel.product(again, support, alpha[support]), 0.0
    return Values(f, error)


def _kept_members(problem: Problem, kept: KeptRows, support: Index, n_rows: int) -> Index | None:
    """The places of the support among the rows of ``kept``; None if computing all values anew costs less."""
    place = np.full(n_rows, -1)
    place[problem.c_rows] = np.arange(problem.n)
    members, n = place[support], problem.n
    if not kept.saves_time or len(problem.rows) > n or members.min(initial=0) < 0:
        return None
    anew = len(support) * (n - 0.5 * len(support))
    return members if kept.missing(members) * n < _READ_BELOW * anew else None


def _support(rows: Index, used: Mask) -> tuple[Index, Index]:
    """Rows with a coefficient, and the others of these rows."""
    support = np.flatnonzero(used)
    return support, np.setdiff1d(rows, support, assume_unique=True)


def _uncertain(problem: Problem, solution: Solution, f: Array, error: Array) -> Mask:
    """Rows of the table whose f must be known better, for the gap or for the terms that are linear in f."""
    rows, point = problem.c_rows, problem.at(solution.sigma).snapped()
    near = np.zeros(len(f), bool)
    near[rows] = point.most_slack(f[rows] + solution.beta, _WIDER * error[rows]) > ROUNDING * problem.c
    if 10 * problem.p < problem.n:
        near[problem.b_rows] = True
    return near

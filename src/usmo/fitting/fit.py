"""One fit: from a table, a specification, a prior and λ to a certified solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from usmo.core.arrays import Array, Index
from usmo.core.certificate import Certificate
from usmo.core.problem import PUProblem
from usmo.core.solution import Solution
from usmo.core.table import Table
from usmo.fitting.approximate import Approximation, fit_approximate
from usmo.fitting.kernel import fit_kernel
from usmo.fitting.linear import fit_linear
from usmo.fitting.specification import Specification
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.row_blocks import as_features
from usmo.solvers.stopping import Progress

Start = Array | tuple[Array, float]
"""A feasible σ, or the weights and the intercept of a linear model."""


@dataclass(frozen=True)
class Fit:
    """A certified solution of one problem.

    ``coef`` are the weights of the columns of a linear model, or of the mapped features of an approximate one. ``map``,
    ``landmarks`` and ``comparison`` belong to an approximate fit.
    """

    problem: PUProblem
    solution: Solution
    certificate: Certificate
    coef: Array | None = None
    map: Any = None
    landmarks: Index | None = None
    comparison: Approximation | None = None

    def coefficients(self, n_rows: int) -> Array:
        """α for every row of the table."""
        return self.problem.table_coefficients(self.solution.sigma, n_rows)


def fit_table(
    table: Table,
    spec: Specification,
    prior: float,
    lam: float,
    *,
    start: Start | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Fit and certify one problem on a table: with a kernel, as a linear function of the columns, or approximately."""
    problem = table.problem(prior, lam, spec.scenario)
    if spec.kernel is None:
        linear = fit_linear(problem, as_features(table.X), spec, start=start, progress=progress)
        return Fit(problem, linear.solution, linear.certificate, coef=linear.coef)
    if spec.approximation is not None:
        rough = fit_approximate(problem, table.X, spec, progress)
        solution, certificate, coef = rough.fit.solution, rough.fit.certificate, rough.fit.coef
        return Fit(problem, solution, certificate, coef, rough.map, rough.landmarks, rough.comparison)
    assert not isinstance(start, tuple)
    exact = fit_kernel(problem, KernelMatrix(table.X, spec.kernel), spec, start=start, progress=progress)
    return Fit(problem, exact.solution, exact.certificate)

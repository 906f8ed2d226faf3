"""One fit: from a table, a specification, a prior and λ to a certified solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from usmo.core.arrays import Array, Index
from usmo.core.certificate import Certificate
from usmo.core.problem import Problem
from usmo.core.solution import Solution
from usmo.core.table import Table
from usmo.fitting import graded
from usmo.fitting.approximate import Approximation, fit_approximate
from usmo.fitting.certify import better
from usmo.fitting.columns import fit_features
from usmo.fitting.kernel import fit_kernel
from usmo.fitting.newton import Start
from usmo.fitting.specification import Specification
from usmo.kernels.kernel import Kernel
from usmo.kernels.leaf_matrix import kernel_matrix
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.row_blocks import ArrayFeatures, Features, as_features
from usmo.solvers.stopping import Progress


@dataclass(frozen=True)
class Fit:
    """A certified solution of one problem.

    ``coef`` are the weights of the columns of a linear model, or of the mapped features of an approximate one. ``map``,
    ``landmarks`` and ``comparison`` belong to an approximate fit.
    """

    problem: Problem
    solution: Solution
    certificate: Certificate
    coef: Array | None = None
    map: Any = None
    landmarks: Index | None = None
    comparison: Approximation | None = None

    def coefficients(self, n_rows: int) -> Array:
        """α for every row of the table."""
        return self.problem.table_coefficients(self.solution.sigma, n_rows)


def fit_columns(
    problem: Problem,
    features: Features,
    spec: Specification,
    *,
    start: Start | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Fit a linear function of the columns. A small problem that falls short is finished by the dense solver."""
    fit = fit_features(problem, features, spec, start=start, progress=progress)
    best, short = fit.certified, fit.solution.status == "precision" and graded.can_finish(problem)
    if short and isinstance(features, ArrayFeatures):
        kernel = KernelMatrix(features.X, Kernel("linear"))
        best = better(best, graded.finish(problem, kernel, spec, fit.solution))
    return Fit(problem, best.solution, best.certificate, best.coef)


def fit_table(
    table: Table,
    spec: Specification,
    prior: float,
    lam: float,
    *,
    start: Start | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Fit and certify one problem on a table: with a kernel, as a linear function of the columns, or approximately.

    For the kernels of learned trees the table is one of leaves (:func:`usmo.fitting.trees.with_trees`).
    """
    problem = table.problem(prior, lam, spec.risk)
    if spec.kernel is None:
        return fit_columns(problem, as_features(table.X), spec, start=start, progress=progress)
    if spec.approximation is not None:
        rough = fit_approximate(problem, table.X, spec, progress, table.weight)
        solution, certificate, coef = rough.fit.solution, rough.fit.certificate, rough.fit.coef
        return Fit(problem, solution, certificate, coef, rough.map, rough.landmarks, rough.comparison)
    assert not isinstance(start, tuple)
    exact = fit_kernel(problem, kernel_matrix(table.X, spec.kernel), spec, start=start, progress=progress)
    return Fit(problem, exact.solution, exact.certificate, exact.coef)

"""One fit: from a table, a specification, a prior and λ to a certified solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from usmo.core.arrays import Array, Index
from usmo.core.certificate import Certificate
from usmo.core.problem import Problem
from usmo.core.solution import DualStart, Solution
from usmo.core.table import Table
from usmo.fitting import graded
from usmo.fitting.approximate import Approximation, fit_approximate
from usmo.fitting.certify import Certified, better
from usmo.fitting.kernel import fit_kernel
from usmo.fitting.linear import LinearFit, fit_linear
from usmo.fitting.newton import Start, fit_newton, suits_newton
from usmo.fitting.specification import Specification
from usmo.kernels.kernel import Kernel
from usmo.kernels.leaf_matrix import kernel_matrix
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.row_blocks import ArrayFeatures, Blocks, Features, as_features
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
    fit = _fit_columns(problem, features, spec, start, progress)
    one = Certified(fit.solution, fit.certificate, fit.net_violation)
    if (
        fit.solution.status != "precision"
        or not isinstance(features, ArrayFeatures)
        or not graded.can_finish(problem)
    ):
        return Fit(problem, *one[:2], coef=fit.coef)
    other = graded.finish(problem, KernelMatrix(features.X, Kernel("linear")), spec, fit.solution)
    if better(one, other) is one:
        return Fit(problem, *one[:2], coef=fit.coef)
    alpha = problem.table_coefficients(other.solution.sigma, features.shape[0])
    return Fit(problem, *other[:2], coef=Blocks(features).weighted_sum(alpha))


def _fit_columns(
    problem: Problem, features: Features, spec: Specification, start: Start | None, progress: Progress | None
) -> LinearFit:
    """By the solver asked for, or the faster one for this table; once more without the start if that falls short."""
    if spec.solver == "newton" and not isinstance(features, ArrayFeatures):
        raise ValueError("solver='newton' needs an array or a CSR matrix in memory; got a table in parts")
    if spec.solver != "newton" and (spec.solver != "auto" or not suits_newton(problem, features)):
        sigma_or_weights = start.sigma if isinstance(start, DualStart) else start
        return fit_linear(problem, features, spec, start=sigma_or_weights, progress=progress)
    assert isinstance(features, ArrayFeatures)
    fit = fit_newton(problem, features.X, spec, start=start, progress=progress)
    if start is not None and fit.solution.status == "precision":
        again = fit_newton(problem, features.X, spec, progress=progress)
        fit = again if abs(again.certificate.relative_gap) < abs(fit.certificate.relative_gap) else fit
    return fit


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
    return Fit(problem, exact.solution, exact.certificate)

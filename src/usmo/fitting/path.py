"""The regularisation path: solutions for many λ and priors, each started from the one before.

The kernel matrix depends on neither, so kernel rows computed for one solution serve the next. Going from λ to λ'
multiplies b, c, σ and G by λ/λ'. So the last solution is feasible for the next problem, and its G needs no kernel
row. A new prior changes only the sum of σ. All solutions are certified by one matrix product.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.core.problem import Problem
from usmo.core.solution import EvaluatedPoint, Solution
from usmo.core.table import Table
from usmo.fitting.certify import better, certify_values, check_kernel, meets_tolerance
from usmo.fitting.decision_values import Values, exact_values
from usmo.fitting.fit import Fit, fit_columns
from usmo.fitting.kernel import default_cache, effort, fit_kernel
from usmo.fitting.specification import Specification
from usmo.fitting.warm_up import compile_kernel_solvers
from usmo.kernels.leaf_matrix import kernel_matrix
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.row_blocks import ArrayFeatures, Features, as_features
from usmo.kernels.threads import single_blas
from usmo.solvers import blocks


def fit_path(table: Table, problems: list[Problem], spec: Specification) -> list[Fit]:
    """Certified fits of problems on one table that differ in λ and π only, each started from the one before.

    Solver, limits and checkpoint of the specification are not used.
    """
    spec = spec.unlimited()
    if spec.kernel is None:
        return _linear_path(problems, as_features(table.X), spec)
    return _kernel_path(problems, kernel_matrix(table.X, spec.kernel), spec)


def path_values(table: Table, fits: list[Fit], spec: Specification, rows: Index) -> Array:
    """f of each fit on some rows of the table, one line per fit."""
    beta = np.array([[fit.solution.beta] for fit in fits])
    if spec.kernel is None or spec.kernel.name == "linear":
        coef = np.stack([fit.coef for fit in fits if fit.coef is not None], axis=1)
        order = np.argsort(rows)
        values = np.empty((len(fits), len(rows)))
        values[:, order] = np.asarray(as_features(table.X).take(rows[order]) @ coef).T
        return values + beta
    matrix = kernel_matrix(table.X, spec.kernel)
    alpha = np.stack([fit.coefficients(len(matrix)) for fit in fits], axis=1)
    support = np.flatnonzero(alpha.any(axis=1))
    return matrix.product(rows, support, alpha[support]).T + beta


def _linear_path(problems: list[Problem], features: Features, spec: Specification) -> list[Fit]:
    fits: list[Fit] = []
    for problem in problems:
        start = None
        if fits and fits[-1].coef is not None:
            start = fits[-1].coef, fits[-1].solution.beta
        fits.append(fit_columns(problem, features, spec, start=start))
    return fits


def _kernel_path(problems: list[Problem], kernel: KernelMatrix, spec: Specification) -> list[Fit]:
    if not problems:
        return []
    if kernel.kernel.name == "linear":
        return _linear_path(problems, ArrayFeatures(kernel.X), spec)
    hardest = max(problems, key=lambda problem: float(problem.c.max()))
    with single_blas():  # as in fit_kernel
        psd = check_kernel(hardest, kernel)
        solutions = _solve_path(problems, hardest, kernel, spec, psd)
        return certified_fits(problems, solutions, kernel, spec, psd)


def certified_fits(
    problems: list[Problem], solutions: list[Solution], kernel: KernelMatrix, spec: Specification, psd: bool
) -> list[Fit]:
    """The solutions certified by one matrix product; those that fall short are solved again, each by itself."""
    columns = [p.table_coefficients(s.sigma, len(kernel)) for p, s in zip(problems, solutions, strict=True)]
    used = np.unique(np.concatenate([problem.rows for problem in problems]))
    values = exact_values(used, kernel, np.stack(columns, axis=1))
    fits = []
    for k, (problem, solution) in enumerate(zip(problems, solutions, strict=True)):
        certified = certify_values(problem, solution, Values(values[:, k]), psd)
        if not meets_tolerance(certified.certificate, certified.net_violation, spec.tol):
            again = fit_kernel(problem, kernel, spec, start=solution.sigma)
            short = certified._replace(solution=replace(certified.solution, status="precision"))
            certified = better(short, again._replace(solution=again.solution.continued_from(solution)))
        fits.append(Fit(problem, certified.solution, certified.certificate))
    return fits


def _solve_path(
    problems: list[Problem], hardest: Problem, kernel: KernelMatrix, spec: Specification, psd: bool
) -> list[Solution]:
    """Solve by blocks, with one cache of kernel rows for all problems."""
    compile_kernel_solvers()
    cache_size = default_cache() if spec.cache_size is None else spec.cache_size
    rows: blocks.BlockRows | None = None
    solutions: list[Solution] = []
    for k, problem in enumerate(problems):
        start, point = None, None
        if rows is None or not np.array_equal(problem.c_rows, problems[k - 1].c_rows):
            # without class weights, or with balanced ones and a prior of ½, labelled rows have no dual variable
            same = replace(hardest, c_rows=problem.c_rows, c=problem.c)
            rows = blocks.local_rows(same, kernel, blocks.choose_float_type(hardest, kernel, spec.tol), cache_size)
        else:
            last, before = solutions[-1], problems[k - 1]
            scale = float(problem.c[0] / before.c[0])
            sigma = last.sigma * scale
            K_sigma = (rows.mean * before.total - last.G) * scale
            point = EvaluatedPoint(sigma, rows.mean * problem.total - K_sigma)
            start = problem.repair(sigma, np.argsort(point.G, kind="stable"))
        limit = effort(problem, psd)
        solutions.append(blocks.solve(problem, rows, start, point=point, tol=spec.tol, effort=limit))
    return solutions

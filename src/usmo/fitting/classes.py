"""Problems on one table that differ in b and c, such as one for each class, solved with one cache of kernel rows.

The kernel matrix does not depend on the labels. So every kernel row that one problem needs serves the others, as far as
the cache holds it. For that the problems get the same dual variables: a row that has none in a problem takes part in it
with c = 0, where σ = 0 is the only choice.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from usmo.core.arrays import Index
from usmo.core.problem import Problem
from usmo.core.solution import Solution
from usmo.core.table import Table
from usmo.fitting.certify import check_kernel
from usmo.fitting.fit import Fit
from usmo.fitting.kernel import default_cache, effort
from usmo.fitting.path import certified_fits, fit_path
from usmo.fitting.specification import Specification
from usmo.fitting.warm_up import compile_kernel_solvers
from usmo.kernels.leaf_matrix import kernel_matrix
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.threads import single_blas
from usmo.solvers import blocks, starts


def fit_classes(table: Table, problems: list[Problem], spec: Specification) -> list[Fit]:
    """Certified fits of problems on one table, by the block solver; linear models by a linear solver.

    Solver, limits and checkpoint of the specification are not used.
    """
    if spec.kernel is None or spec.kernel.name == "linear" or not problems:
        return fit_path(table, problems, spec)
    kernel = kernel_matrix(table.X, spec.kernel)
    spec = spec.unlimited()
    hardest = max(problems, key=lambda problem: float(problem.c.max()))
    with single_blas():  # as in fit_kernel
        psd = check_kernel(hardest, kernel)
        solutions = _solve_classes(problems, hardest, kernel, spec, psd)
        return certified_fits(problems, solutions, kernel, spec, psd)


def _solve_classes(
    problems: list[Problem], hardest: Problem, kernel: KernelMatrix, spec: Specification, psd: bool
) -> list[Solution]:
    compile_kernel_solvers()
    used = np.unique(np.concatenate([problem.c_rows for problem in problems]))
    dtype = blocks.choose_float_type(hardest, kernel, spec.tol)
    cache_size = default_cache() if spec.cache_size is None else spec.cache_size
    rows: blocks.BlockRows | None = None
    solutions = []
    for problem in problems:
        wide = _on_rows(problem, used)
        if rows is None:
            rows = blocks.local_rows(wide, kernel, dtype, cache_size)
        else:
            rows.take_problem(wide, kernel)
        # kernel rows of this start are cached, those of the start from a subsample are not
        start = starts.from_scores(wide, rows.mean * wide.total) if rows.slots.capacity >= len(used) else None
        solution = blocks.solve(wide, rows, start, tol=spec.tol, effort=effort(wide, psd))
        own = np.searchsorted(used, problem.c_rows)
        solutions.append(replace(solution, sigma=solution.sigma[own], G=solution.G[own]))
    return solutions


def _on_rows(problem: Problem, rows: Index) -> Problem:
    """The problem with dual variables for all these rows; c is 0 where it has none."""
    c = np.zeros(len(rows))
    c[np.searchsorted(rows, problem.c_rows)] = problem.c
    return replace(problem, c_rows=rows, c=c)

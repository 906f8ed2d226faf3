"""Finish a fit that two-row steps or the interior point could not: a dense solve with a graded factor of the kernel.

Rows whose k(x, x) differ by many orders of magnitude make two-row steps stall, and make normal equations in any fixed
basis lose the small rows. K = ΦΦᵀ by Cholesky with pivots of decreasing size gives a Φ whose columns decrease with the
pivots: small rows have no large entries, so nothing of them is lost. The linear solver then works on Φ. It needs the
kernel matrix and n³ operations, so it is for some thousand rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg, sparse

from usmo.core.arrays import Array, Index
from usmo.core.problem import Problem
from usmo.core.shards import LocalShards
from usmo.core.solution import Solution
from usmo.fitting.certify import Certified, meets_tolerance
from usmo.fitting.linear import SOLVER_GAP_SHARE, certify_solution
from usmo.fitting.specification import Specification
from usmo.fitting.warm_up import compile_linear_solver
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.row_blocks import ArrayFeatures
from usmo.solvers import linear
from usmo.solvers.linear_rows import LinearRows
from usmo.solvers.linear_shards import LinearShard

LARGEST = 2000
"""Rows up to which a fit is finished this way."""


def can_finish(problem: Problem) -> bool:
    """Whether the problem is small enough."""
    return len(problem.rows) <= LARGEST


def finish(problem: Problem, kernel: KernelMatrix, spec: Specification, before: Solution) -> Certified:
    """Solve anew by the graded factor, and certify with the kernel itself; ``before`` is the solution to improve on."""
    compile_linear_solver()
    used = problem.rows
    b_rows, c_rows = (np.searchsorted(used, rows) for rows in (problem.b_rows, problem.c_rows))
    small = replace(problem, b_rows=b_rows, c_rows=c_rows)
    shard = LinearShard(ArrayFeatures(graded_factor(kernel, used)), small, None)
    with np.errstate(over="ignore", invalid="ignore"):
        result = linear.solve(
            LinearRows(LocalShards(shard)),
            tol=spec.tol,
            gap_tol=SOLVER_GAP_SHARE * spec.tol,
            max_time=spec.max_time,
        )
    sigma, _ = shard.best
    solution = Solution(
        sigma, result.beta, np.zeros(problem.n), result.iterations, 0.0, result.history, "precision"
    )
    certified = certify_solution(problem, kernel, solution.continued_from(before), psd=True)
    if meets_tolerance(certified.certificate, certified.net_violation, spec.tol):
        return certified._replace(solution=replace(certified.solution, status="optimal"))
    return certified


def graded_factor(kernel: KernelMatrix, rows: Index) -> Array:
    """Φ with ΦΦᵀ = K on these rows, up to a shift of all rows for the linear kernel; columns of decreasing size."""
    if kernel.kernel.name == "linear":
        X = kernel.X[rows]
        X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        # a shift changes nothing, because Σα = 0; the median is not moved by a few huge rows
        X = X - np.median(X, axis=0)
        R, order = linalg.qr(X.T, mode="r", pivoting=True)
        factor = np.empty((len(rows), min(X.shape)))
        factor[order] = R[: min(X.shape)].T
        return factor
    L, pivots, rank, _ = linalg.lapack.dpstrf(kernel.block(rows, rows), lower=1)
    factor = np.empty((len(rows), max(1, rank)))
    factor[pivots - 1] = np.tril(L)[:, : max(1, rank)]
    return factor

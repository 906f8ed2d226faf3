"""From a problem with K = XXᵀ to a certified solution: centre the columns, run the linear solver, judge it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy import sparse

from usmo.features import ArrayFeatures, Blocks, Features, column_means, largest_row
from usmo.judging import is_reached, with_fresh_values
from usmo.kernels import KernelMatrix
from usmo.problem import Array, Certificate, PUProblem
from usmo.solution import Solution
from usmo.solvers.limits import Progress

_LARGEST = 1e140
"""Bound on sums of products of rows; their squares must fit float64."""

_GAP_SHARE = 1e-3
"""The relative gap, in units of the tolerance on the violation."""


@dataclass(frozen=True)
class LinearFit:
    """A solution for K = XXᵀ with the weights of the columns; ``solution.beta`` is their intercept."""

    solution: Solution
    certificate: Certificate
    coef: Array


def is_narrow_linear(problem: PUProblem, kernel: KernelMatrix) -> bool:
    """Whether the kernel is linear and one side of the table small enough for the interior point."""
    from usmo.solvers.linear import WIDEST

    if kernel.kernel.name != "linear":
        return False
    return min(kernel.X.shape[1], problem.n + problem.p) <= WIDEST


def train_linear(
    problem: PUProblem,
    features: Features,
    *,
    start: Array | tuple[Array, float] | None = None,
    tol: float = 1e-3,
    max_iter: int = -1,
    max_time: float | None = None,
    progress: Progress | None = None,
) -> LinearFit:
    """Solve and certify K = XXᵀ by passes over row blocks.

    ``start`` is σ, or the weights and the intercept of a model for a problem nearby. Columns are centred on the
    way: Σα = 0, so the solution is the same, but nothing large cancels.
    """
    compile_linear_once()
    from usmo.solvers import linear

    centre = column_means(features)
    table = Blocks(features, centre=centre)
    if not largest_row(table) * problem.total * problem.n < _LARGEST:
        raise ValueError(
            "the products of these rows are too large for float64: scale the columns of X, or raise lam"
        )
    shift = np.zeros(table.r) if centre is None else centre
    if isinstance(start, np.ndarray):
        coef = table.weighted_sum(problem.table_coefficients(start, table.n))
        start = coef, problem.bias(start, table.dot(coef)[problem.unlabelled]) - float(coef @ shift)
    rotated = table.r > problem.n + problem.p or table.r > linear.WIDEST
    if rotated:
        task, columns, middle, start = *_rotated(problem, features, centre), None, None
    else:
        task, columns, middle = problem, features, centre
        start = None if start is None else (start[0], start[1] + float(start[0] @ shift))
    solution = linear.solve(
        task, columns, middle, start, tol=tol, gap_tol=_GAP_SHARE * tol, max_iter=max_iter, max_time=max_time,
        progress=progress,
    )  # fmt: skip
    coef = table.weighted_sum(problem.table_coefficients(solution.sigma, table.n))
    solution, certificate = with_fresh_values(problem, solution, table.dot(coef), True)
    if solution.status == "optimal" and not is_reached(certificate, solution, tol):
        solution = replace(solution, status="precision")
    moved = float(coef @ shift)
    solution = replace(solution, beta=solution.beta - moved, G=solution.G + moved)
    return LinearFit(solution, certificate, coef)


def _rotated(problem: PUProblem, features: Features, centre: Array | None) -> tuple[PUProblem, Features]:
    """The same problem where columns outnumber rows: as many columns as rows, with the same products of rows."""
    from usmo.solvers import linear

    used = np.union1d(problem.positives, problem.unlabelled)
    if len(used) > linear.WIDEST:
        raise ValueError(
            f"the interior point needs at most {linear.WIDEST} columns or rows, got {len(used)} rows and "
            f"{features.shape[1]} columns: use PUSVC(kernel='linear', solver='blocks')"
        )
    X = features.take(used)
    if centre is not None:
        X = np.asarray(X, dtype=np.float64) - centre
    product = X @ X.T
    values, vectors = np.linalg.eigh(product.toarray() if sparse.issparse(product) else product)
    F = vectors * np.sqrt(np.maximum(values, 0.0))
    positives, unlabelled = (np.searchsorted(used, rows) for rows in (problem.positives, problem.unlabelled))
    small = replace(problem, positives=positives, unlabelled=unlabelled)
    return small, ArrayFeatures(F[:, values > 1e-14 * values[-1]] if values[-1] > 0 else F[:, :1])


@cache
def compile_linear_once() -> None:
    """Compile the row loops of the linear solver, or load them from Numba's cache."""
    from usmo._jit import announced_compilation

    with announced_compilation():
        from usmo.solvers import interior

        interior.warm_up()

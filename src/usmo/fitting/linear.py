"""From a problem with K = XXᵀ to a certified solution: centre the columns, run the linear solver, judge it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array
from usmo.core.problem import Certificate, PUProblem
from usmo.core.shards import Here, Team
from usmo.core.solution import PassRecord, Solution, Status
from usmo.fitting.certify import is_reached, verdict
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.row_blocks import ArrayFeatures, Features, column_means, largest_row
from usmo.solvers.stopping import Progress

if TYPE_CHECKING:
    from usmo.solvers.linear import Reached

_LARGEST = 1e140
"""Bound on sums of products of rows; their squares must fit float64."""

GAP_SHARE = 1e-3
"""The relative gap, in units of the tolerance on the violation."""


@dataclass(frozen=True)
class LinearFit:
    """A solution for K = XXᵀ with the weights of the columns; ``solution.beta`` is their intercept."""

    solution: Solution
    certificate: Certificate
    coef: Array


_WIDE, _ROWS_PER_COLUMN = 200, 30
"""A table of so many columns, and at most so many rows for each, is faster to solve by blocks of kernel rows."""


def is_narrow_linear(problem: PUProblem, kernel: KernelMatrix) -> bool:
    """Whether the kernel is linear and one side of the table small enough for the interior point."""
    from usmo.solvers.linear import WIDEST

    if kernel.kernel.name != "linear":
        return False
    return min(kernel.X.shape[1], problem.n + problem.p) <= WIDEST


def suits_interior_point(problem: PUProblem, kernel: KernelMatrix) -> bool:
    """Whether the interior point is possible and the faster way (``python -m benchmarks.linear crossing``).

    It solves for the columns, so many columns and few rows do not suit it; with few columns and a small λ the
    blocks need many rounds.
    """
    rows, columns = problem.n + problem.p, kernel.X.shape[1]
    return is_narrow_linear(problem, kernel) and (columns < _WIDE or rows > _ROWS_PER_COLUMN * columns)


@dataclass(frozen=True)
class LinearModel:
    """f = x·coef + β with its certificate, and the account of the work; σ and f - β stay with the rows."""

    coef: Array
    beta: float
    certificate: Certificate
    iterations: int
    history: tuple[PassRecord, ...]
    status: Status


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
    from usmo.solvers.linear_shards import Rows, weights

    centre = column_means(features)
    shard = solved = Rows(features, problem, centre)
    refuse_large(largest_row(shard.table), problem.total, problem.n)
    shift = np.zeros(shard.table.r) if centre is None else centre
    if isinstance(start, np.ndarray):
        coef = weights(shard, start).sums[0]
        start = coef, problem.bias(start, shard.table.dot(coef)[problem.unlabelled]) - float(coef @ shift)
    middle = centre
    if shard.table.r > problem.n + problem.p or shard.table.r > linear.WIDEST:
        small, columns = _rotated(problem, features, centre)
        solved, middle, start = Rows(columns, small, None), None, None
    if start is not None:
        start = start[0], start[1] + float(start[0] @ shift)

    def report(record: PassRecord, w: Array) -> bool | None:
        assert progress is not None
        coef = w if solved is shard else weights(shard, solved.sigma).sums[0]
        return progress(record._replace(beta=record.beta - float(coef @ shift)), solved.sigma)

    reached = linear.solve(
        Here(solved), middle, start, tol=tol, gap_tol=GAP_SHARE * tol, max_iter=max_iter, max_time=max_time,
        progress=None if progress is None else report,
    )  # fmt: skip
    shard.best = solved.best
    model = certified(Here(shard), reached, centre, tol)
    solution = Solution(
        sigma=shard.sigma, beta=model.beta, G=shard.g_u + float(model.coef @ shift), iterations=model.iterations,
        kernel_rows=0.0, history=model.history, status=model.status,
    )  # fmt: skip
    return LinearFit(solution, model.certificate, model.coef)


def certified(team: Team, reached: Reached, centre: Array | None, tol: float) -> LinearModel:
    """What the solver reached on shards of ``linear_rows.Rows``, judged by values computed afresh."""
    from usmo.solvers.linear_shards import evaluate, finish

    coef = team.total(finish).sums[0]
    largest = team.total(evaluate, coef).highs[0]
    beta, certificate = verdict(team, reached.beta, reached.total, True)
    status = reached.status
    if status == "optimal" and not is_reached(certificate, largest, tol):
        status = "precision"
    shift = 0.0 if centre is None else float(coef @ centre)
    return LinearModel(coef, beta - shift, certificate, reached.iterations, reached.history, status)


def refuse_large(largest: float, total: float, n: int) -> None:
    """An error if sums of products of rows do not fit float64; ``largest`` is the largest of their own."""
    if not largest * total * n < _LARGEST:
        raise ValueError(
            "the products of these rows are too large for float64: scale the columns of X, or raise lam"
        )


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
    from usmo.system.compilation import announced_compilation

    with announced_compilation():
        from usmo.solvers import interior

        interior.warm_up()

"""Fit with K = XXᵀ by passes over row blocks: centre the columns, run the linear solver, certify."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array
from usmo.core.certificate import Certificate
from usmo.core.problem import Problem
from usmo.core.shards import LocalShards, Shards
from usmo.core.solution import PassRecord, Solution, Status
from usmo.fitting.certify import Certified, certify, certify_shards, meets_tolerance
from usmo.fitting.specification import Specification
from usmo.fitting.warm_up import compile_linear_solver
from usmo.kernels.kept import KeptRows
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.row_blocks import ArrayFeatures, Features, column_means, largest_row
from usmo.solvers import linear
from usmo.solvers.linear import WIDEST, LinearResult
from usmo.solvers.linear_rows import LinearRows
from usmo.solvers.linear_shards import LinearShard
from usmo.solvers.stopping import Progress

_LARGEST = 1e140
"""Bound on sums of products of rows: their squares must fit float64."""

SOLVER_GAP_SHARE = 1e-3
"""The relative gap at which solvers of linear models stop, in units of the tolerance on the violation."""

_RANK = 1e-14
"""Eigenvalues of XXᵀ below this share of the largest are rounding."""


@dataclass(frozen=True)
class LinearFit:
    """A solution for K = XXᵀ with the weights of the columns; ``solution.beta`` is their intercept."""

    solution: Solution
    certificate: Certificate
    coef: Array
    net_violation: float

    @property
    def certified(self) -> Certified:
        """The solution with its certificate, as fits with a kernel have them."""
        return Certified(self.solution, self.certificate, self.net_violation, self.coef)


@dataclass(frozen=True)
class LinearModel:
    """f = x·coef + β with its certificate and the record of the work. σ and f - β stay with the rows."""

    coef: Array
    beta: float
    certificate: Certificate
    iterations: int
    history: tuple[PassRecord, ...]
    status: Status
    net_violation: float


def fits_interior_point(problem: Problem, kernel: KernelMatrix) -> bool:
    """Whether the kernel is linear and the table has few enough columns or rows for the interior point."""
    return kernel.kernel.name == "linear" and min(kernel.X.shape[1], problem.n + problem.p) <= WIDEST


def fit_linear(
    problem: Problem,
    features: Features,
    spec: Specification,
    *,
    start: Array | tuple[Array, float] | None = None,
    progress: Progress | None = None,
) -> LinearFit:
    """Solve and certify one problem with K = XXᵀ.

    ``start`` is a σ, or the weights and the intercept of a model for a similar problem. Columns are centred for the
    solver: because Σα = 0 the solution is the same, but no large terms cancel.
    """
    compile_linear_solver()
    centre = column_means(features)
    shard = solved = LinearShard(features, problem, centre)
    refuse_large(largest_row(shard.table), problem.total, problem.n)
    shift = np.zeros(shard.table.r) if centre is None else centre
    if isinstance(start, np.ndarray):
        coef = shard.weights(start).sums[0]
        start = coef, problem.bias(start, shard.table.dot(coef)[problem.c_rows]) - float(coef @ shift)
    solver_centre = centre
    if shard.table.r > problem.n + problem.p or shard.table.r > WIDEST:
        solved, solver_centre, start = _rotated(problem, features, centre), None, None
    if start is not None:
        start = start[0], start[1] + float(start[0] @ shift)

    def report(record: PassRecord, w: Array) -> bool | None:
        assert progress is not None
        coef = w if solved is shard else shard.weights(solved.sigma).sums[0]
        return progress(record._replace(beta=record.beta - float(coef @ shift)), solved.sigma)

    result = linear.solve(
        LinearRows(LocalShards(solved)), solver_centre, start, tol=spec.tol, gap_tol=SOLVER_GAP_SHARE * spec.tol,
        max_iter=spec.max_iter, max_time=spec.max_time, progress=None if progress is None else report,
    )  # fmt: skip
    shard.best = solved.best
    return linear_fit(certify_linear(LocalShards(shard), result, centre, spec.tol), [shard], shift)


def linear_fit(model: LinearModel, shards: Sequence[LinearShard], shift: Array) -> LinearFit:
    """The fit of a certified model of the rows in these shards, whose columns are centred by ``shift``."""
    solution = Solution(
        sigma=np.concatenate([shard.sigma for shard in shards]),
        beta=model.beta,
        G=np.concatenate([shard.g_c for shard in shards]) + float(model.coef @ shift),
        iterations=model.iterations,
        kernel_rows=0.0,
        history=model.history,
        status=model.status,
    )
    return LinearFit(solution, model.certificate, model.coef, model.net_violation)


def certify_linear(shards: Shards, result: LinearResult, centre: Array | None, tol: float) -> LinearModel:
    """The model of the best σ of :class:`LinearShard`, certified by decision values computed anew."""
    coef = shards.merge(LinearShard.restore_best).sums[0]
    shards.gather(LinearShard.evaluate, coef)
    beta, certificate, net = certify_shards(shards, result.beta, result.total, True)
    status = result.status
    if status == "optimal" and not meets_tolerance(certificate, net, tol):
        status = "precision"
    shift = 0.0 if centre is None else float(coef @ centre)
    return LinearModel(coef, beta - shift, certificate, result.iterations, result.history, status, net)


def certify_solution(
    problem: Problem, kernel: KernelMatrix, solution: Solution, psd: bool, kept: KeptRows | None = None
) -> Certified:
    """:func:`usmo.fitting.certify.certify`, or for the linear kernel the certificate of the weights of the columns.

    Σα = 0 holds up to rounding only. Products of columns far from zero would multiply the rest, so they are centred,
    and the model takes the weights that are certified here.
    """
    if kernel.kernel.name != "linear":
        return certify(problem, kernel, solution, psd, kept)
    features = ArrayFeatures(kernel.X)
    centre = column_means(features)
    shard = LinearShard(features, problem, centre)
    coef = shard.weights(solution.sigma).sums[0]
    shard.sigma = solution.sigma
    shard.evaluate(coef)
    shift = 0.0 if centre is None else float(coef @ centre)
    beta, certificate, net = certify_shards(LocalShards(shard), solution.beta + shift, problem.total, True)
    return Certified(replace(solution, G=shard.g_c + shift, beta=beta - shift), certificate, net, coef)


def refuse_large(largest: float, total: float, n: int) -> None:
    """Raise an error if sums of products of rows do not fit float64; ``largest`` is the largest ‖x‖²."""
    if not largest * total * n < _LARGEST:
        raise ValueError(
            "the products of these rows are too large for float64: scale the columns of X, or raise lam"
        )


def _rotated(problem: Problem, features: Features, centre: Array | None) -> LinearShard:
    """The same problem with as many columns as rows and the same products of rows, for tables wider than high."""
    used = problem.rows
    if len(used) > WIDEST:
        raise ValueError(
            f"the interior point needs at most {WIDEST} columns or rows, got {len(used)} rows and "
            f"{features.shape[1]} columns: use solver='newton'"
        )
    X = features.take(used)
    if centre is not None:
        X = np.asarray(X, dtype=np.float64) - centre
    product = X @ X.T
    values, vectors = np.linalg.eigh(product.toarray() if sparse.issparse(product) else product)
    F = vectors * np.sqrt(np.maximum(values, 0.0))
    b_rows, c_rows = (np.searchsorted(used, rows) for rows in (problem.b_rows, problem.c_rows))
    small = replace(problem, b_rows=b_rows, c_rows=c_rows)
    columns = F[:, values > _RANK * values[-1]] if values[-1] > 0 else F[:, :1]
    return LinearShard(ArrayFeatures(columns), small, None)

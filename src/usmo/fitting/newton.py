"""Fit with K = XXᵀ on a table of any width, by the solver that narrows to the rows at kinks."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.core.arrays import Array
from usmo.core.problem import Problem
from usmo.core.shards import LocalShards, PerShard, Shards, SubShards
from usmo.core.solution import DualStart, PassRecord
from usmo.fitting.linear import SOLVER_GAP_SHARE, LinearFit, certify_linear, linear_fit, refuse_large
from usmo.fitting.specification import Specification
from usmo.fitting.warm_up import compile_newton_solver
from usmo.kernels.row_blocks import ArrayFeatures, PartFeatures, Span, column_means
from usmo.solvers import newton
from usmo.solvers.linear import LinearResult
from usmo.solvers.linear_shards import LinearShard
from usmo.solvers.newton_products import StoredRows, rows_of
from usmo.solvers.newton_shard_rows import ShardedDuals
from usmo.solvers.newton_shards import NewtonShard
from usmo.solvers.stopping import Progress

Start = Array | DualStart | tuple[Array, float]
"""A feasible σ, alone or with β, or the weights and the intercept of a linear model."""

_NARROW = 20
"""Columns up to which a dense table is left to the interior point (``python -m benchmarks.sparse crossing``)."""


def suits_newton(is_sparse: bool, columns: int) -> bool:
    """Whether the table is sparse or not narrow: then this solver is faster than the interior point."""
    return is_sparse or columns > _NARROW


def fit_newton(
    problem: Problem,
    X: Any,
    spec: Specification,
    *,
    start: Start | None = None,
    progress: Progress | None = None,
) -> LinearFit:
    """Solve and certify one problem with K = XXᵀ; ``start`` is a σ, or the weights and the intercept of a model."""
    compile_newton_solver()
    features = ArrayFeatures(X)
    centre = column_means(features)
    shard = LinearShard(features, problem, centre)
    rows = rows_of(X, centre)
    refuse_large(float(np.max(rows.norms, initial=0.0)), problem.total, problem.n)

    shift = np.zeros(X.shape[1]) if centre is None else centre

    def report(record: PassRecord, sigma: Array) -> bool | None:
        assert progress is not None
        coef = shard.weights(sigma[problem.c_rows]).sums[0]
        return progress(record._replace(beta=record.beta - float(coef @ shift)), sigma[problem.c_rows])

    result = newton.solve(
        rows, *problem.dense(X.shape[0]), **_start(problem, start, X.shape[0], shift), tol=spec.tol,
        gap_tol=SOLVER_GAP_SHARE * spec.tol, max_iter=spec.max_iter, max_time=spec.max_time,
        progress=None if progress is None else report,
    )  # fmt: skip
    shard.best = problem.repair(result.sigma[problem.c_rows]), np.empty(0)
    linear = LinearResult(result.beta, result.iterations, result.history, result.status, problem.total)
    return linear_fit(certify_linear(LocalShards(shard), linear, centre, spec.tol), [shard], shift)


def fit_newton_parts(
    problem: Problem,
    features: PartFeatures,
    spec: Specification,
    *,
    start: Start | None = None,
    progress: Progress | None = None,
) -> LinearFit:
    """The same for a table in parts. Each part is a shard, and is read again for every pass over its rows."""
    compile_newton_solver()
    centre = column_means(features)
    shift = np.zeros(features.shape[1]) if centre is None else centre
    parts = [LinearShard(Span(features, *span), problem.part(*span), centre) for span in features.spans()]
    for part in parts:
        part.newton = NewtonShard(StoredRows(part.features, centre), part.problem)

    def report(record: PassRecord, w: Array) -> bool | None:
        assert progress is not None
        sigma = np.concatenate([part.newton.sigma[part.problem.c_rows] for part in parts])
        return progress(record._replace(beta=record.beta - float(w @ shift)), sigma)

    arguments = _start(problem, start, features.shape[0], shift)
    if "sigma" in arguments:
        arguments["sigma"] = PerShard(arguments["sigma"][first:last] for first, last in features.spans())
    shards = LocalShards(*parts)
    result = newton_result(
        shards, centre, spec, spec.max_time, progress=None if progress is None else report, **arguments
    )
    return linear_fit(certify_linear(shards, result, centre, spec.tol), parts, shift)


def newton_result(
    shards: Shards, centre: Array | None, spec: Specification, max_time: float | None, **options: Any
) -> LinearResult:
    """Solve with shards of :class:`LinearShard` whose ``newton`` is set; they have the best σ afterwards.

    ``options`` are the start and the callbacks of :func:`usmo.solvers.newton.solve_duals`.
    """
    duals = ShardedDuals(SubShards(shards, "newton"), centre)
    refuse_large(duals.largest, duals.target, duals.n)
    result = newton.solve_duals(
        duals,
        tol=spec.tol,
        gap_tol=SOLVER_GAP_SHARE * spec.tol,
        max_iter=spec.max_iter,
        max_time=max_time,
        **options,
    )
    duals.settle()
    shards.gather(LinearShard.end_newton)
    return LinearResult(result.beta, result.iterations, result.history, result.status, duals.target)


def _start(problem: Problem, start: Start | None, n_rows: int, shift: Array) -> dict[str, Any]:
    """The start as arguments of the solver, whose columns are centred by ``shift``."""
    if start is None:
        return {}
    if isinstance(start, tuple) and not isinstance(start, DualStart):
        return {"w": start[0], "beta": start[1] + float(start[0] @ shift)}
    sigma = np.zeros(n_rows)
    sigma[problem.c_rows] = start.sigma if isinstance(start, DualStart) else start
    if isinstance(start, DualStart) and not shift.any():  # else β is not known: it refers to other columns
        return {"sigma": sigma, "beta": start.beta}
    return {"sigma": sigma}

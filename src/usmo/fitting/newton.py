"""Fit with K = XXᵀ on an array or CSR matrix of any width, by the solver that narrows to the rows at kinks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array
from usmo.core.problem import Problem
from usmo.core.shards import LocalShards
from usmo.core.solution import DualStart, PassRecord
from usmo.fitting.linear import GAP_SHARE, LinearFit, certify_linear, linear_fit, refuse_large
from usmo.fitting.specification import Specification
from usmo.fitting.warm_up import compile_newton_solver
from usmo.kernels.row_blocks import ArrayFeatures, Features, column_means
from usmo.solvers import newton
from usmo.solvers.linear import LinearResult
from usmo.solvers.linear_shards import LinearShard
from usmo.solvers.newton_products import rows_of
from usmo.solvers.stopping import Progress

Start = Array | DualStart | tuple[Array, float]
"""A feasible σ, alone or with β, or the weights and the intercept of a linear model."""

_NARROW = 20
"""Columns up to which a dense table is left to the interior point (``python -m benchmarks.sparse crossing``)."""


def suits_newton(problem: Problem, features: Features) -> bool:
    """Whether the table is in memory, and sparse or not narrow: then this solver is faster than the interior point."""
    if not isinstance(features, ArrayFeatures):
        return False
    return sparse.issparse(features.X) or features.shape[1] > _NARROW


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
    b, c = np.zeros(X.shape[0]), np.zeros(X.shape[0])
    b[problem.b_rows], c[problem.c_rows] = problem.b, problem.c
    rows = rows_of(X, centre)
    refuse_large(float(np.max(rows.norms, initial=0.0)), problem.total, problem.n)

    shift = np.zeros(X.shape[1]) if centre is None else centre

    def report(record: PassRecord, sigma: Array) -> bool | None:
        assert progress is not None
        coef = shard.weights(sigma[problem.c_rows]).sums[0]
        return progress(record._replace(beta=record.beta - float(coef @ shift)), sigma[problem.c_rows])

    result = newton.solve(
        rows, b, c, **_start(problem, start, X.shape[0], shift), tol=spec.tol, gap_tol=GAP_SHARE * spec.tol,
        max_iter=spec.max_iter, max_time=spec.max_time, progress=None if progress is None else report,
    )  # fmt: skip
    shard.best = problem.repair(result.sigma[problem.c_rows]), np.empty(0)
    linear = LinearResult(result.beta, result.iterations, result.history, result.status, problem.total)
    model = certify_linear(LocalShards(shard), linear, centre, spec.tol)
    return linear_fit(shard, model, shift)


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

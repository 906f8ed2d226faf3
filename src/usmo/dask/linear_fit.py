"""The solvers of linear models with their shards on the workers of a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import get_worker
from scipy import sparse

from usmo.core.arrays import Array
from usmo.core.problem import Problem
from usmo.core.shards import Partial, Shards
from usmo.core.solution import PassRecord
from usmo.core.table import Table
from usmo.core.weights import masses
from usmo.dask.cluster import ClusterShards
from usmo.dask.collections import Block
from usmo.dask.driver import LinearState, retry_on_loss
from usmo.dask.partitions import Partitions, Recipe, SampleRows, problem_of, sample_rows
from usmo.estimators.decision import CALIBRATED_P, CALIBRATED_U, Values, set_decision_of_shards
from usmo.fitting.checkpoint import StateFile, text_digest
from usmo.fitting.linear import SOLVER_GAP_SHARE, LinearModel, certify_linear, refuse_large
from usmo.fitting.newton import newton_result, suits_newton
from usmo.fitting.specification import Specification
from usmo.fitting.warm_up import compile_linear_solver, compile_newton_solver
from usmo.kernels.maps import MappedFeatures, mapped_features
from usmo.kernels.row_blocks import ArrayFeatures, Blocks, largest_row
from usmo.solvers import linear
from usmo.solvers.linear import WIDEST, LinearResult
from usmo.solvers.linear_rows import LinearRows
from usmo.solvers.linear_shards import LinearShard
from usmo.solvers.newton_products import rows_of
from usmo.solvers.newton_shards import NewtonShard
from usmo.solvers.stopping import Progress

_SHARE = 4
"""A quarter of a worker's memory holds mapped features; beyond that, rows are mapped at every read."""


@dataclass(frozen=True)
class ClusterFit:
    """A certified model, and the shards that have σ and f - ``beta``."""

    model: LinearModel
    shards: ClusterShards
    beta: float


class SampledShard(LinearShard):
    """With the rows that the threshold is chosen on."""

    def __init__(self, features: Any, problem: Problem, centre: Array | None, sample: SampleRows) -> None:
        super().__init__(features, problem, centre)
        self.sample_rows = sample


def open_shard(
    block: Block, recipe: Recipe, mapped: Any, centre: Array | None, neighbours: int, by_newton: bool
) -> LinearShard:
    """The shard of a block. ``neighbours`` is the number of shards per worker, which share its memory."""
    compile_linear_solver()
    problem = problem_of(block, recipe)
    features: Any = ArrayFeatures(block.X)
    if mapped is not None:
        limit = get_worker().memory_manager.memory_limit
        most = None if limit is None else int(limit / _SHARE / neighbours / 8)
        features = mapped_features(block.X, mapped, most)
    shard = SampledShard(features, problem, centre, sample_rows(block, problem, recipe))
    if by_newton:
        compile_newton_solver()
        shard.newton = NewtonShard(rows_of(block.X, centre), problem)
    return shard


def fit_cluster(
    table: Partitions,
    mapped: Any,
    spec: Specification,
    prior: float,
    lam: float,
    *,
    start: tuple[Array, float] | None = None,
    progress: Progress | None = None,
    use: Callable[[ClusterFit], None],
) -> ClusterFit:
    """Solve and certify on the workers; ``mapped`` is a map of the rows, None for the rows themselves.

    ``use`` is called with the fit while the shards still have σ and f.
    """
    compile_linear_solver()
    width = table.columns if mapped is None else mapped.width
    by_newton = mapped is None and (
        spec.solver == "newton" or (spec.solver == "auto" and suits_newton(table.summaries[0].is_sparse, width))
    )
    if width > WIDEST and not by_newton:
        raise ValueError(
            f"solver='interior-point' takes at most {WIDEST} columns, got {width}: use solver='newton'"
        )
    began = time.perf_counter()
    sums = table.gather(_column_sums, mapped)
    centre = None if sums[0] is None else np.sum(sums, axis=0) / table.rows
    shift = np.zeros(width) if centre is None else centre
    file = None
    if spec.checkpoint is not None:
        digest = text_digest((table.digest(), prior, lam, spec.risk))
        file = StateFile(spec.checkpoint, spec.checkpoint_seconds, digest)
    state = LinearState(file, width, start)
    neighbours = -(-len(table.blocks) // max(1, len(table.client.nthreads())))
    recipe = table.recipe(spec.risk, prior, lam), mapped, centre, neighbours, by_newton

    def report(record: PassRecord, w: Array) -> bool | None:
        assert progress is not None
        return progress(record._replace(beta=record.beta - float(w @ shift)), w)

    def attempt(shards: ClusterShards) -> ClusterFit:
        begin, left = state.guess, spec.max_time
        if begin is not None:
            begin = begin[0], begin[1] + float(begin[0] @ shift)
        if left is not None:
            left = max(1e-3, left - (time.perf_counter() - began))
        result = (_by_newton if by_newton else _by_interior_point)(
            shards, centre, spec, begin, left, progress=None if progress is None else report,
            report_guess=lambda w, beta: state.note(w, beta - float(w @ shift)),
        )  # fmt: skip
        model = certify_linear(shards, result, centre, spec.tol)
        fit = ClusterFit(model, shards, model.beta + float(model.coef @ shift))
        use(fit)
        return fit

    with nullcontext() if file is None else file:
        return retry_on_loss(table, open_shard, recipe, attempt)


def _by_newton(
    shards: Shards, centre: Array | None, spec: Specification, start: tuple[Array, float] | None,
    max_time: float | None, **callbacks: Any,
) -> LinearResult:  # fmt: skip
    begin = {} if start is None else {"w": start[0], "beta": start[1]}
    return newton_result(shards, centre, spec, max_time, **begin, **callbacks)


def _by_interior_point(
    shards: Shards, centre: Array | None, spec: Specification, start: tuple[Array, float] | None,
    max_time: float | None, **callbacks: Any,
) -> LinearResult:  # fmt: skip
    rows = LinearRows(shards)
    refuse_large(shards.merge(_largest).maxima[0], rows.total, rows.n)
    return linear.solve(
        rows, centre, start, tol=spec.tol, gap_tol=SOLVER_GAP_SHARE * spec.tol, max_iter=spec.max_iter,
        max_time=max_time, **callbacks,
    )  # fmt: skip


def set_cluster_decision(
    model: Any, sample: Table | None, shards: Shards, beta: float, values: tuple[Values, Values] | None = None
) -> None:
    """Set threshold and calibration; shards have the attributes of :class:`usmo.fitting.certify.CertificateShard`.

    ``values`` are held-out values and weights of P and U for the calibration. Without them it uses those of the fit.
    """
    shards.merge(_set_values, beta)
    if values is None:
        parts = shards.gather(_some_values, CALIBRATED_P // shards.size, CALIBRATED_U // shards.size)
        f_p, w_p, rate_p, f_u, w_u, rate_u = (np.concatenate([part[k] for part in parts]) for k in range(6))
        on_p, on_u = (f_p, masses(w_p, rate_p)), (f_u, masses(w_u, rate_u))
    else:
        on_p, on_u = ((f, masses(weight)) for f, weight in values)
    set_decision_of_shards(model, sample, shards, on_p, on_u)


def _largest(shard: LinearShard) -> Partial:
    return Partial((), (largest_row(shard.table),))


def _set_values(shard: Any, beta: float) -> Partial:
    """Give a shard the attributes of :class:`usmo.estimators.threshold.ValueShard`."""
    shard.f, shard.weight = (shard.g_c + beta)[shard.sample_rows.place], shard.sample_rows.weight
    shard.f_p = shard.g_b + beta
    return Partial()


def _some_values(shard: Any, most_p: int, most_u: int) -> list[Array]:
    """f and weight of every k-th row and the rate 1/k, of labelled positives and of the sample."""
    place, _, given = shard.sample_rows
    values: list[Array] = []
    for f, rows, most in (
        (shard.f_p, shard.problem.b_rows, most_p),
        (shard.f, shard.problem.c_rows[place], most_u),
    ):
        step = 1 + len(f) // max(1, most)
        values += [f[::step], given[rows[::step]], np.full(len(f[::step]), 1.0 / step)]
    return values


def _column_sums(block: Block, mapped: Any) -> Array | None:
    """Σx over the rows of a block; None for a sparse one, which must stay sparse."""
    if mapped is None and sparse.issparse(block.X):
        return None
    features: Any = ArrayFeatures(block.X) if mapped is None else MappedFeatures(block.X, mapped)
    return Blocks(features).weighted_sum(np.ones(features.shape[0]))

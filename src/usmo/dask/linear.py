"""LinearPUSVC on a cluster: the linear solver with its shards on the workers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from dask.base import is_dask_collection
from distributed import get_worker
from scipy import sparse
from sklearn.utils._param_validation import Interval

import usmo.estimators.linear
from usmo.core.arrays import Array
from usmo.core.shards import Found, Team
from usmo.core.solution import PassRecord
from usmo.core.table import Table
from usmo.dask.cluster import Cluster
from usmo.dask.driver import LinearState, Predicting, current_client, through_losses
from usmo.dask.partitions import Masses, Partitions, partitions, problem_of
from usmo.dask.parts import Block
from usmo.estimators.base import CALIBRATED, PUClassifier, warn_about
from usmo.fitting.checkpoint import StateFile, digest_of
from usmo.fitting.linear import GAP_SHARE, LinearModel, certified, compile_linear_once, refuse_large
from usmo.fitting.progress import callback_bridge, combined, printed
from usmo.kernels.row_blocks import ArrayFeatures, Blocks, largest_row
from usmo.solvers.stopping import Progress

_CALIBRATED = 50_000
"""Labelled positives, about, that probabilities are calibrated on."""


_SHARE = 4
"""One byte in so many of a worker's memory is for mapped features; what does not fit is mapped when it is read."""


class LinearPUSVC(Predicting, usmo.estimators.linear.LinearPUSVC):
    """:class:`usmo.LinearPUSVC` for ``dask.array`` and ``dask.dataframe``, dense or CSR.

    The same problem and the same solver: its sums over rows are made on the workers, which keep the rows and all
    that is known of them; between workers and driver go (r + 3)(r + 1) numbers per block and iteration for r
    columns, and once a sample of 40,000 rows. Needs a ``dask.distributed.Client``. The prior, if it is to be
    estimated, and λ, if it is to be chosen, come from a random sample of the rows: 50,000 of each kind, 80,000 for
    λ, in the censored scenario twice as many of any kind.

    A worker that is lost costs the state of its rows: Dask brings the rows back, and the fit goes on from its last
    decision function to the same optimum.

    Parameters
    ----------
    checkpoint : path, default=None
        A file that keeps the last decision function while the fit runs. A fit started again with the same table
        and parameters goes on from there.
    checkpoint_seconds : float, default=30
        Seconds between two writings of it.

    The others are those of :class:`usmo.LinearPUSVC`, and so are the fitted attributes.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **usmo.estimators.linear.LinearPUSVC._parameter_constraints,
        "checkpoint": [str, os.PathLike, None],
        "checkpoint_seconds": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        prior: float | str = "estimate",
        *,
        lam: float | str = 1e-2,
        scenario: str = "case-control",
        threshold: float | str = "prior",
        tol: float = 1e-3,
        max_iter: int = -1,
        max_time: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 30.0,
    ) -> None:
        super().__init__(
            prior, lam=lam, scenario=scenario, threshold=threshold, tol=tol, max_iter=max_iter, max_time=max_time,
            warm_start=warm_start, random_state=random_state, verbose=verbose,
        )  # fmt: skip
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds

    def _fit(self, X: Any, y: Any, sample_weight: Any, context: Any) -> None:
        if not is_dask_collection(X):
            if self.checkpoint is not None:
                raise ValueError("checkpoint needs a Dask collection for X; PUSVC has one for tables in memory")
            super()._fit(X, y, sample_weight, context)
            return
        table = partitions(current_client(), X, y, sample_weight)
        sample: Table | None = None
        if self.prior == "estimate" or self.lam == "cv":
            sample, _, known = self._known(table, 1.0)
        else:
            known = {"prior_": float(self.prior), "lam_": float(self.lam)}
        start = None
        if self.warm_start and hasattr(self, "coef_") and self.coef_.shape[1] == table.columns:
            start = self.coef_[0], float(self.intercept_[0] + self.threshold_)

        def fitted(coef: Array, beta: float) -> dict[str, Any]:
            return {"classes_": table.classes, **known, "coef_": coef[None, :], "intercept_": np.array([beta])}

        trained = train_blocks(
            table, None, known["prior_"], known["lam_"], self.scenario, start=start, tol=self.tol,
            max_iter=self.max_iter, max_time=self.max_time,
            progress=combined(printed(self.verbose, self.tol), callback_bridge(self, context, fitted)),
            checkpoint=None if self.checkpoint is None else (self.checkpoint, self.checkpoint_seconds),
            settle=lambda found: self._take(table, sample, known, found),
        )  # fmt: skip
        warn_about(trained.model, trained.model.certificate, self.tol)

    def _take(self, table: Partitions, sample: Table | None, known: dict[str, Any], found: Trained) -> None:
        """Set every fitted attribute."""
        for name in ("prior_interval_", "selection_"):
            self.__dict__.pop(name, None)
        self._named(table)
        self.__dict__.update(
            {
                "classes_": table.classes,
                **known,
                "coef_": found.model.coef[None, :],
                "intercept_": np.array([found.model.beta]),
                "certificate_": found.model.certificate,
                "n_iter_": found.model.iterations,
                "history_": found.model.history,
            }
        )
        settled(self, sample, found.team, found.beta)

    _plain = usmo.estimators.linear.LinearPUSVC


@dataclass(frozen=True)
class Trained:
    """A certified model, and the team that has σ and, with ``beta``, f."""

    model: LinearModel
    team: Cluster
    beta: float


def open_rows(
    block: Block, classes: np.ndarray, scenario: str, prior: float, lam: float, masses: Masses, mapped: Any,
    centre: Array | None, neighbours: int,
) -> Any:  # fmt: skip
    """The shard of a block; about so many are on the same worker."""
    from usmo.fitting.approximate import mapped_features
    from usmo.solvers.linear_shards import Rows

    compile_linear_once()
    problem = problem_of(block, classes, scenario, prior, lam, masses)
    features: Any = ArrayFeatures(block.X)
    if mapped is not None:
        limit = get_worker().memory_manager.memory_limit
        most = None if limit is None else int(limit / _SHARE / neighbours / 8)
        features = mapped_features(block.X, mapped, most)
    return Rows(features, problem, centre)


def train_blocks(
    table: Partitions,
    mapped: Any,
    prior: float,
    lam: float,
    scenario: str,
    *,
    start: tuple[Array, float] | None = None,
    tol: float,
    max_iter: int = -1,
    max_time: float | None = None,
    progress: Progress | None = None,
    checkpoint: tuple[str | os.PathLike[str], float] | None = None,
    settle: Callable[[Trained], None],
) -> Trained:
    """Solve and certify on the workers; ``mapped`` is a map of the rows, None for the rows themselves.

    ``settle`` is called while the shards still have σ and f.
    """
    compile_linear_once()
    from usmo.solvers import linear
    from usmo.solvers import linear_shards as linear_rows

    width = table.columns if mapped is None else mapped.width
    if width > linear.WIDEST:
        raise ValueError(f"X must have at most {linear.WIDEST} columns on a cluster, got {width}")
    began = time.perf_counter()
    sums = table.gather(_column_sums, mapped)
    centre = None if sums[0] is None else np.sum(sums, axis=0) / table.rows
    shift = np.zeros(width) if centre is None else centre
    file = None
    if checkpoint is not None:
        file = StateFile(*checkpoint, digest_of((table.digest(), prior, lam, scenario)))
    state = LinearState(file, width, start)
    neighbours = -(-len(table.blocks) // max(1, len(table.client.nthreads())))
    recipe = table.classes, scenario, prior, lam, table.masses(scenario), mapped, centre, neighbours

    def report(record: PassRecord, w: Array) -> bool | None:
        assert progress is not None
        return progress(record._replace(beta=record.beta - float(w @ shift)), w)

    def attempt(team: Cluster) -> Trained:
        _, total, _ = team.total(linear_rows.measure).sums
        refuse_large(team.total(_largest).highs[0], float(total), table.rows)
        begin = state.guess
        left = None if max_time is None else max(1e-3, max_time - (time.perf_counter() - began))
        reached = linear.solve(
            team, centre, None if begin is None else (begin[0], begin[1] + float(begin[0] @ shift)), tol=tol,
            gap_tol=GAP_SHARE * tol, max_iter=max_iter, max_time=left,
            progress=None if progress is None else report,
            guess=lambda w, beta: state.note(w, beta - float(w @ shift)),
        )  # fmt: skip
        model = certified(team, reached, centre, tol)
        found = Trained(model, team, model.beta + float(model.coef @ shift))
        settle(found)
        return found

    found = through_losses(table, open_rows, recipe, attempt)
    state.done()
    return found


def settled(model: PUClassifier, sample: Table | None, team: Team, beta: float) -> None:
    """Threshold and probabilities of a model from f - β that the shards have (:class:`usmo.fitting.certify.Judged`)."""
    team.total(_decided, beta)
    parts = team.gather(_some_decisions, _CALIBRATED // team.size, CALIBRATED // team.size)
    f_p, c1, f_u, c2 = (np.concatenate([part[k] for part in parts]) for k in range(4))
    # c1 and c2 are the weights in another unit
    model._settle(sample, team, (f_p, c1 / c1.max()), (f_u, c2 / c2.max()))


def _largest(shard: Any) -> Found:
    return Found((), (largest_row(shard.table),))


def _decided(shard: Any, beta: float) -> Found:
    """f with β, and the weights that a threshold goes by (:class:`usmo.estimators.threshold.Decisions`)."""
    shard.f, shard.weight = shard.g_u + beta, shard.problem.c2
    shard.f_p = shard.g_p + beta
    return Found()


def _some_decisions(shard: Any, most_p: int, most_u: int) -> tuple[Array, Array, Array, Array]:
    """f and weight of every so-manieth row, which stands for the others."""
    step_p, step_u = (1 + len(f) // max(1, most) for f, most in ((shard.f_p, most_p), (shard.f, most_u)))
    on_p = shard.f_p[::step_p], step_p * shard.problem.c1[::step_p]
    return *on_p, shard.f[::step_u], step_u * shard.problem.c2[::step_u]


def _column_sums(block: Block, mapped: Any) -> Array | None:
    """Σx over the rows of a block; None for a sparse one, which must stay sparse."""
    from usmo.fitting.approximate import MappedFeatures

    if mapped is None and sparse.issparse(block.X):
        return None
    features: Any = ArrayFeatures(block.X) if mapped is None else MappedFeatures(block.X, mapped)
    return Blocks(features).weighted_sum(np.ones(features.shape[0]))

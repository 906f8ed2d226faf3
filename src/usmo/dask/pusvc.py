"""PUSVC on a cluster: the block solver with its shards on the workers, or mapped features with the linear solver."""

from __future__ import annotations

from typing import Any

import numpy as np
from dask.base import is_dask_collection

import usmo.estimators.pusvc
from usmo.core.arrays import Array, Index
from usmo.core.shards import SubShards
from usmo.core.table import Table
from usmo.dask.block_fit import BlockFit, BlockProblem
from usmo.dask.collections import Block
from usmo.dask.driver import (
    cluster_attributes,
    cluster_specification,
    current_client,
    refuse_groups,
    sample_and_choose,
    set_columns,
)
from usmo.dask.held_out import held_out
from usmo.dask.linear_fit import ClusterFit, fit_cluster, set_cluster_decision
from usmo.dask.partitions import Partitions, partitions, weights_of
from usmo.dask.prediction import LazyPredictions
from usmo.estimators.expansion import map_expansion
from usmo.estimators.fit_warnings import warn_if_short
from usmo.estimators.preparation import Choices, check_approximation
from usmo.estimators.training import makes_held_out_values, replace_attributes
from usmo.fitting.approximate import compare, feature_map
from usmo.fitting.kernel import CACHE_SHARE, MOST_CACHE
from usmo.fitting.progress import printed
from usmo.fitting.specification import Specification
from usmo.kernels.gamma import entry_variance, mean_entry, resolve_gamma, scale_gamma
from usmo.kernels.kernel import FORESTS
from usmo.solvers.linear import WIDEST


class PUSVC(LazyPredictions, usmo.estimators.pusvc.PUSVC):
    """:class:`usmo.PUSVC` for ``dask.array`` and ``dask.dataframe``, dense or CSR.

    The same problem and the same solver. In an exact fit the workers keep decision values and cached kernel values of
    their rows. The labelled rows, and rows whose coefficients change, are sent to every worker, which computes the
    kernel between them and its own rows. With ``approximation`` the workers map their rows, and the linear solver runs
    on them. Needs a ``dask.distributed.Client``. An estimated prior, a chosen λ and landmarks come from a random sample
    of the rows.

    Parameters and fitted attributes are those of :class:`usmo.PUSVC`. ``kernel`` must not be "linear" (use
    :class:`usmo.dask.LinearPUSVC`), "precomputed", "forest" or "forest+rbf", and ``solver`` is "auto" or "blocks".
    Callbacks get no passes. :meth:`from_local` predicts with a model that was fitted on one machine, with any kernel.
    """

    def _fit(self, X: Any, y: Any, sample_weight: Any, propensity: Any, groups: Any, context: Any) -> None:
        if not is_dask_collection(X):
            super()._fit(X, y, sample_weight, propensity, groups, context)
            return
        self._check()
        refuse_groups(groups)
        table = partitions(current_client(), X, y, sample_weight)
        spec = cluster_specification(self, table, propensity, gamma_over(self.gamma, table))
        sample, rows, choices = sample_and_choose(self, table, spec)
        if self.approximation is not None:
            self._fit_map(table, spec, sample, rows, choices)
        else:
            self._fit_blocks(table, spec, sample, choices)

    def _check(self) -> None:
        if self.kernel in ("linear", "precomputed"):
            raise ValueError(
                f"kernel={self.kernel!r} is not for a cluster; usmo.dask.LinearPUSVC fits linear models there"
            )
        if self.kernel in FORESTS:
            raise ValueError(
                f"kernel={self.kernel!r} is not for a cluster; fit usmo.PUSVC to a sample of the rows, and predict "
                "with usmo.dask.PUSVC.from_local(model)"
            )
        check_approximation(self)
        if self.approximation is not None and self.n_components > WIDEST:
            raise ValueError(f"n_components must be at most {WIDEST} on a cluster, got {self.n_components}")
        other = "blocks" if self.approximation is None else "interior-point"
        if self.solver not in ("auto", other):
            raise ValueError(f"solver must be 'auto' or {other!r} on a cluster, got {self.solver!r}")
        if self.warm_start:
            raise ValueError("warm_start does not work on a cluster; checkpoint does")

    def _fit_map(
        self, table: Partitions, spec: Specification, sample: Table, rows: Index, choices: Choices
    ) -> None:
        """Fit mapped features. Landmarks and the comparison with an exact fit come from the sample."""
        mapped, landmarks = feature_map(sample.X, sample.rows, spec, sample.weight)
        small = sample.problem(choices.prior, choices.lam, spec.risk)
        comparison = compare(small, sample.X, spec, mapped)

        def use(fit: ClusterFit) -> None:
            model = fit.model
            attributes = map_expansion(mapped, model.coef, sample.X, landmarks)
            if landmarks is not None:
                attributes["support_"] = rows[landmarks]
            attributes |= {"approximation_": comparison, "kernel_rows_": 0.0}
            attributes |= cluster_attributes(table, spec, choices, model, model.certificate)
            self._set_fitted(table, spec, attributes)
            set_cluster_decision(self, sample, fit.shards, fit.beta)

        fit = fit_cluster(
            table, mapped, spec, choices.prior, choices.lam, progress=printed(self.verbose, self.tol), use=use
        )
        warn_if_short(fit.model.status, fit.model.certificate, self.tol)

    def _fit_blocks(self, table: Partitions, spec: Specification, sample: Table, choices: Choices) -> None:
        problem = BlockProblem(table, spec, sample, choices.prior, choices.lam)
        cache_size = _cache(table.client) if spec.cache_size is None else spec.cache_size

        def use(fit: BlockFit) -> None:
            solution = fit.solution
            attributes = {
                "support_": fit.support,
                "support_vectors_": fit.vectors,
                "dual_coef_": fit.alpha[None, :],
                "kernel_rows_": solution.kernel_rows,
                **cluster_attributes(table, spec, choices, solution, fit.certificate),
            }
            self._set_fitted(table, spec, attributes)
            values = held_out(problem, fit) if makes_held_out_values(self, spec) else None
            certificates = SubShards(fit.shards, "certificate")
            set_cluster_decision(self, sample, certificates, solution.beta, values)

        fit = problem.fit(cache_size, printed(self.verbose, self.tol), use)
        warn_if_short(fit.solution.status, fit.certificate, self.tol)

    def _set_fitted(self, table: Partitions, spec: Specification, attributes: dict[str, Any]) -> None:
        set_columns(self, table)
        replace_attributes(self, {"_kernel": spec.kernel, **attributes})

    _local = usmo.estimators.pusvc.PUSVC


def _cache(client: Any) -> float:
    """Default megabytes for kernel rows, all workers together: of each a quarter of its memory limit, at most 400."""
    limits = [worker["memory_limit"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()]
    return sum(min(MOST_CACHE, CACHE_SHARE * (limit or np.inf) / 2**20) for limit in limits) or MOST_CACHE


def gamma_over(gamma: str | float, table: Partitions) -> float:
    """γ as in :func:`usmo.kernels.gamma.resolve_gamma`, from sums over the blocks."""
    if not isinstance(gamma, str) or gamma == "auto":
        return resolve_gamma(gamma, np.empty((1, table.columns)))
    top = max(max(summary.tops) for summary in table.summaries)
    mass = float(np.sum(table.gather(_mass, top)))
    centre = float(np.sum(table.gather(_mean, top, mass)))
    return scale_gamma(table.columns, centre, float(np.sum(table.gather(_variance, top, mass, centre))))


def _share(block: Block, top: float) -> Array:
    return weights_of(block, np.arange(len(block.y)), top)


def _mass(block: Block, top: float) -> float:
    return float(_share(block, top).sum())


def _mean(block: Block, top: float, mass: float) -> float:
    return mean_entry(block.X, _share(block, top) / mass)


def _variance(block: Block, top: float, mass: float, centre: float) -> float:
    return entry_variance(block.X, _share(block, top) / mass, centre)

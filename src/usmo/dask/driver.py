"""The driver's side of a fit on a cluster: the client, the sample for prior and λ, recovery from lost workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from distributed import Client, get_client

from usmo.core.arrays import Array, Index
from usmo.core.certificate import Certificate
from usmo.core.labels import check_class_weight
from usmo.core.shards import ShardLost
from usmo.core.table import Table
from usmo.dask.cluster import ClusterShards
from usmo.dask.partitions import KINDS, Partitions
from usmo.estimators.preparation import (
    PRIOR_ROWS,
    Choices,
    choose,
    not_below,
    refuse_small_prior,
    resolve_eta,
    specification,
)
from usmo.estimators.training import common_attributes
from usmo.fitting.checkpoint import StateFile
from usmo.fitting.folds import rows_limit
from usmo.fitting.specification import Specification

_LOSSES = 50
"""Losses of workers after which a fit fails."""


def current_client() -> Client:
    """The Dask client in use."""
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "a Dask collection needs a cluster: from dask.distributed import Client; client = Client()"
        ) from None


def retry_on_loss(
    table: Partitions, open_shard: Callable[..., Any], recipe: tuple[Any, ...],
    attempt: Callable[[ClusterShards], Any],
) -> Any:  # fmt: skip
    """Open shards and call ``attempt`` on them, again after each loss of a worker."""
    for _ in range(_LOSSES):
        shards: ClusterShards | None = None
        try:
            shards = ClusterShards(table.client, table.blocks, open_shard, *recipe)
            return attempt(shards)
        except ShardLost:
            continue
        finally:
            if shards is not None:
                shards.close()
    raise RuntimeError(f"workers were lost {_LOSSES} times during one fit; see their logs")


class LinearState:
    """The last decision function of a fit, from which it continues after the loss of a worker, or from a file."""

    def __init__(self, file: StateFile | None, columns: int, start: tuple[Array, float] | None) -> None:
        self.guess, self._file = start, file
        stored = None if file is None else file.load(w=(columns,), beta=())
        if stored is not None:
            self.guess = stored["w"], float(stored["beta"])

    def note(self, w: Array, beta: float) -> None:
        """Store a newer decision function."""
        self.guess = w, beta
        if self._file is not None:
            self._file.save(lambda: {"w": w, "beta": beta})


def sample_and_choose(model: Any, table: Partitions, spec: Specification) -> tuple[Table, Index, Choices]:
    """A sample of the table, its row numbers, and the prior and λ, given or chosen on the sample."""
    most = max(PRIOR_ROWS, rows_limit(spec)) if model.lam == "cv" else PRIOR_ROWS
    sample, rows = table.sample(most, model.scenario, spec.seed)
    choices = choose(sample, spec, model.prior, model.lam)
    if choices.interval is None or model.scenario != "censored":
        return sample, rows, choices
    mass = _weights(table)
    prior, interval = not_below(mass[1] / sum(mass.values()), choices.prior, choices.interval)
    return sample, rows, replace(choices, prior=prior, interval=interval)


def cluster_specification(
    model: Any, table: Partitions, propensity: Any, gamma: float | None = None
) -> Specification:
    """The specification of an estimator for a table on the workers."""
    check_class_weight(model.class_weight)
    if propensity is not None or model.propensity is not None:
        raise ValueError("propensity does not work on a cluster")
    mass, eta = _weights(table), 0.0
    if model.scenario == "censored" and model.prior != "estimate":
        refuse_small_prior(model.prior, mass[1], sum(mass.values()))
    if mass[-1]:
        unlabelled = sum(mass.values()) if model.scenario == "censored" else mass[0]
        eta = resolve_eta(model.eta, mass[-1], unlabelled)
        if eta == 1.0:
            raise ValueError("eta must be below 1 on a cluster, got 1: then no unlabelled row is evaluated")
    return replace(specification(model, None, gamma), eta=eta)


def cluster_attributes(
    table: Partitions, spec: Specification, choices: Choices, fit: Any, certificate: Certificate
) -> dict[str, Any]:
    """Fitted attributes of every certified fit, as those of one machine."""
    eta = spec.eta if _weights(table)[-1] else None
    return common_attributes(table.classes, choices, fit, certificate, eta)


def _weights(table: Partitions) -> dict[int, float]:
    """The total weight of each of the ``KINDS``."""
    return dict(zip(KINDS, np.sum([summary.sums for summary in table.summaries], axis=0).tolist(), strict=True))


def refuse_groups(groups: Any) -> None:
    """Groups would have to stay together in the sample that λ and the prior are chosen on."""
    if groups is not None:
        raise ValueError(
            "groups does not work on a cluster: choose prior and lam on a table in memory, and give them"
        )


def set_columns(model: Any, table: Partitions) -> None:
    """Set ``n_features_in_`` and the names of the columns."""
    model.__dict__.pop("feature_names_in_", None)
    model.n_features_in_ = table.columns
    if table.names is not None:
        model.feature_names_in_ = np.array(table.names, dtype=object)

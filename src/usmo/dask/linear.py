"""LinearPUSVC on a cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from dask.base import is_dask_collection
from sklearn.utils._param_validation import Interval

import usmo.estimators.linear
from usmo.core.arrays import Array
from usmo.core.table import Table
from usmo.dask.driver import (
    cluster_attributes,
    cluster_specification,
    current_client,
    refuse_groups,
    sample_and_choose,
    set_columns,
)
from usmo.dask.linear_fit import ClusterFit, fit_cluster, set_cluster_decision
from usmo.dask.partitions import Partitions, partitions
from usmo.dask.prediction import LazyPredictions
from usmo.estimators.callbacks import callback_bridge
from usmo.estimators.fit_warnings import warn_if_short
from usmo.estimators.preparation import Choices
from usmo.estimators.training import replace_attributes
from usmo.estimators.types import (
    ClassWeight,
    Eta,
    Lam,
    LinearSolver,
    Prior,
    PropensityChoice,
    Scenario,
    Threshold,
)
from usmo.fitting.default_lam import LINEAR_LAM
from usmo.fitting.progress import combined, printed
from usmo.fitting.specification import Specification


class LinearPUSVC(LazyPredictions, usmo.estimators.linear.LinearPUSVC):
    """:class:`usmo.LinearPUSVC` for ``dask.array`` and ``dask.dataframe``, dense or CSR.

    The same problem and the same solvers. The workers keep the rows and their state and make the sums over rows. Each
    worker thread merges the sums of its blocks. With r columns it sends (r + 3)(r + 1) numbers per iteration of the
    interior point, r numbers per pass of "newton". For the interior point the driver receives a sample of 40,000 rows,
    once; for "newton" the rows near -1 and 1 in every round, if they have at most 8 million entries (up to 16 times as
    many after rounds without progress). Needs a ``dask.distributed.Client``. An estimated prior and a chosen λ come
    from a random sample: at most 50,000 rows of P and of U (80,000 if ``lam="cv"``); in the censored scenario 100,000
    (160,000) rows in total.

    If a worker is lost, Dask computes its rows again, and the fit continues from its last decision function to the
    same optimum.

    Parameters
    ----------
    checkpoint : path, default=None
        A file for the last decision function while the fit runs. A fit started again with the same table and
        parameters continues from it.
    checkpoint_seconds : float, default=30
        Seconds between two writes.

    All other parameters, and the fitted attributes, are those of :class:`usmo.LinearPUSVC`.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **usmo.estimators.linear.LinearPUSVC._parameter_constraints,
        "checkpoint": [str, os.PathLike, None],
        "checkpoint_seconds": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        prior: Prior = "estimate",
        *,
        lam: Lam = "auto",
        class_weight: ClassWeight = "balanced",
        eta: Eta = "auto",
        scenario: Scenario = "case-control",
        threshold: Threshold = "prior",
        propensity: PropensityChoice = None,
        propensity_columns: Sequence[int | str] | None = None,
        solver: LinearSolver = "auto",
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
            prior, lam=lam, class_weight=class_weight, eta=eta, scenario=scenario,
            threshold=threshold, propensity=propensity, propensity_columns=propensity_columns, solver=solver,
            tol=tol, max_iter=max_iter, max_time=max_time,
            warm_start=warm_start, random_state=random_state, verbose=verbose,
        )  # fmt: skip
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds

    def _fit(self, X: Any, y: Any, sample_weight: Any, propensity: Any, groups: Any, context: Any) -> None:
        if not is_dask_collection(X):
            if self.checkpoint is not None:
                raise ValueError("checkpoint needs a Dask collection for X; PUSVC has one for tables in memory")
            super()._fit(X, y, sample_weight, propensity, groups, context)
            return
        refuse_groups(groups)
        table = partitions(current_client(), X, y, sample_weight)
        spec = cluster_specification(self, table, propensity)
        sample: Table | None = None
        if self.prior == "estimate" or self.lam == "cv":
            sample, _, choices = sample_and_choose(self, table, spec)
        else:
            choices = Choices(float(self.prior), LINEAR_LAM if self.lam == "auto" else float(self.lam))
        fit = fit_cluster(
            table, None, spec, choices.prior, choices.lam, start=self._last_function(table.columns),
            progress=combined(
                printed(self.verbose, self.tol), callback_bridge(self, context, partial(_current, table, choices))
            ),
            use=partial(self._set_fitted, table, spec, sample, choices),
        )  # fmt: skip
        warn_if_short(fit.model.status, fit.model.certificate, self.tol)

    def _set_fitted(
        self, table: Partitions, spec: Specification, sample: Table | None, choices: Choices, fit: ClusterFit
    ) -> None:
        set_columns(self, table)
        model = fit.model
        attributes = cluster_attributes(table, spec, choices, model, model.certificate)
        replace_attributes(self, {"coef_": model.coef[None, :], **attributes})
        set_cluster_decision(self, sample, fit.shards, fit.beta)

    _local = usmo.estimators.linear.LinearPUSVC


def _current(table: Partitions, choices: Choices, coef: Array, beta: float) -> dict[str, Any]:
    """Fitted attributes of a decision function, for callbacks also during the fit."""
    function = {"coef_": coef[None, :], "intercept_": np.array([beta])}
    return {"classes_": table.classes, **choices.attributes(), **function}

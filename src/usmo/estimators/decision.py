"""The decision of a fitted model: the threshold moves into the intercept, and probabilities are calibrated."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.core.arrays import Array
from usmo.core.problem import PUProblem
from usmo.core.shards import LocalShards, Shards
from usmo.core.table import Table
from usmo.estimators.calibration import calibrated
from usmo.estimators.fit_warnings import warn_if_constant
from usmo.estimators.threshold import ValueShard, threshold_at_prior, value_range

CALIBRATED_U = 200_000
"""Unlabelled rows that probabilities are calibrated on, about. Two slopes need no more."""

CALIBRATED_P = 50_000
"""Labelled positives that linear models are calibrated on at most; on a cluster kernel models too."""


def set_decision(model: Any, table: Table, problem: PUProblem, f_p: Array, f_u: Array) -> None:
    """Set threshold, intercept and calibration from f on the (first) labelled positives and on U."""
    rows_p, rows_u = problem.positives[: len(f_p)], problem.unlabelled
    step = 1 + len(f_u) // CALIBRATED_U
    w_p, w_u = (np.ones(len(r)) if table.weight is None else table.weight[r] for r in (rows_p, rows_u[::step]))
    set_decision_of_shards(model, table, LocalShards(ValueShard(f_u, problem.c2)), (f_p, w_p), (f_u[::step], w_u))


def set_decision_of_shards(
    model: Any, table: Table | None, shards: Shards, on_p: tuple[Array, Array], on_u: tuple[Array, Array]
) -> None:
    """The same from shards of :class:`ValueShard`, and f and weights of some rows of P and U.

    ``table`` is the table or sample that λ was chosen on; it is not used, and may be None, if λ was given. If λ was
    chosen, calibration uses the held-out decision values of the cross-validation.
    """
    certificate = getattr(model, "certificate_", None)
    precision = model.tol if certificate is None else min(model.tol, certificate.kkt_violation)
    warn_if_constant(value_range(shards), precision)
    if model.threshold == "prior":
        model.threshold_ = threshold_at_prior(shards, model.prior_, precision)
    else:
        model.threshold_ = float(model.threshold)
    model.intercept_ = model.intercept_ - model.threshold_
    selection = getattr(model, "selection_", None)
    if selection is not None and table is not None:
        is_p = np.isin(selection.rows, table.labelled)
        is_u = np.ones_like(is_p) if model.scenario == "censored" else ~is_p
        weight = selection.weight
        on_p, on_u = ((selection.held_out[which], weight[which]) for which in (is_p, is_u))
    t = model.threshold_
    model.calibration_ = calibrated(on_p[0] - t, on_u[0] - t, model.prior_, on_p[1], on_u[1])

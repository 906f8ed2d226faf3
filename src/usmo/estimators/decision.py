"""The decision of a fitted model: the threshold moves into the intercept, and probabilities are calibrated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.core.shards import LocalShards, Shards
from usmo.core.table import Table
from usmo.estimators.adaptation import reference
from usmo.estimators.calibration import calibrated, copies
from usmo.estimators.fit_warnings import fit_precision, warn_if_constant, warn_if_indivisible
from usmo.estimators.threshold import ValueShard, extremes, share_above, threshold_at_prior

CALIBRATED_U = 200_000
"""Unlabelled rows that probabilities are calibrated on, about. Two slopes need no more."""

CALIBRATED_P = 50_000
"""Labelled positives that linear models are calibrated on at most; on a cluster kernel models too."""

CORRECTED = 3000
"""Labelled positives, and unlabelled rows, at most, whose decision values are corrected for their part in the fit. The
mean of so many probabilities has a standard error of 0.01 at most."""

Values = tuple[Array, Array]
Correction = Callable[[Index, Array, Array], Array]


def set_decision(
    model: Any,
    table: Table,
    on_p: tuple[Index, Array],
    on_u: tuple[Index, Array],
    correct: Correction | None = None,
) -> None:
    """Set threshold, intercept and calibration from (rows, f) of labelled positives and of the unlabelled sample.

    ``correct`` makes held-out values of rows, f and numbers of equal rows (:mod:`usmo.fitting.leave_one_out`) for
    ``adapt``.
    """
    (rows, f_p), (sample, f_u) = on_p, on_u
    w_p, w_u = table.sample_weight(rows), table.sample_weight(sample)
    if table.propensity is not None:
        w_p = w_p / table.propensity[rows]
    held_out = None
    if correct is not None:
        held_out = tuple(_held_out(table, correct, *part) for part in ((rows, f_p, w_p), (sample, f_u, w_u)))
    step = 1 + len(f_u) // CALIBRATED_U
    values = LocalShards(ValueShard(f_u, w_u / w_u.max()))
    set_decision_of_shards(model, table, values, (f_p, w_p), (f_u[::step], w_u[::step]), held_out)


def _held_out(table: Table, correct: Correction, rows: Index, f: Array, weight: Array) -> Values:
    """Held-out values and weights of some of these rows."""
    some = slice(None, None, 1 + len(rows) // CORRECTED)
    return correct(rows[some], f[some], copies(table.sample_weight(rows[some]))), weight[some]


def set_decision_of_shards(
    model: Any, table: Table | None, shards: Shards, on_p: Values, on_u: Values,
    held_out: tuple[Values, ...] | None = None,
) -> None:  # fmt: skip
    """The same from shards of :class:`ValueShard`, and f and weights of some rows of P and U.

    ``table`` is the table or sample that λ was chosen on; it is not used, and may be None, if λ was given. If λ was
    chosen, calibration uses the held-out decision values of the cross-validation. ``held_out`` are values of P and U
    for the reference of ``adapt``; without them it has those of the calibration.
    """
    least, greatest = extremes(shards)
    constant = warn_if_constant(greatest - least, fit_precision(model))
    if model.threshold == "prior":
        model.threshold_ = threshold_at_prior(shards, model.prior_)
        if not constant:
            warn_if_indivisible(*share_above(shards, model.threshold_), model.prior_)
    else:
        model.threshold_ = float(model.threshold)
    model.intercept_ = model.intercept_ - model.threshold_
    selection = getattr(model, "selection_", None)
    if selection is not None and table is not None:
        is_p = np.isin(selection.rows, table.labelled)
        is_u = np.isin(selection.rows, table.sample(model.scenario))
        weight = selection.weight
        on_p, on_u = ((selection.held_out[which], weight[which]) for which in (is_p, is_u))
    t = model.threshold_
    model.calibration_ = calibrated(on_p[0] - t, on_u[0] - t, model.prior_, on_p[1], on_u[1])
    model.reference_ = reference(model, *((f - t, weight) for f, weight in held_out or (on_p, on_u)))

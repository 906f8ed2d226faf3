"""The decision of a fitted model: the threshold moves into the intercept, and probabilities are calibrated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.core.shards import LocalShards, Shards
from usmo.core.table import Table
from usmo.core.weights import masses
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

    ``correct`` makes held-out values from rows, f and numbers of equal rows (:mod:`usmo.fitting.leave_one_out`).
    """
    (rows, f_p), (sample, f_u) = on_p, on_u
    w_p, w_u = table.sample_weight(rows), table.sample_weight(sample)
    values = LocalShards(ValueShard(f_u, w_u / w_u.max()))
    if correct is None:
        every = slice(None, None, 1 + len(f_u) // CALIBRATED_U)
        f_u, w_u = f_u[every], w_u[every]
    else:
        some_p, some_u = corrected_part(len(rows)), corrected_part(len(sample))
        rows, f_p, w_p = rows[some_p], f_p[some_p], w_p[some_p]
        sample, f_u, w_u = sample[some_u], f_u[some_u], w_u[some_u]
        f_p, f_u = corrected(
            correct, (rows, f_p, table.sample_weight(rows)), (sample, f_u, table.sample_weight(sample))
        )
    m_p = masses(w_p, None if table.propensity is None else table.propensity[rows])
    set_decision_of_shards(model, table, values, (f_p, m_p), (f_u, masses(w_u)))


def corrected_part(size: int) -> slice:
    """Which of ``size`` rows get held-out values: evenly spaced ones, :data:`CORRECTED` at most."""
    return slice(None, None, -(-size // CORRECTED))


def corrected(correct: Correction, *parts: tuple[Index, Array, Array]) -> list[Array]:
    """Held-out values of P and U from rows, f and weights of each."""
    rows, f = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    equal = np.concatenate([copies(weight) for _, _, weight in parts])
    return np.split(correct(rows, f, equal), [len(parts[0][0])])


def set_decision_of_shards(model: Any, table: Table | None, shards: Shards, on_p: Values, on_u: Values) -> None:
    """The same from shards of :class:`ValueShard`, and f and masses of some rows of P and U.

    ``table`` is the table or sample that λ was chosen on; it is not used, and may be None, if λ was given. If λ was
    chosen, calibration uses the held-out decision values of the cross-validation. The reference of ``adapt`` has the
    values that probabilities are calibrated on.
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
        f, weight, propensity = selection.held_out, selection.weight, selection.propensity
        on_p = f[is_p], masses(weight[is_p], None if propensity is None else propensity[is_p])
        on_u = f[is_u], masses(weight[is_u])
    t = model.threshold_
    on_p, on_u = ((f - t, mass) for f, mass in (on_p, on_u))
    model.calibration_ = calibrated(on_p[0], on_u[0], model.prior_, on_p[1], on_u[1])
    model.reference_ = reference(model, on_p, on_u)

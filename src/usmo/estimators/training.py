"""Fit a prepared table and set the fitted attributes: shared by ``fit``, ``path`` and the search for λ and γ."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.core.certificate import Certificate
from usmo.core.table import Table
from usmo.estimators.callbacks import callback_bridge
from usmo.estimators.decision import CALIBRATED_P, set_decision
from usmo.estimators.expansion import expansion_values, kernel_expansion, map_expansion
from usmo.estimators.fit_warnings import warn_if_short
from usmo.estimators.preparation import Choices
from usmo.fitting.fit import Fit, Start, fit_table
from usmo.fitting.leave_one_out import BOUNDED, GatheredRows, free_rows, leave_one_out
from usmo.fitting.progress import combined, long_work, printed
from usmo.fitting.specification import Specification
from usmo.fitting.trees import with_trees
from usmo.kernels.row_blocks import as_features, column_weights
from usmo.solvers import starts
from usmo.system.stages import FIT, announce

OPTIONAL = (
    "prior_interval_", "selection_", "coef_", "_share", "compression_", "approximation_", "_map", "_map_coef",
    "support_", "support_vectors_", "dual_coef_", "eta_", "propensity_",
    "propensity_model_", "_forest", "_leaf_values", "drift_",
)  # fmt: skip
"""Attributes that not every fit sets."""


def train(
    model: Any,
    table: Table,
    spec: Specification,
    choices: Choices,
    start: Start | None = None,
    context: Any = None,
) -> None:
    """Fit, warn if the fit falls short, and set every fitted attribute of the model."""
    announce(FIT)
    table = with_trees(table, table.problem(choices.prior, choices.lam, spec.risk), spec)
    progress = printed(model.verbose, model.tol)
    if spec.approximation is None:
        current = partial(_current_attributes, table, spec, choices)
        progress = combined(progress, callback_bridge(model, context, current))
    with long_work(model.verbose):
        fit = fit_table(table, spec, choices.prior, choices.lam, start=start, progress=progress)
    warn_if_short(fit.solution.status, fit.certificate, model.tol)
    set_fitted(model, table, spec, choices, fit)


def set_fitted(model: Any, table: Table, spec: Specification, choices: Choices, fit: Fit) -> None:
    """Set every fitted attribute of an estimator from a certified fit."""
    solution, problem = fit.solution, fit.problem
    eta = spec.eta if len(table.negatives) else None
    attributes = common_attributes(table.classes, choices, solution, fit.certificate, eta)
    if model.warm_start and fit.comparison is None:
        share = attributes["_share"] = np.zeros(table.X.shape[0])
        share[problem.c_rows] = solution.sigma / problem.c
    if spec.kernel is None:
        assert fit.coef is not None
        attributes["coef_"] = fit.coef[None, :]
    elif fit.comparison is not None:
        assert fit.coef is not None
        attributes |= map_expansion(fit.map, fit.coef, table.X, fit.landmarks)
        attributes |= {"_kernel": spec.kernel, "approximation_": fit.comparison, "kernel_rows_": 0.0}
    else:
        alpha = fit.coefficients(table.X.shape[0])
        attributes |= kernel_expansion(table.X, spec.kernel, alpha, solution.beta, fit.coef)
        attributes["kernel_rows_"] = solution.kernel_rows
    if table.propensity is not None:
        own = table.propensity[table.labelled]
        attributes["propensity_"] = float(own.min()), float(own.max())
    replace_attributes(model, attributes)

    def evaluate(rows: Index) -> Array:
        if spec.kernel is not None:
            return expansion_values(model, table.X[rows])
        return np.asarray(as_features(table.X).take(rows) @ model.coef_[0]).ravel() + solution.beta

    positives = table.labelled if spec.kernel is not None else table.labelled[:CALIBRATED_P]
    sample = table.sample(spec.scenario)
    f = solution.G + solution.beta
    if not np.array_equal(sample, problem.c_rows):
        f = _values_at(sample, problem.c_rows, f, evaluate)

    def correct(rows: Index, f: Array, copies: Array) -> Array:
        assert spec.kernel is not None
        needed = problem.b_rows, free_rows(problem, solution.sigma), rows
        gathered = GatheredRows.of(table.X, spec.kernel, *needed)
        return leave_one_out(problem, solution, gathered, rows, f, copies)

    leaves_out = fit.comparison is None and makes_held_out_values(model, spec)
    on_p, on_u = (positives, evaluate(positives)), (sample, f)
    set_decision(model, table, on_p, on_u, correct if leaves_out else None)


def previous_sigma(model: Any, table: Table, spec: Specification, choices: Choices) -> Array | None:
    """With ``warm_start`` the last σ, moved into the bounds of this problem; None if the table has other rows."""
    share = getattr(model, "_share", None)
    if not model.warm_start or share is None or len(share) != table.X.shape[0]:
        return None
    problem = table.problem(choices.prior, choices.lam, spec.risk)
    return starts.previous(problem, share[problem.c_rows])


def common_attributes(
    classes: Array, choices: Choices, fit: Any, certificate: Certificate, eta: float | None
) -> dict[str, Any]:
    """Fitted attributes of every certified fit; ``fit`` has ``iterations``, ``history`` and ``beta``.

    ``eta`` is None without known negatives.
    """
    attributes = {
        "classes_": classes,
        **choices.attributes(),
        "certificate_": certificate,
        "n_iter_": max(1, fit.iterations),  # a start that is optimal counts as one, as scikit-learn asks
        "history_": fit.history,
        "intercept_": np.array([fit.beta]),
    }
    return attributes if eta is None else {**attributes, "eta_": eta}


def makes_held_out_values(model: Any, spec: Specification) -> bool:
    """True if held-out values are computed from an exact fit. If λ was chosen, there are some already."""
    is_bounded = spec.kernel is not None and spec.kernel.name in BOUNDED
    return is_bounded and getattr(model, "selection_", None) is None


def _values_at(rows: Index, known: Index, f: Array, evaluate: Callable[[Index], Array]) -> Array:
    """f on ``rows`` from its values on the rows ``known``, evaluated where it is not known. Both are ascending."""
    place = np.minimum(np.searchsorted(known, rows), len(known) - 1)
    values, is_known = f[place], known[place] == rows
    if not is_known.all():
        values[~is_known] = evaluate(rows[~is_known])
    return values


def replace_attributes(model: Any, attributes: dict[str, Any]) -> None:
    """Set fitted attributes, and remove those of an earlier fit that this one does not set."""
    for name in OPTIONAL:
        model.__dict__.pop(name, None)
    model.__dict__.update(attributes)


def _current_attributes(
    table: Table, spec: Specification, choices: Choices, sigma: Array, beta: float
) -> dict[str, Any]:
    """Fitted attributes of the present σ of a running fit, for callbacks."""
    common = {"classes_": table.classes, **choices.attributes()}
    alpha = table.problem(choices.prior, choices.lam, spec.risk).table_coefficients(sigma, table.X.shape[0])
    if spec.kernel is None:
        coef = column_weights(as_features(table.X), alpha)
        return {**common, "coef_": coef[None, :], "intercept_": np.array([beta])}
    return {**common, **kernel_expansion(table.X, spec.kernel, alpha, beta)}

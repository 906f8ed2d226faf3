"""``usmo.path``: fitted models for many λ and priors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from sklearn.base import clone

from usmo.estimators.base import take_columns
from usmo.estimators.fit_warnings import warn_if_short
from usmo.estimators.linear import LinearPUSVC
from usmo.estimators.preparation import Choices, check_prior, prepare_choices, prepare_table, specification
from usmo.estimators.pusvc import PUSVC
from usmo.estimators.training import set_fitted
from usmo.fitting.path import fit_path
from usmo.fitting.trees import with_trees

Classifier = TypeVar("Classifier", bound=PUSVC | LinearPUSVC)


def path(
    estimator: Classifier,
    X: Any,
    y: Any,
    *,
    lams: Iterable[float],
    priors: Iterable[float] | None = None,
    sample_weight: Any = None,
    propensity: Any = None,
    groups: Any = None,
) -> list[Classifier]:
    """Fitted copies of ``estimator`` for every prior and every λ, in the order given (λ fastest).

    Parameters
    ----------
    estimator : PUSVC or LinearPUSVC
        Its other parameters hold for all models, but ``solver``, ``max_iter``, ``max_time`` and ``checkpoint`` are not
        used. It is not changed. Trees of a forest kernel are grown once, for the first prior.
    X, y
        As for :meth:`usmo.PUSVC.fit`.
    lams : sequence of float
        Values of λ; from large to small is the cheapest order.
    priors : sequence of float, optional
        Priors; without them the estimator's own ``prior`` (estimated once if it is "estimate").
    sample_weight, propensity, groups : optional
        As for :meth:`usmo.PUSVC.fit`; propensities imply the prior, so ``priors`` is then not accepted. Groups matter
        if the prior is estimated.

    Examples
    --------
    >>> import numpy as np
    >>> from usmo import PUSVC, path
    >>> X = np.r_[np.linspace(1, 2, 20), np.linspace(-2, 2, 80)][:, None]
    >>> y = np.arange(100) < 20
    >>> models = path(PUSVC(prior=0.4), X, y, lams=[0.1, 0.01])
    >>> [model.lam for model in models]
    [0.1, 0.01]
    """
    if not isinstance(estimator, PUSVC | LinearPUSVC):
        raise ValueError(f"estimator must be a PUSVC or LinearPUSVC, got {type(estimator).__name__}")
    if getattr(estimator, "approximation", None) is not None:
        raise ValueError(f"path fits the exact kernel; got approximation={estimator.approximation!r}")
    if propensity is not None and priors is not None:
        raise ValueError("propensity implies the prior: give one of propensity and priors")
    if estimator.propensity is not None and priors is not None:
        raise ValueError("propensity='estimate' rests on one prior: give it to the estimator, not as priors")
    lams = [float(lam) for lam in lams]
    first = clone(estimator)
    if priors is not None:
        first.set_params(prior="estimate")  # its own is not used
    for lam in lams:
        first.set_params(lam=lam)._validate_params()
    table = prepare_table(first, X, y, sample_weight, propensity, groups)
    spec = specification(first, table)
    if priors is None:
        table, given = prepare_choices(first, table, spec, "auto")
        values = [given.prior]
    else:
        given, values = Choices(0.5, 1.0), [float(prior) for prior in priors]
    for prior in values:
        clone(estimator).set_params(prior=prior)._validate_params()
        if table.propensity is None:
            check_prior(prior, table, spec.scenario)
    grid = [(prior, lam) for prior in values for lam in lams]
    problems = [table.problem(prior, lam, spec.risk) for prior, lam in grid]
    table = with_trees(table, problems[0], spec) if problems else table
    fits = fit_path(table, problems, spec)
    models = []
    for (prior, lam), fit in zip(grid, fits, strict=True):
        model = clone(estimator).set_params(lam=lam)
        if priors is not None:
            model.set_params(prior=prior)
        take_columns(model, first)
        warn_if_short(fit.solution.status, fit.certificate, model.tol)
        set_fitted(model, table, spec, replace(given, prior=prior, lam=lam), fit)
        models.append(model)
    return models

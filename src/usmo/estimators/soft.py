"""``usmo.fit_soft``: probabilities, for example the scores of another model, become a certified classifier."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import validate_data

from usmo.core.arrays import Array
from usmo.core.groups import group_codes
from usmo.core.table import Table, checked_rows, checked_weight
from usmo.estimators.linear import LinearPUSVC
from usmo.estimators.preparation import ACCEPTED, check_parameters, choose, specification
from usmo.estimators.pusvc import PUSVC
from usmo.estimators.training import train

Classifier = TypeVar("Classifier", bound=PUSVC | LinearPUSVC)


def fit_soft(
    estimator: Classifier, X: Any, q: Any, *, sample_weight: Any = None, groups: Any = None
) -> Classifier:
    """A fitted copy of ``estimator`` for rows that are positive with probability ``q``.

    Row i counts with the weight q[i] as positive and 1 - q[i] as negative: c = w and b = q·w in the scale of
    :mod:`usmo.core.labels`. That is the censored problem in which every row with q > 0 is labelled with the propensity
    1/q, so the prior is the mean of q.

    Parameters
    ----------
    estimator : PUSVC or LinearPUSVC
        It is not changed. ``prior``, ``eta``, ``scenario`` and ``propensity`` are not used.
    X : array or sparse matrix of shape (n_samples, n_features)
    q : array of shape (n_samples,)
        Probabilities, for example the scores of another model.
    sample_weight, groups : array of shape (n_samples,), optional
        As for :meth:`usmo.PUSVC.fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from usmo import LinearPUSVC, fit_soft
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = fit_soft(LinearPUSVC(), X, 1 / (1 + np.exp(-5 * X[:, 0])))
    >>> model.predict([[-0.9], [0.9]]).tolist()
    [0, 1]
    """
    model = clone(estimator).set_params(
        prior="estimate", scenario="censored", propensity=None, propensity_columns=None
    )
    check_parameters(model)
    X = checked_rows(validate_data(model, X, **ACCEPTED), getattr(model, "kernel", None) == "precomputed")
    q = _checked_probabilities(q)
    check_consistent_length(X, q)
    weight = None
    used = np.ones(len(q), dtype=bool)
    if sample_weight is not None:
        weight = checked_weight(sample_weight, X)
        used = weight > 0
    labelled, others = np.flatnonzero((q > 0.0) & used), np.flatnonzero((q == 0.0) & used)
    mean = float(np.average(q, weights=weight))
    if not 0.0 < mean < 1.0:
        raise ValueError(f"q must hold values between 0 and 1, not all 0 nor all 1; got a mean of {mean:g}")
    inverse = np.ones(len(q))
    inverse[labelled] = 1.0 / q[labelled]
    table = Table(
        X, np.array([0, 1]), labelled, others, weight, propensity=inverse, groups=group_codes(groups, len(q))
    )
    spec = specification(model, table)
    train(model, table, spec, choose(table, spec, model.prior, model.lam))
    return model


def _checked_probabilities(q: Any) -> Array:
    q = np.asarray(q, dtype=np.float64)
    if q.ndim != 1:
        raise ValueError(f"q must hold one probability per row, got shape {q.shape}")
    outside = np.flatnonzero(~((q >= 0.0) & (q <= 1.0)))
    if len(outside):
        raise ValueError(f"q must hold probabilities between 0 and 1, got {q[outside[0]]:g} in row {outside[0]}")
    return q

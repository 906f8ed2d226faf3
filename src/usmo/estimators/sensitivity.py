"""Sensitivity to the prior: how many rows are predicted positive under other priors, and how ranks change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from usmo.core.arrays import Array
from usmo.estimators.counts import count_marked, expected_positives
from usmo.estimators.path import path
from usmo.estimators.ramp import RampPUSVC
from usmo.metrics import checked_prior

_REFIT = {"verbose": 0, "checkpoint": None, "warm_start": False}
"""Parameters of a refit: it prints nothing, writes no file and starts afresh."""


@dataclass(frozen=True)
class Sensitivity:
    """What the model fitted with other priors does; one entry per prior, ascending.

    ``positives`` counts the unlabelled rows with f > 0, ``expected`` is the number of positives among the unlabelled
    rows that the prior implies, ``overlap`` the share of the ``top`` highest unlabelled rows that stay among the
    ``top`` highest. ``f`` has the decision values of all rows, one line per prior; ``rows`` is the number of unlabelled
    rows; ``sampled`` says that only a sample of the table was used.
    """

    priors: Array
    positives: Array
    expected: Array
    overlap: Array
    top: int
    f: Array
    rows: int
    sampled: bool = False


def prior_sensitivity(
    model: Any, X: Any, labels: np.ndarray, *,
    priors: Any = None, count: int = 9, top: int | None = None, base: Array | None = None,
    sample_weight: Any = None,
) -> Sensitivity:  # fmt: skip
    """Fit the model again for several priors, with the same λ, and compare.

    Parameters
    ----------
    model : fitted classifier
        It is not changed.
    X, labels : rows, and 1 for labelled positives, 0 for unlabelled rows, -1 for known negatives
    priors : sequence of float, optional
        By default ``count`` (odd) of them, the model's own in the middle, over the interval of its estimate, or
        from π/2 to 3π/2 if π was given.
    top : int, optional
        Size of the top compared; by default the expected number of positives among the unlabelled rows.
    base : array, optional
        Decision values of all rows; the top of each fit is compared with their top. By default the values of the
        fit with the prior nearest to the model's own.
    """
    prior, y = float(model.prior_), np.asarray(labels).astype(int)
    unlabelled = y == 0
    n_p, n_u, n_n = (int(np.count_nonzero(y == kind)) for kind in (1, 0, -1))
    if priors is None:
        priors = _priors_around(model, count, float(np.average(y == 1, weights=sample_weight)))
    chosen = np.asarray(priors, dtype=np.float64)
    values = np.unique([checked_prior(value) for value in chosen])
    if top is None:
        top = max(1, round(expected_positives(prior, n_p, n_u, model.scenario, n_n)))
    if not 1 <= top <= n_u:
        raise ValueError(f"top must lie between 1 and the {n_u} unlabelled rows, got {top}")
    fits = _fits(unfitted_copy(model), X, y, values.tolist(), sample_weight)
    f = np.stack([fit.decision_function(X) for fit in fits])
    base = f[np.argmin(np.abs(values - prior))] if base is None else base
    reference = _highest(base[unlabelled], top)
    return Sensitivity(
        priors=values,
        positives=np.array([count_marked(line) for line in f[:, unlabelled]]),
        expected=np.array([expected_positives(value, n_p, n_u, model.scenario, n_n) for value in values]),
        overlap=np.array([len(np.intersect1d(reference, _highest(line, top))) / top for line in f[:, unlabelled]]),
        top=top,
        f=f,
        rows=n_u,
    )


def unfitted_copy(model: Any) -> Any:
    """The model before fitting, with the prior and λ that the fit estimated or selected."""
    copy = clone(model)
    names = copy.get_params(deep=False)
    values = {name: value for name, value in _REFIT.items() if name in names}
    return copy.set_params(prior=float(model.prior_), lam=getattr(model, "lam_", model.lam), **values)


def _fits(template: Any, X: Any, y: np.ndarray, priors: list[float], sample_weight: Any) -> list[Any]:
    """One fit per prior: along the path where the model has one, separately for approximations, estimated
    propensities and the ramp loss."""
    alone = getattr(template, "approximation", None) or getattr(template, "propensity", None)
    if alone is None and not isinstance(template, RampPUSVC):
        return path(template, X, y, lams=[float(template.lam)], priors=priors, sample_weight=sample_weight)
    return [clone(template).set_params(prior=prior).fit(X, y, sample_weight=sample_weight) for prior in priors]


def _priors_around(model: Any, count: int, labelled_share: float) -> Array:
    prior = float(model.prior_)
    low, high = getattr(model, "prior_interval_", None) or (0.5 * prior, 1.5 * prior)
    # a censored sample holds at least its labelled positives
    least = labelled_share if model.scenario == "censored" else 0.0
    low = min(max(low, 1e-3 * prior, least), prior)
    high = max(min(high, 0.999), prior)
    half = (count + 1) // 2
    return np.concatenate([np.linspace(low, prior, half), np.linspace(prior, high, half)])


def _highest(f: Array, count: int) -> np.ndarray:
    """The rows with the highest decision values; of equal ones the first."""
    return np.argsort(-f, kind="stable")[:count]

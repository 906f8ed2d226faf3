"""What only further fits can tell: the score of rows that were held back, and what another prior would change.

Both take the prior and λ of the model as they are. On more rows than ``ROWS`` they are made on a random sample.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from usmo.core.arrays import Array, Index
from usmo.fitting.path import path

ROWS = 5_000
"""Rows up to which all are used: ten fits of so many take some seconds."""

FEWEST = 5
"""Known positives, and unlabelled rows, from which on some can be held back."""

_PRIORS = 5
_QUIET = {"verbose": 0, "checkpoint": None, "warm_start": False}


@dataclass(frozen=True)
class HeldOut:
    """Scores of rows by models that were fitted without them; ``sampled`` if not all rows took part."""

    f: Array
    known: np.ndarray
    folds: int
    sampled: bool


@dataclass(frozen=True)
class Sensitivity:
    """What other priors change, each against the model's own.

    ``positives`` are the unlabelled rows marked, ``overlap`` the share of the ``top`` first ones that stay among
    the ``top`` first, out of ``rows`` unlabelled rows.
    """

    priors: Array
    positives: Array
    overlap: Array
    top: int
    rows: int
    sampled: bool


def expected_positives(prior: float, known: int, unlabelled: int, scenario: str) -> float:
    """Positives among the unlabelled rows: π·n, or of a censored sample what the known ones leave of it."""
    if scenario == "censored":
        return min(max(prior * (known + unlabelled) - known, 0.0), float(unlabelled))
    return prior * unlabelled


def held_out(model: Any, X: Any, known: np.ndarray) -> HeldOut | None:
    """Score every row by a model fitted on the other folds; None if there are too few rows of a kind."""
    rows = _rows(model, known)
    y = known[rows]
    if min(y.sum(), (~y).sum()) < FEWEST:
        return None
    f = np.empty(len(rows))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    template = _template(model)
    for train, test in folds.split(np.zeros(len(rows)), y):
        fitted = clone(template)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted.fit(_part(model, X, rows[train], rows[train]), y[train].astype(int))
        f[test] = fitted.decision_function(_part(model, X, rows[test], rows[train]))
    return HeldOut(f, y, folds.get_n_splits(), len(rows) < len(known))


def sensitivity(model: Any, X: Any, known: np.ndarray, f: Array, *, top: int) -> Sensitivity | None:
    """Fit again over the prior's interval, or from half to one and a half times it; None if that fails to repeat.

    The model's own prior is among those fitted: if that fit does not give the model's scores ``f`` (it had
    weights, or other rows), nothing is said.
    """
    rows = _rows(model, known)
    y = known[rows]
    if y.all() or not y.any():
        return None
    part, prior = _part(model, X, rows, rows), float(model.prior_)
    priors = _priors(model, int(y.sum()), len(y))
    template = _template(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if getattr(model, "approximation", None) is None:
            lam = float(template.lam)
            fits = path(template, part, y.astype(int), lams=[lam], priors=priors)
        else:
            fits = [clone(template).set_params(prior=p).fit(part, y.astype(int)) for p in priors]
    scores = [fit.decision_function(part)[~y] for fit in fits]
    own = scores[int(np.argmin(np.abs(np.asarray(priors) - prior)))]
    sampled = len(rows) < len(known)
    if not sampled:
        mine = f[~known]
        if np.abs(own - mine).mean() > 0.05 * (1.0 + np.abs(mine).mean()):
            return None
    promised = expected_positives(prior, int(y.sum()), int((~y).sum()), model.scenario)
    top = max(1, min(top, round(promised), len(own)))
    first = set(np.argsort(-own, kind="stable")[:top].tolist())
    kept = [len(first & set(np.argsort(-f, kind="stable")[:top].tolist())) / top for f in scores]
    marked = [int((f > 0).sum()) for f in scores]
    return Sensitivity(np.asarray(priors), np.asarray(marked), np.asarray(kept), top, len(own), sampled)


def _priors(model: Any, known: int, rows: int) -> list[float]:
    """The model's prior with two below and two above it."""
    prior = float(model.prior_)
    low, high = getattr(model, "prior_interval_", None) or (0.5 * prior, 1.5 * prior)
    # of a censored sample the known rows alone are that share
    least = known / rows if model.scenario == "censored" else 0.0
    low = min(max(low, 1e-3 * prior, least), prior)
    high = max(min(high, 0.999), prior)
    half = (_PRIORS + 1) // 2
    both = [*np.linspace(low, prior, half), *np.linspace(prior, high, half)]
    return sorted({float(value) for value in both})


def _template(model: Any) -> Any:
    """An unfitted copy with the prior, λ and γ that the model ended up with."""
    copy = clone(model)
    own = copy.get_params(deep=False)
    values = {name: value for name, value in _QUIET.items() if name in own}
    for name in ("lam", "gamma"):
        if name in own and isinstance(getattr(model, f"{name}_", None), float):
            values[name] = getattr(model, f"{name}_")
    return copy.set_params(prior=float(model.prior_), **values)


def _rows(model: Any, known: np.ndarray) -> Index:
    """All rows, or a sample: of a censored table with its share of known rows, else with as many as there are."""
    if len(known) <= ROWS:
        return np.arange(len(known))
    rng = np.random.default_rng(0)
    positives, unlabelled = np.flatnonzero(known), np.flatnonzero(~known)
    if model.scenario == "censored":
        take = max(1, round(ROWS * len(positives) / len(known)))
    else:
        take = min(len(positives), max(ROWS // 2, ROWS - len(unlabelled)))
    parts = rng.choice(positives, take, replace=False), rng.choice(unlabelled, ROWS - take, replace=False)
    return np.sort(np.concatenate(parts))


def _part(model: Any, X: Any, rows: Index, against: Index) -> Any:
    """Some rows; of a kernel matrix, with the columns of the rows they are compared with."""
    if getattr(model, "kernel", None) == "precomputed":
        return X[rows][:, against]
    return X[rows]

"""Another mixture of the same classes: the prior of a table without labels, and the decision that follows.

If only the mixture has changed, the densities of the decision value d within the classes are those of training. With
p(d) the calibrated probability and π the prior of training, the rows of the table have the likelihood

    Σ log( π'·p/π + (1-π')·(1-p)/(1-π) )

whose maximum is π' (Saerens, Latinne, Decaestecker 2002). The odds of every row are multiplied by the change of the
prior odds. The distribution of d in training, kept as quantiles, and π' imply that of the table; their distance says
whether the assumption fits.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import logit
from scipy.stats import chi2

from usmo.core.arrays import Array
from usmo.core.shards import LocalShards
from usmo.estimators.calibration import shifted
from usmo.estimators.threshold import ValueShard, threshold_at_prior
from usmo.system.caller import warn

QUANTILES = 201
"""Decision values kept of the unlabelled rows."""

_BINS = 20
_LEVEL = 0.9
_SMALLEST = 1e-6
"""Priors lie this far from 0 and 1 at least."""

_DRIFT, _SURE = 0.25, 0.01
"""Distance from which a table is said not to fit, and the p-value that it must have too. In tables that fit it is
0.17 in the mean, because the values of the rows of training were fitted themselves (``python -m benchmarks.random
shift``)."""


def decision_quantiles(d: Array, weight: Array) -> Array:
    """Quantiles of weighted decision values."""
    order = np.argsort(d, kind="stable")
    w = weight[order] / weight.max()  # sums of huge weights would overflow
    share = np.cumsum(w) - 0.5 * w
    return np.interp(np.linspace(0.0, 1.0, QUANTILES), share / w.sum(), d[order])


def adapted(model: Any, f: Array) -> Any:
    """A copy of the model for the table with decision values f."""
    if len(f) == 0:
        raise ValueError("adapt needs at least one row, got 0")
    chance, prior = model.calibration_(f), float(model.prior_)
    value, interval = _mixture_prior(chance, prior)
    low, high = getattr(model, "prior_interval_", (prior, prior))
    result = copy.copy(model)
    result.prior_ = value
    # the doubt about the prior of training is passed on, as ratios
    result.prior_interval_ = (
        max(_SMALLEST, interval[0] * low / prior),
        min(1.0 - _SMALLEST, 1.0 - (1.0 - interval[1]) * (1.0 - high) / (1.0 - prior)),
    )
    move = 0.0
    if model.threshold == "prior":
        move = threshold_at_prior(LocalShards(ValueShard(f, np.ones(len(f)))), value)
    result.threshold_ = model.threshold_ + move
    result.intercept_ = model.intercept_ - move
    result.calibration_ = shifted(model.calibration_, move, float(logit(value) - logit(prior)))
    if hasattr(model, "decision_quantiles_"):
        result.drift_ = _drift(model, f, value)
        result.decision_quantiles_ = decision_quantiles(f - move, np.ones(len(f)))
    return result


def _mixture_prior(chance: Array, prior: float) -> tuple[float, tuple[float, float]]:
    """π' of largest likelihood, and its likelihood-ratio interval."""
    positive, negative = chance / prior, (1.0 - chance) / (1.0 - prior)

    def loss(value: float) -> float:
        return -float(np.log(np.maximum(value * positive + (1.0 - value) * negative, 1e-300)).sum())

    ends = _SMALLEST, 1.0 - _SMALLEST
    value = float(minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-7}).x)
    limit = loss(value) + 0.5 * float(chi2.ppf(_LEVEL, 1))
    low, high = (
        end if loss(end) <= limit else float(brentq(lambda at: loss(at) - limit, *sorted((end, value))))
        for end in ends
    )
    return value, (low, high)


def _drift(model: Any, f: Array, value: float) -> float:
    """Distance (total variation over 20 bins) of the decision values from the nearest mixture of the known classes."""
    kept, prior = model.decision_quantiles_, float(model.prior_)
    chance = model.calibration_(kept)
    weight = value * chance / prior + (1.0 - value) * (1.0 - chance) / (1.0 - prior)
    edges = np.unique(kept[:: QUANTILES // _BINS][1:-1])
    expected = np.bincount(np.searchsorted(edges, kept), weights=weight, minlength=len(edges) + 1)
    expected = expected / expected.sum()
    observed = np.bincount(np.searchsorted(edges, f), minlength=len(edges) + 1) / len(f)
    distance = 0.5 * float(np.abs(observed - expected).sum())
    squares = len(f) * float(((observed - expected) ** 2 / np.maximum(expected, 1e-12)).sum())
    if distance > _DRIFT and chi2.sf(squares, max(len(edges) - 1, 1)) < _SURE:
        warn(
            f"the table does not fit: its decision values differ from every mixture of the known classes by "
            f"{distance:.2f}, so that the adapted prior may be wrong",
            topic="drift",
        )
    return distance

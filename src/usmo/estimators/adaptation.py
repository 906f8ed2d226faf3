"""Another mixture of the same classes: the prior of a table without labels, and the decision that follows.

If only the mixture has changed, the densities of the decision value d within the classes are those of training. Let
p(d) be the calibrated probability, and P, U and X its means over the labelled positives and the unlabelled rows of
training and over the table. With π the prior of training and π' that of the table,

    r = (π' - π)/(1 - π)        X = (1 - r)·U + r·P

whatever p is: it need not be exact. The difference of the two sides has the sampling error of all three means, which
gives r a likelihood. The interval has the values that a likelihood-ratio test does not reject. π' is the posterior
median if its log odds are normal around those of π before the table is seen: it stays near π where the table says
little. The odds of every row are multiplied by the change of the prior odds.

The distribution of d in training and π' imply that of the table. If the table is far from it for every π' in the
interval, the assumption does not fit.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, logit
from scipy.stats import chi2

from usmo.core.arrays import Array
from usmo.core.shards import LocalShards
from usmo.estimators.calibration import Calibration, ShiftedCalibration, shifted
from usmo.estimators.threshold import ValueShard, threshold_at_prior
from usmo.kernels.kernel import FORESTS
from usmo.system.caller import warn

QUANTILES = 201
"""Decision values kept of the labelled positives and of the unlabelled rows."""

_GRID = 4001
"""Values of π', evenly spaced in log odds, at which the likelihood is computed."""

_CHANGE = 1.5
"""Standard deviation of the log odds of π' around those of π, before the table is seen. With priors of training of 0.2,
0.5 and 0.7 and shares of 0.02 to 0.97, the mean |error| over 17 tables and two or three draws is 0.055, 0.059 and
0.077. It is 0.059, 0.064 and 0.085 with 1, 0.057, 0.061 and 0.081 with 2, and 0.061, 0.075 and 0.108 at the largest
likelihood."""

_FEW = 30
"""With fewer rows than this, the variance of the new table's probabilities is taken to be at least that of training:
few rows estimate it badly, and the variance of a single row is 0."""

_FEW_LABELLED = 20
"""With fewer labelled positives than this, the error of their mean probability is taken to be the largest possible.
With 2 to 19 of them on four made-up tables, and shares of 0.02 to 0.9, the interval of 90 % then contains the share in
97 % of 800 cases. With the variance of their probabilities it is 63 % for 3 and 5 of them."""

_TREES_SURE = 0.5
"""Share of the distance between the mean probabilities of labelled positives and of unlabelled rows that may be wrong,
with few labelled positives and kernels of trees. The trees have seen the labels of all rows, so that held-out labelled
rows look surer than they are."""

_ROUNDING = 1e-9
"""Smallest standard error of a difference of means: a smaller difference is one of rounding."""

_LEVEL = 0.9
_SMALLEST = 1e-6
"""Priors lie this far from 0 and 1 at least."""

_TRIED = 21
"""Values of π', evenly spaced over its interval, that a table is compared with."""

_BINS, _DRIFT, _SURE = 8, 0.1, 0.01
"""Bins of the decision values, the distance from which a table is said not to fit, and the p-value that it must have
too. On draws 0 to 2 of ``python -m benchmarks.random shift`` 2 % of the tables that fit and 93 % of the noisy ones are
said not to; 5 or 10 bins and distances of 0.1 to 0.2 give 0 to 3 % and 86 to 93 %."""


@dataclass(frozen=True)
class Reference:
    """Decision values of training: quantiles and numbers of rows of P and U, and the prior with its interval.

    The probabilities of the model are calibrated on the same values. ``inside`` is 1 if the labelled positives are
    among the unlabelled rows (scenario "censored"), else 0.
    """

    prior: float
    low: float
    high: float
    labelled: Array
    unlabelled: Array
    n_labelled: float
    n_unlabelled: float
    inside: float


def reference(model: Any, on_p: tuple[Array, Array], on_u: tuple[Array, Array]) -> Reference:
    """The reference of a model from decision values and masses of P and U."""
    prior = float(model.prior_)
    low, high = getattr(model, "prior_interval_", None) or (prior, prior)
    return Reference(
        prior,
        float(low),
        float(high),
        decision_quantiles(*on_p),
        decision_quantiles(*on_u),
        float(on_p[1].sum()),
        float(on_u[1].sum()),
        float(model.scenario == "censored"),
    )


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
    old = model.calibration_
    known = getattr(model, "reference_", None)
    result = copy.copy(model)
    if known is None:  # a model file that is older than the reference
        value, result.prior_interval_ = _likeliest_prior(old(f), float(model.prior_))
    else:
        curve = Calibration(old.above, old.below, old.offset)
        d = f + old.shift if isinstance(old, ShiftedCalibration) else f
        seen = getattr(model, "kernel", None) in FORESTS
        value, result.prior_interval_ = mixture_prior(known, curve, d, seen=seen)
        result.drift_ = _drift(known, curve, d, result.prior_interval_)
    result.prior_ = value
    move = 0.0
    if model.threshold == "prior":
        move = threshold_at_prior(LocalShards(ValueShard(f, np.ones(len(f)))), value)
    result.threshold_ = model.threshold_ + move
    result.intercept_ = model.intercept_ - move
    result.calibration_ = shifted(old, move, float(logit(value) - logit(float(model.prior_))))
    return result


def mixture_prior(
    known: Reference, curve: Calibration, d: Array, *, seen: bool = False
) -> tuple[float, tuple[float, float]]:
    """π' and its interval, from decision values of the table on the scale of training.

    ``seen`` says that the kernel was learnt from the labels of all rows, held-out ones too.
    """
    p, u, x = (curve(values) for values in (known.labelled, known.unlabelled, d))
    prior = known.prior
    log_odds = np.linspace(logit(_SMALLEST), -logit(_SMALLEST), _GRID)
    grid = expit(log_odds)
    r = (grid - prior) / (1.0 - prior)
    var_p = _error_of_labelled(p, known.n_labelled)
    if seen and known.n_labelled < _FEW_LABELLED:
        var_p = max(var_p, (_TREES_SURE * (float(p.mean()) - float(u.mean()))) ** 2)
    # labelled positives that are among the unlabelled rows count in both means
    common = known.inside * p.var() / known.n_unlabelled
    var_x = max(x.var(), u.var()) if len(x) < _FEW else x.var()
    spread = var_x / len(x) + (1.0 - r) ** 2 * u.var() / known.n_unlabelled + r**2 * var_p
    spread = np.maximum(spread + 2.0 * r * (1.0 - r) * common, (_ROUNDING * (1.0 + np.abs(r))) ** 2)
    squares = (x.mean() - (1.0 - r) * u.mean() - r * p.mean()) ** 2 / spread
    squares -= squares.min()
    posterior = np.cumsum(np.exp(-0.5 * (squares + ((log_odds - logit(prior)) / _CHANGE) ** 2)))
    value = float(grid[np.searchsorted(posterior, 0.5 * posterior[-1])])
    kept = grid[squares <= chi2.ppf(_LEVEL, 1)]
    # π' = 1 - (1 - π)(1 - r): an error of π counts (1 - r)-fold; independent errors add in squares
    factor = (1.0 - value) / (1.0 - prior)
    below = np.hypot(max(value - kept.min(), 0.0), factor * (prior - known.low))
    above = np.hypot(max(kept.max() - value, 0.0), factor * (known.high - prior))
    return value, (float(max(_SMALLEST, value - below)), float(min(1.0 - _SMALLEST, value + above)))


def _error_of_labelled(p: Array, n: float) -> float:
    """The variance of the mean probability of labelled positives; of few, the largest that their mean allows.

    The slopes of the probability are fitted to the same rows, which makes few of them look alike.
    """
    if n >= _FEW_LABELLED:
        return float(p.var()) / n
    mean = (n * float(p.mean()) + 0.5) / (n + 1.0)
    return mean * (1.0 - mean) / max(n - 3.0, 1.0)


def _likeliest_prior(chance: Array, prior: float) -> tuple[float, tuple[float, float]]:
    """π' from probabilities alone: Σ log(π'·p/π + (1-π')·(1-p)/(1-π)) is largest (Saerens et al. 2002).

    The interval has the sampling error of the table only.
    """
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


def _drift(known: Reference, curve: Calibration, d: Array, interval: tuple[float, float]) -> float:
    """Distance (total variation over bins) of the table from the likeliest mixture with π' in the interval."""
    tried = (_misfit(known, curve, d, float(value)) for value in np.linspace(*interval, _TRIED))
    distance, chance = max(tried, key=lambda found: found[1])
    if distance > _DRIFT and chance < _SURE:
        warn(
            f"the table does not fit: its decision values differ from every mixture of the known classes by "
            f"{distance:.2f}, so that the adapted prior may be wrong",
            topic="drift",
        )
    return distance


def _misfit(known: Reference, curve: Calibration, d: Array, value: float) -> tuple[float, float]:
    """Distance from the mixture with the prior ``value``, and its p-value."""
    kept = known.unlabelled
    chance = curve(kept)
    weight = value * chance / known.prior + (1.0 - value) * (1.0 - chance) / (1.0 - known.prior)
    weight = weight / weight.mean()
    edges = np.unique(kept[:: QUANTILES // _BINS][1:-1])
    size, bins = len(edges) + 1, np.searchsorted(edges, kept)
    expected, squares = (np.bincount(bins, weights=w, minlength=size) / QUANTILES for w in (weight, weight**2))
    gap = np.bincount(np.searchsorted(edges, d), minlength=size) / len(d) - expected
    # sampling errors of the table and of the unlabelled rows; a row more, spread over the bins, leaves no bin empty
    share = (expected * len(d) + 1.0 / size) / (len(d) + 1.0)
    spread = (np.diag(share) - np.outer(share, share)) / len(d)
    spread += (np.diag(squares) - np.outer(expected, expected)) / known.n_unlabelled
    # the gaps sum to 0: the last bin says nothing more
    statistic = float(gap[:-1] @ np.linalg.solve(spread[:-1, :-1], gap[:-1]))
    return 0.5 * float(np.abs(gap).sum()), float(chi2.sf(statistic, max(size - 2, 1)))

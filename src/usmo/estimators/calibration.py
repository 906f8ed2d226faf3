"""Probabilities from decision values, without negatives.

With d the decision value, positive for rows called positive, the probability of being positive is modelled as

    p(d) = s(a₊·d + c) if d > 0, s(a₋·d + c) otherwise,      s(t) = 1/(1 + e^-t)

which is monotone and inside (0, 1). Since p_P(d)/p_U(d) = p(d)/π, the labels of P and U have a likelihood for each pair
of slopes. The pair with the largest likelihood is taken, with a penalty if the mean of p over U differs from π by more
than sampling error. c is 0, so that p is ½ at the decision, unless no pair of slopes gives p a mean of π: many rows
have the same d, or the threshold calls another share positive than π. The decision then says nothing of p: there is
one slope, c makes the mean of p over U equal π, and the pair of both with the largest likelihood is taken.

A model fits its training rows too well, so held-out decision values are used if there are any: those of the
cross-validation with ``lam="cv"``, else those of :mod:`usmo.fitting.leave_one_out` in exact fits with kernels "rbf",
"forest" and "forest+rbf". Over 16 tables and three draws (``python -m benchmarks.random probabilities``) the log loss
on other rows is 0.453 with values of the fit and 0.349 with those of leaving one out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from usmo.core.arrays import Array
from usmo.core.weights import are_counts

_STEPS = 40
"""Slopes tried on each side."""

_BINS, _MANY = 1000, 5000
"""Bins on each side of 0, and the number of values from which values are binned."""

_FLAT = 1e-3
"""Smallest scale of decision values: below it they do not distinguish rows."""


@dataclass(frozen=True)
class Calibration:
    """The slopes above and below 0, and the log odds at 0."""

    above: float
    below: float
    offset: float = 0.0

    def __call__(self, decision: Array) -> Array:
        """The probability of being positive for each decision value."""
        return expit(np.where(decision > 0, self.above, self.below) * decision + self.offset)


@dataclass(frozen=True)
class ShiftedCalibration(Calibration):
    """A calibration at another threshold and prior: p(d + shift), its log odds moved by ``log_odds``."""

    shift: float = 0.0
    log_odds: float = 0.0

    def __call__(self, decision: Array) -> Array:
        """The probability of being positive for each decision value."""
        d = decision + self.shift
        return expit(np.where(d > 0, self.above, self.below) * d + self.offset + self.log_odds)


def shifted(calibration: Calibration, shift: float, log_odds: float) -> ShiftedCalibration:
    """The calibration after the threshold has moved by ``shift`` and the log odds of the prior by ``log_odds``."""
    if isinstance(calibration, ShiftedCalibration):
        shift, log_odds = calibration.shift + shift, calibration.log_odds + log_odds
    return ShiftedCalibration(calibration.above, calibration.below, calibration.offset, shift, log_odds)


def calibrated(d_p: Array, d_u: Array, prior: float, m_p: Array, m_u: Array) -> Calibration:
    """The slopes with the largest likelihood, and c, from decision values and masses of P and U."""
    scale = max(float(np.average(np.abs(d_u), weights=m_u)), _FLAT)
    z_p, m_p = _binned(d_p / scale, m_p)
    z_u, m_u = _binned(d_u / scale, m_u)
    slopes = np.geomspace(0.05, 50.0, _STEPS)
    n_p, n_u = float(m_p.sum()), float(m_u.sum())
    # each side of 0 has its own slope: sums over each side, then all pairs
    fit_p, share, fit_u = (np.zeros((2, _STEPS)) for _ in range(3))
    odds = n_p / n_u / prior
    for side, keep_p, keep_u in ((0, z_p > 0, z_u > 0), (1, z_p <= 0, z_u <= 0)):
        on_p = odds * expit(slopes[:, None] * z_p[keep_p])
        on_u = expit(slopes[:, None] * z_u[keep_u])
        fit_p[side] = np.log(np.maximum(on_p / (1.0 + on_p), 1e-300)) @ m_p[keep_p]
        fit_u[side] = -np.log1p(odds * on_u) @ m_u[keep_u]
        share[side] = on_u @ m_u[keep_u] / n_u
    total = fit_p + fit_u
    miss = share[0][:, None] + share[1][None, :] - prior
    likelihood = total[0][:, None] + total[1][None, :] - 0.5 * n_u * miss**2 / (prior * (1.0 - prior))
    best = np.unravel_index(int(np.argmax(likelihood)), likelihood.shape)
    error = 2.0 * math.sqrt(prior * (1.0 - prior) / n_u)
    if -error <= miss.max() and miss.min() <= error:
        return Calibration(float(slopes[best[0]]) / scale, float(slopes[best[1]]) / scale)
    offsets = [_offset(slope * z_u, m_u / n_u, prior) for slope in slopes]
    on_p, on_u = (odds * expit(np.outer(slopes, z) + np.array(offsets)[:, None]) for z in (z_p, z_u))
    at = int(np.argmax(np.log(np.maximum(on_p / (1.0 + on_p), 1e-300)) @ m_p - np.log1p(on_u) @ m_u))
    slope = float(slopes[at]) / scale
    return Calibration(slope, slope, offsets[at])


def _offset(log_odds: Array, share: Array, prior: float) -> float:
    """What to add to the log odds of U for a mean probability of π."""
    low, high = (float(logit(prior)) - bound for bound in (log_odds.max(), log_odds.min()))
    return float(brentq(lambda offset: float(expit(log_odds + offset) @ share) - prior, low - 1.0, high + 1.0))


def copies(weight: Array) -> Array:
    """The number of equal rows that each row stands for: integer weights, otherwise 1."""
    return np.maximum(weight, 1.0) if are_counts(weight) else np.ones(len(weight))


def _binned(values: Array, mass: Array) -> tuple[Array, Array]:
    """Means and masses of the values in equal bins, with separate bins above 0."""
    if len(values) <= _MANY:
        return values, mass
    low, high = float(values.min()), float(values.max())
    place = np.where(values > 0, 1.0 + values / max(high, 1e-300), 1.0 - values / min(low, -1e-300))
    bins = np.where(values > 0, _BINS, 0) + np.minimum((place % 1.0 * _BINS).astype(np.intp), _BINS - 1)
    total = np.bincount(bins, weights=mass, minlength=2 * _BINS).astype(np.float64)
    sums = np.bincount(bins, weights=mass * values, minlength=2 * _BINS)
    kept = total > 0
    return sums[kept] / total[kept], np.asarray(total[kept], dtype=np.float64)

"""Saturation of the density ratio, and its mean with the best bin: the default estimate.

The best bin, like every estimator of inf p_U/p_P, overestimates π where the classes overlap. A parametric curve does
not: model the probability of being positive as a sigmoid of the held-out score z, so that

    p_P(z)/p_U(z) = s(az + b)/π,     with   mean_U s(az + b) = π,     s(t) = 1/(1 + e^-t)

The curve saturates at 1/π, even if no row has such a score. Each (a, π) determines b; the likelihood of the labels
given z is integrated over a with a flat prior on log a and on π. In most tables its error has the opposite sign of
the best bin's, and the mean of the two is better than either (``python -m benchmarks.priors``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from usmo.core.arrays import Array
from usmo.priors.best_bin import best_bin
from usmo.priors.samples import Sample
from usmo.priors.scores import ScorePrior

_BINS = 40
"""Bins of equal weight into which the scores are put, so that the likelihood costs the same for any number of rows."""
_SLOPES = np.geomspace(0.3, 20.0, 12)
_PRIORS = np.concatenate(
    [[0.005, 0.015, 0.03, 0.05, 0.075], np.arange(0.11, 0.9, 0.04), [0.925, 0.95, 0.97, 0.985, 0.995]]
)
"""Grids of a and π; grids three times as fine change the estimates by 0.007 on average, at most by 0.03."""
_HALVINGS = 34
"""Bisection steps for b: 34 halve a bracket of 160 + 16a to below 1e-7."""


class Saturation(ScorePrior):
    """Posterior median of π if the probability of being positive is a sigmoid of the held-out score.

    The interval is the credible interval of that posterior. Parameters as for
    :class:`usmo.priors.scores.ScorePrior`.
    """

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        mass = posterior(sample)
        return quantile(mass, 0.5), {"posterior_mean": float(mass @ _PRIORS)}

    def _interval(self, samples: list[Sample], value: float) -> tuple[float, float]:
        return credible_interval(samples, self.level)


class Consensus(ScorePrior):
    """Mean of the best-bin and the saturation estimate: what ``prior="estimate"`` uses.

    The interval covers both estimates, the credible interval of the saturation model and the bootstrap interval of
    the mean: sampling error, and the doubt about which assumption holds. Parameters as for
    :class:`usmo.priors.scores.ScorePrior`.
    """

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        bin_value, diagnostics = best_bin(sample)
        median = quantile(posterior(sample), 0.5)
        return 0.5 * (bin_value + median), {"best_bin": bin_value, "saturation": median, **diagnostics}

    def _interval(self, samples: list[Sample], value: float) -> tuple[float, float]:
        low, high = super()._interval(samples, value)
        both = self.diagnostics_["best_bin"], self.diagnostics_["saturation"]
        likely = credible_interval(samples, self.level)
        return min(low, *both, likely[0]), max(high, *both, likely[1])


def credible_interval(samples: list[Sample], level: float) -> tuple[float, float]:
    """The interval of this posterior probability, from the mean of the posteriors of all repetitions."""
    mass, tail = np.mean([posterior(sample) for sample in samples], axis=0), 0.5 * (1.0 - level)
    return quantile(mass, tail), quantile(mass, 1.0 - tail)


def posterior(sample: Sample) -> Array:
    """Posterior probability of each π of the grid ``_PRIORS``."""
    z, n_p, n_u = _binned(sample)
    total_p, total_u = n_p.sum(), n_u.sum()
    a, prior = (grid[..., None] for grid in np.meshgrid(_SLOPES, _PRIORS, indexing="ij"))
    low, high = -80.0 - 8.0 * a + 0.0 * prior, 80.0 + 8.0 * a + 0.0 * prior
    share = n_u / total_u
    for _ in range(_HALVINGS):
        b = 0.5 * (low + high)
        below = (expit(a * z + b) @ share)[..., None] < prior
        low, high = np.where(below, b, low), np.where(below, high, b)
    ratio = np.maximum(expit(a * z + b), 1e-300) / prior * (total_p / total_u)
    scale = min(1.0, sum(sample.sizes) / float(total_p + total_u))
    likelihood = scale * (
        n_p @ np.log(ratio / (1.0 + ratio)).swapaxes(-1, -2) - n_u @ np.log1p(ratio).swapaxes(-1, -2)
    )
    mass = np.exp(likelihood - likelihood.max()).sum(axis=0) * np.gradient(_PRIORS)
    return mass / mass.sum()


def quantile(mass: Array, share: float) -> float:
    """Quantile of π under posterior probabilities of the grid."""
    return float(np.interp(share, np.cumsum(mass) - 0.5 * mass, _PRIORS))


def _binned(sample: Sample) -> tuple[Array, Array, Array]:
    """Standardised means of the scores in bins of equal weight, and the weight of P and of U in each bin."""
    z, w = np.concatenate([sample.P, sample.U]), np.concatenate([sample.w_p, sample.w_u])
    order = np.argsort(z, kind="stable")
    rank = np.empty(len(z))
    rank[order] = np.cumsum(w[order])
    # equal scores share a bin: all take the rank of the last of them
    values, inverse = np.unique(z, return_inverse=True)
    last = np.zeros(len(values))
    np.maximum.at(last, inverse, rank)
    bins = np.minimum((last[inverse] / w.sum() * _BINS).astype(np.intp), _BINS - 1)
    is_p = np.arange(len(z)) < len(sample.P)
    n_p = np.asarray(np.bincount(bins[is_p], weights=w[is_p], minlength=_BINS), dtype=np.float64)
    n_u = np.asarray(np.bincount(bins[~is_p], weights=w[~is_p], minlength=_BINS), dtype=np.float64)
    sums = np.bincount(bins, weights=w * z, minlength=_BINS)
    kept = n_p + n_u > 0
    n_p, n_u = n_p[kept], n_u[kept]
    centre = sums[kept] / (n_p + n_u)
    share = 0.5 * (n_p / n_p.sum() + n_u / n_u.sum())
    mean = share @ centre
    spread = np.sqrt(share @ (centre - mean) ** 2)
    return (centre - mean) / max(float(spread), 1e-12), n_p, n_u

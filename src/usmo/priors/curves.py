"""Posterior of π over monotone curves q(z), the probability of being positive at the rank z of the held-out score.

    q(z) = s(g(z) - t),   g(z) = a·(z - k) below the knot k and a·b·(z - k) above,   s(t) = 1/(1 + e^-t)

With p_U the density of the scores of U, the curve implies π = mean_U q and the densities of the other samples,

    p_P = q·p_U/π,     p_N = (1 - q)·p_U/(1 - π)

so the kinds of the rows have a likelihood given z. It is integrated over the curves: flat in log a and in π, and for
curves with a bend (b other than 1) normal in log b. The scores are binned, so that the cost does not depend on the
number of rows. z is the normal score of the rank of a bin: only the order of the rows counts, not the scale on which a
classifier spreads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from usmo.core.arrays import Array
from usmo.priors.samples import Sample

_BINS = 40
"""Bins of equal weight."""
_SLOPES = np.geomspace(0.3, 20.0, 12)
"""Values of a; the scores have standard deviation 1."""
_BENDS, _KNOTS = (0.25, 0.5, 2.0, 4.0), (-0.5, 0.5, 1.5)
"""Values of b, one standard deviation of log₂ b apart, and of k."""
_POSITIONS, _OUTSIDE = 81, np.linspace(0.0, 8.0, 9)[1:]
"""Values of t: quantiles of g over U, and distances beyond its range."""


@dataclass(frozen=True)
class Posterior:
    """Values of π, ascending, with their probabilities, and the separation of the classes.

    ``separation`` is (mean_P q - π)/(1 - π) of the most probable curve: 1 if the labelled positives lie where there
    are positives only, 0 if they lie where all rows do.
    """

    values: Array
    mass: Array
    separation: float

    def quantile(self, share: float) -> float:
        """The value below which this share of the probability lies."""
        return float(np.interp(share, np.cumsum(self.mass) - 0.5 * self.mass, self.values))

    def interval(self, level: float) -> tuple[float, float]:
        """The interval of this probability with equal tails."""
        return self.quantile(0.5 - 0.5 * level), self.quantile(0.5 + 0.5 * level)


def pooled(several: Sequence[Posterior]) -> Posterior:
    """The mean of several posteriors."""
    values, mass = (np.concatenate([getattr(each, name) for each in several]) for name in ("values", "mass"))
    order = np.argsort(values, kind="stable")
    separation = float(np.mean([each.separation for each in several]))
    return Posterior(values[order], mass[order] / len(several), separation)


def posterior(sample: Sample, bent: bool = False, positives: bool = True) -> Posterior:
    """The posterior of π from scores of P, U and, if there are any, N; with curves that bend or without.

    With ``positives`` false P has no part in the likelihood: nothing is assumed of which positives are labelled.
    """
    z, counts = _binned(sample)
    share = counts[1] / counts[1].sum()
    shapes, log_weight = _shapes(z, bent)
    inside = np.array(
        [np.interp(np.linspace(0, 1, _POSITIONS), np.cumsum(share) - 0.5 * share, g) for g in shapes]
    )
    at = np.concatenate([shapes[:, :1] - _OUTSIDE[::-1], inside, shapes[:, -1:] + _OUTSIDE], axis=1)
    q = expit(shapes[:, None, :] - at[:, :, None])
    prior = q @ share
    # each curve stands for the values of π between the middles to its neighbours
    edges = np.concatenate(
        [np.ones((len(at), 1)), 0.5 * (prior[:, 1:] + prior[:, :-1]), np.zeros((len(at), 1))], axis=1
    )
    weight = np.maximum(-np.diff(edges, axis=1), 1e-300)
    scale = min(1.0, sum(sample.sizes) / float(counts.sum()))
    log_mass = (
        scale * _log_likelihood(q, prior, counts if positives else counts * [[0.0], [1.0], [1.0]])
        + np.log(weight)
        + log_weight[:, None]
    )
    mass = np.exp(log_mass - log_mass.max()).ravel()
    mass /= mass.sum()
    best = np.unravel_index(int(np.argmax(log_mass)), log_mass.shape)
    on_p = float(q[best] @ counts[0] / counts[0].sum())
    separation = (on_p - prior[best]) / max(1.0 - prior[best], 1e-12)
    order = np.argsort(prior, axis=None, kind="stable")
    return Posterior(prior.ravel()[order], mass[order], float(np.clip(separation, 0.0, 1.0)))


def _shapes(z: Array, bent: bool) -> tuple[Array, Array]:
    """g at the bins for each a, b and k, and the logarithms of their weights."""
    straight = _SLOPES[:, None] * z
    if not bent:
        return straight, np.zeros(len(straight))
    curves, weights = [straight], [np.full(len(straight), np.log(len(_KNOTS)))]
    for knot in _KNOTS:
        for bend in _BENDS:
            curves.append(straight - _SLOPES[:, None] * knot)
            curves[-1] = np.where(z > knot, bend, 1.0) * curves[-1]
            weights.append(np.full(len(straight), -0.5 * np.log2(bend) ** 2))
    return np.concatenate(curves), np.concatenate(weights)


def _log_likelihood(q: Array, prior: Array, counts: Array) -> Array:
    """Of the kinds of the rows given their scores; ``counts`` has a line for each of P, U and N."""
    totals = counts.sum(axis=1)
    total, value = np.ones_like(q), np.zeros_like(prior)
    for count, chance, share in ((counts[0], q, prior), (counts[2], 1.0 - q, 1.0 - prior)):
        if count.any():
            odds = np.maximum(chance, 1e-300) / np.maximum(share, 1e-300)[..., None] * (count.sum() / totals[1])
            total, value = total + odds, value + np.log(odds) @ count
    return np.asarray(value - np.log(total) @ counts.sum(axis=0))


def _binned(sample: Sample) -> tuple[Array, Array]:
    """Standardised normal scores of bins of equal weight, and the weight of P, U and N in each bin."""
    parts, weights = (sample.P, sample.U, sample.N), (sample.w_p, sample.w_u, sample.w_n)
    z, w = np.concatenate(parts), np.concatenate(weights)
    kind = np.repeat(np.arange(3), [len(part) for part in parts])
    order = np.argsort(z, kind="stable")
    rank = np.empty(len(z))
    rank[order] = np.cumsum(w[order])
    # equal scores share a bin: all take the rank of the last of them
    values, inverse = np.unique(z, return_inverse=True)
    last = np.zeros(len(values))
    np.maximum.at(last, inverse, rank)
    bins = np.minimum((last[inverse] / w.sum() * _BINS).astype(np.intp), _BINS - 1)
    flat = np.asarray(np.bincount(kind * _BINS + bins, weights=w, minlength=3 * _BINS), dtype=np.float64)
    counts = flat.reshape(3, _BINS)
    counts = counts[:, counts.sum(axis=0) > 0]
    below = np.cumsum(counts[1]) - 0.5 * counts[1]
    centre = norm.ppf((below + 0.5) / (counts[1].sum() + 1.0))
    share = 0.5 * (counts[0] / counts[0].sum() + counts[1] / counts[1].sum())
    mean = share @ centre
    spread = np.sqrt(share @ (centre - mean) ** 2)
    return (centre - mean) / max(float(spread), 1e-12), counts

"""Saturation of the density ratio, its mean with the best bin (the default estimate), and known negatives.

The best bin, like every estimator of inf p_U/p_P, overestimates π where the classes overlap. A parametric curve does
not: if the probability of being positive is a sigmoid q of the rank z of the held-out score, p_P/p_U = q/π saturates at
1/π even if no row has such a score (:mod:`usmo.priors.curves`). In most tables its error has the opposite sign of the
best bin's, and the mean of the two is better than either (``python -m benchmarks.priors``).
"""

from __future__ import annotations

import math
from typing import Any

from scipy.stats import norm

from usmo.priors.best_bin import best_bin
from usmo.priors.curves import Posterior, pooled, posterior
from usmo.priors.samples import Sample
from usmo.priors.scores import ScorePrior

WIDEST = 0.5
"""Width of the interval of π_U from which the table is said not to determine the prior."""


def is_determined(low: float, high: float) -> bool:
    """Whether a table with this interval of the share among the unlabelled rows determines the prior."""
    return high - low <= WIDEST


class Saturation(ScorePrior):
    """Posterior median of π if the probability of being positive is a sigmoid of the rank of the held-out score.

    The interval is the credible interval of that posterior. Parameters as for
    :class:`usmo.priors.scores.ScorePrior`.
    """

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        found = posterior(sample)
        return found.quantile(0.5), {"posterior_mean": float(found.mass @ found.values)}

    def _interval(self, samples: list[Sample], value: float) -> tuple[float, float]:
        return pooled([posterior(sample) for sample in samples]).interval(self.level)


class KnownNegatives(ScorePrior):
    """Posterior median of π from P, U and labelled negatives that are a random sample of the negatives.

    Labelled negatives show what the negatives look like, so that nothing need be assumed of a region with positives
    only: classes may overlap everywhere. The probability of being positive is a monotone curve of the held-out score,
    with one bend (:mod:`usmo.priors.curves`); the interval is the credible interval. The assumption is that the
    labelled negatives are a random sample of the negatives. Rows that someone looked at because a model ranked them
    high are not. Parameters as for :class:`usmo.priors.scores.ScorePrior`; y has -1 for labelled negatives.
    """

    _uses_negatives = True
    _uses_positives = True

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        found = self._posterior(sample)
        return found.quantile(0.5), {"posterior_mean": float(found.mass @ found.values)}

    def _interval(self, samples: list[Sample], value: float) -> tuple[float, float]:
        return pooled([self._posterior(sample) for sample in samples]).interval(self.level)

    def _posterior(self, sample: Sample) -> Posterior:
        return posterior(sample, bent=True, positives=self._uses_positives)


class NegativesOnly(KnownNegatives):
    """Posterior median of π from labelled negatives and U alone: no matter which positives are labelled.

    As :class:`usmo.priors.KnownNegatives`, but the labelled positives only train the score. Their selection then has
    no influence on π, and the interval is wider. The assumption is that the labelled negatives are a random sample of
    the negatives.
    """

    _uses_positives = False


class Consensus(ScorePrior):
    """Mean of the best-bin and the saturation estimate: what ``prior="estimate"`` uses.

    The interval covers both estimates, the credible interval of the saturation model and the bootstrap interval of
    the mean. Its ends also allow for what these assume. Above: the best bin may be too small by chance, since it is
    the smallest of many. Below: the region with the highest scores may hold negatives too. How many, no method can
    tell; the lower end is multiplied by the ``separation`` of the classes below that region, 1 if they are apart and
    0 if the scores tell nothing. Parameters as for :class:`usmo.priors.scores.ScorePrior`.

    Attributes
    ----------
    identified_ : bool
        Whether the table determines the prior: the interval of the share among the unlabelled rows is at most 0.5 wide.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Any:
        super().fit(X, y, sample_weight, groups=groups)
        self.identified_ = is_determined(*self.diagnostics_["interval_unlabelled"])
        return self

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        scores = self._scores(sample)
        bin_value, diagnostics = best_bin(scores)
        median = posterior(scores).quantile(0.5)
        return 0.5 * (bin_value + median), {"best_bin": bin_value, "saturation": median, **diagnostics}

    def _interval(self, samples: list[Sample], value: float) -> tuple[float, float]:
        low, high = super()._interval(samples, value)
        both = self.diagnostics_["best_bin"], self.diagnostics_["saturation"]
        found = pooled([posterior(self._scores(sample)) for sample in samples])
        self.diagnostics_["separation"] = found.separation
        likely = found.interval(self.level)
        bound = self._bound(samples[0].sizes)
        return found.separation * min(low, *both, likely[0]), max(high, *both, likely[1], bound)

    def _scores(self, sample: Sample) -> Sample:
        """The held-out scores alone: a subclass may have further features."""
        return sample

    def _bound(self, sizes: tuple[float, float]) -> float:
        """Upper bound of the best bin by the binomial errors of its two shares."""
        n_p, n_u = sizes
        q_p = self.diagnostics_["share_positive"]
        q_u = max(self.diagnostics_["share_unlabelled"], 0.5 / n_u)
        error = math.sqrt((1.0 - q_p) / (q_p * n_p) + (1.0 - q_u) / (q_u * n_u))
        return min(1.0, self.diagnostics_["best_bin"] * math.exp(float(norm.ppf(0.5 + 0.5 * self.level)) * error))

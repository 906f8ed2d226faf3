"""The default estimate: the mean of the best bin and of the saturation of the density ratio.

In most tables the errors of the two have opposite signs, and their mean is better than either
(``python -m benchmarks.priors``).
"""

from __future__ import annotations

import math
from typing import Any

from scipy.stats import norm

from usmo.priors.best_bin import best_bin
from usmo.priors.curves import pooled, posterior
from usmo.priors.samples import Sample
from usmo.priors.scores import BootstrappedScorePrior

WIDEST = 0.5
"""Width of the interval of π_U from which the table is said not to determine the prior."""


def is_determined(low: float, high: float) -> bool:
    """Whether a table with this interval of the share among the unlabelled rows determines the prior."""
    return high - low <= WIDEST


def consensus(sample: Sample) -> tuple[float, dict[str, Any]]:
    """The mean of both estimates of π_U from held-out scores, and both as diagnostics."""
    bin_value, diagnostics = best_bin(sample)
    median = posterior(sample).quantile(0.5)
    return 0.5 * (bin_value + median), {"best_bin": bin_value, "saturation": median, **diagnostics}


class Consensus(BootstrappedScorePrior):
    """The default, for labels at random: the mean of best bin and saturation, which ``prior="estimate"`` uses.

    The two are :class:`usmo.priors.BestBin` and :class:`usmo.priors.Saturation`.

    The interval covers both estimates, the credible interval of the saturation model and the bootstrap interval of
    the mean. Its ends also allow for what these assume. Above: the best bin may be too small by chance, since it is
    the smallest of many. Below: the region with the highest scores may hold negatives too. How many, no method can
    tell; the lower end is multiplied by the ``separation`` of the classes below that region, 1 if they are apart and
    0 if the scores tell nothing.

    Parameters
    ----------
    scenario : {"case-control", "censored"}, default="case-control"
        What the prior refers to: the unlabelled rows, or all rows.
    classifier : estimator, default=None
        Scores the rows: any scikit-learn classifier with ``decision_function`` or ``predict_proba``. None is a logistic
        regression on radial features of the standardised table, or on the rows of a sparse table of at least 1,000
        columns.
    folds : int, default=5
        Folds of the held-out scores.
    repeats : int, default=None
        Divisions into folds, each with its own landmarks; the estimate is the mean over them. None is twelve up to
        2,000 rows, fewer for more rows, and one above 12,000.
    level : float, default=0.9
        Probability of the interval.
    n_bootstrap : int, default=20
        Bootstrap draws of the scores for the interval; below 2 the interval has only its other parts.
    random_state : int, default=0
        Seed; None is 0, so that estimates are reproducible.

    Attributes
    ----------
    prior_ : float
        The estimate, strictly between 0 and 1.
    interval_ : tuple of float
        It covers both estimates, their sampling error, and what their assumption leaves open, as told above.
    diagnostics_ : dict
        ``prior_unlabelled`` and ``interval_unlabelled``, estimate and interval of the share among the unlabelled rows;
        ``best_bin`` and ``saturation``, the two estimates of it; ``threshold``, ``share_positive`` and
        ``share_unlabelled`` of the best bin; ``separation``, the factor of the lower end.
    identified_ : bool
        Whether the table determines the prior: the interval of the share among the unlabelled rows is at most 0.5 wide.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Any:
        super().fit(X, y, sample_weight, groups=groups)
        self.identified_ = is_determined(*self.diagnostics_["interval_unlabelled"])
        return self

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        return consensus(self._scores(sample))

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

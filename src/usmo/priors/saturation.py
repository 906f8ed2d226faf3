"""Saturation of the density ratio: the prior from a parametric curve, with known negatives or without.

The best bin, like every estimator of inf p_U/p_P, overestimates π where the classes overlap. A parametric curve does
not: if the probability of being positive is a sigmoid q of the rank z of the held-out score, p_P/p_U = q/π saturates at
1/π even if no row has such a score (:mod:`usmo.priors.curves`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import norm

from usmo.priors.curves import Posterior, pooled, posterior
from usmo.priors.samples import Sample
from usmo.priors.scores import ScorePrior, share_at_least
from usmo.system.caller import warn

_SURE = 0.01
"""p-value below which known negatives are said not to be a random sample of the negatives."""


class Saturation(ScorePrior):
    """The share that a curve over the whole ranking implies: for labels at random and classes that overlap.

    The posterior median of π if the probability of being positive is a sigmoid of the rank of the held-out score.

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
    random_state : int, default=0
        Seed; None is 0, so that estimates are reproducible.

    Attributes
    ----------
    prior_ : float
        The estimate, strictly between 0 and 1.
    interval_ : tuple of float
        Credible interval of the posterior.
    diagnostics_ : dict
        ``prior_unlabelled`` and ``interval_unlabelled``, estimate and interval of the share among the unlabelled rows;
        ``posterior_mean`` of that share.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.
    """

    _bent = False
    _uses_positives = True

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        found = self._posterior(sample)
        return found.quantile(0.5), {"posterior_mean": float(found.mass @ found.values)}

    def _interval(self, samples: list[Sample], value: float) -> tuple[float, float]:
        return pooled([self._posterior(sample) for sample in samples]).interval(self.level)

    def _posterior(self, sample: Sample) -> Posterior:
        return posterior(sample, bent=self._bent, positives=self._uses_positives)


class KnownNegatives(Saturation):
    """The share from labelled positives and known negatives: where both are random samples of their classes.

    Known negatives (-1 in y) show what the negatives look like, so that nothing need be assumed of a region with
    positives only: classes may overlap everywhere. The estimate is the posterior median of π, where the probability of
    being positive is a monotone curve of the held-out score with one bend (:mod:`usmo.priors.curves`). The assumption
    is that the known negatives are a random sample of the negatives. Rows that someone looked at because a model ranked
    them high are not.

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
    random_state : int, default=0
        Seed; None is 0, so that estimates are reproducible.

    Attributes
    ----------
    prior_ : float
        The estimate, strictly between 0 and 1.
    interval_ : tuple of float
        Credible interval of the posterior.
    diagnostics_ : dict
        ``prior_unlabelled`` and ``interval_unlabelled``, estimate and interval of the share among the unlabelled rows;
        ``posterior_mean`` of that share.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.
    """

    _bent = True
    _uses_negatives = True

    def _interval(self, samples: list[Sample], value: float) -> tuple[float, float]:
        _warn_of_selection(samples)
        return super()._interval(samples, value)


class NegativesOnly(KnownNegatives):
    """The share from known negatives: where these are a random sample, however the positives were labelled.

    As :class:`usmo.priors.KnownNegatives`, but the labelled positives only train the score. Their selection then has
    no influence on π, and the interval is wider. The assumption is that the known negatives (-1 in y) are a random
    sample of the negatives.

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
    random_state : int, default=0
        Seed; None is 0, so that estimates are reproducible.

    Attributes
    ----------
    prior_ : float
        The estimate, strictly between 0 and 1.
    interval_ : tuple of float
        Credible interval of the posterior.
    diagnostics_ : dict
        ``prior_unlabelled`` and ``interval_unlabelled``, estimate and interval of the share among the unlabelled rows;
        ``posterior_mean`` of that share.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.
    """

    _uses_positives = False


def _warn_of_selection(samples: list[Sample]) -> None:
    """Warn if the known negatives have higher scores than the unlabelled rows.

    The unlabelled rows are negatives and positives. If positives have the higher scores, a random sample of the
    negatives has lower scores than the unlabelled rows, or the same if none of these is positive.
    """
    above = float(np.mean([_share_above(each) for each in samples]))
    n_n, n_u = (float(weight.sum()) for weight in (samples[0].w_n, samples[0].w_u))
    error = math.sqrt((1.0 / n_n + 1.0 / n_u) / 12.0)  # that of Mann and Whitney's statistic
    if above - 0.5 > float(norm.isf(_SURE)) * error:
        warn(
            "the known negatives look more like the labelled positives than the unlabelled rows do (a higher score in "
            f"{above:.0%} of all pairs): they are no random sample of the negatives, or there are positives of a kind "
            "that is not labelled. The estimate of the prior is then too small, and its interval does not hold",
            topic="selected-negatives",
        )


def _share_above(sample: Sample) -> float:
    """The probability that a known negative has a higher score than an unlabelled row, ties counting half."""
    at_least = share_at_least(sample.U, sample.w_u, sample.N)
    above = share_at_least(sample.U, sample.w_u, np.nextafter(sample.N, np.inf))
    return float(np.average(1.0 - 0.5 * (at_least + above), weights=sample.w_n))

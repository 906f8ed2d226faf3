"""The best bin: q_U/q_P at the top of the ranking, where U holds almost only positives.

With q_P(t), q_U(t) the shares of P and U scored at least t by a classifier of P against U,

    t* = argmin  q_U/q_P + (1+γ)/q_P·(ε_U + ε_P),   ε = √(ln(4/δ)/2n),        π = q_U(t*)/q_P(t*)

The second term keeps t* away from tails with too few rows to measure. Where positives and negatives overlap
everywhere, the estimate is an upper bound of π.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from usmo.priors.samples import Sample
from usmo.priors.scores import ScorePrior, share_at_least


class BestBin(ScorePrior):
    """The best bin, from the top of the ranking: for tables with a region of positives only; else an upper bound.

    With q_P and q_U the shares of P and U scored at least t, the estimate is q_U/q_P at the threshold t* where this
    ratio, with a bound on its sampling error added, is least (:mod:`usmo.priors.best_bin`). ``python -m
    benchmarks.prior_scores`` compares the default ``classifier`` with others.

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
    gamma : float, default=0.01
        The bound counts 1 + ``gamma`` times in the choice of t*.
    level : float, default=0.9
        Probability 1 - δ with which the bounds on q_U and q_P hold, and therefore the interval.
    random_state : int, default=0
        Seed; None is 0, so that estimates are reproducible.

    Attributes
    ----------
    prior_ : float
        The estimate, strictly between 0 and 1.
    interval_ : tuple of float
        Bounds on q_U/q_P at t*. The upper end bounds π; the lower end does so only if the top of the ranking holds
        positives only.
    diagnostics_ : dict
        ``prior_unlabelled`` and ``interval_unlabelled``, estimate and interval of the share among the unlabelled rows;
        ``threshold`` (t*), ``share_positive`` (q_P) and ``share_unlabelled`` (q_U).
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

    References
    ----------
    S. Garg, Y. Wu, A. Smola, S. Balakrishnan, Z. Lipton. Mixture proportion estimation and PU learning: a
    modern approach. NeurIPS 2021.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **ScorePrior._parameter_constraints,
        "gamma": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        scenario: str = "case-control",
        classifier: Any = None,
        folds: int = 5,
        repeats: int | None = None,
        gamma: float = 0.01,
        level: float = 0.9,
        random_state: int | None = 0,
    ) -> None:
        super().__init__(
            scenario=scenario, classifier=classifier, folds=folds, repeats=repeats, level=level,
            random_state=random_state,
        )  # fmt: skip
        self.gamma = gamma

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        return best_bin(sample, self.gamma, 1.0 - self.level)

    def _interval(self, samples: list[Sample], value: float) -> tuple[float, float]:
        q_u, q_p = self.diagnostics_["share_unlabelled"], self.diagnostics_["share_positive"]
        e_p, e_u = _epsilons(samples[0], 1.0 - self.level)
        return (q_u - e_u) / min(1.0, q_p + e_p), (q_u + e_u) / (q_p - e_p) if q_p > e_p else 1.0


def best_bin(sample: Sample, gamma: float = 0.01, delta: float = 0.1) -> tuple[float, dict[str, Any]]:
    """q_U/q_P at t*, and t* with both shares as diagnostics."""
    thresholds = np.unique(sample.P)
    q_p = share_at_least(sample.P, sample.w_p, thresholds)
    q_u = share_at_least(sample.U, sample.w_u, thresholds)
    best = int(np.argmin((q_u + (1.0 + gamma) * sum(_epsilons(sample, delta))) / q_p))
    diagnostics = {
        "threshold": float(thresholds[best]),
        "share_positive": float(q_p[best]),
        "share_unlabelled": float(q_u[best]),
    }
    return min(1.0, float(q_u[best] / q_p[best])), diagnostics


def _epsilons(sample: Sample, delta: float) -> tuple[float, float]:
    """ε_P and ε_U."""
    log_term = math.log(4.0 / delta) / 2.0
    n_p, n_u = sample.sizes
    return math.sqrt(log_term / n_p), math.sqrt(log_term / n_u)

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
    """Best-bin estimate of the prior, with its bound.

    Parameters
    ----------
    scenario : {"case-control", "censored"}
        What ``prior_`` refers to: the unlabelled rows, or the positives and the unlabelled rows together.
    classifier : classifier or None
        Scores the rows; see :class:`usmo.priors.ScorePrior`. ``python -m benchmarks.prior_scores`` compares the
        default with others.
    folds : int
        Number of folds for the held-out scores.
    repeats : int or None
        Divisions into folds over which the estimate is averaged; None is by the number of rows.
    gamma : float
        Weight of the bound in the choice of t*.
    level : float
        Probability 1 - δ with which the bounds on q_U and q_P hold, and therefore the interval.
    random_state : int or None
        Seed of the fold assignment; None is 0.

    Attributes
    ----------
    prior_, diagnostics_ : as in :class:`usmo.priors.base.PriorEstimator`
    interval_ : tuple of float
        Bounds on q_U/q_P at t*. The upper end bounds π; the lower end does so only if the top of the ranking holds
        positives only.

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

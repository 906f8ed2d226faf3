"""Estimators on held-out scores from the literature: Elkan-Noto, Blanchard/Scott, DEDPUL."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import beta
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from usmo.core.arrays import Array
from usmo.priors.samples import Sample
from usmo.priors.scores import BootstrappedScorePrior, share_at_least

_GRID = 400
"""Points of the grids of scores and of α in DEDPUL."""


class ElkanNoto(BootstrappedScorePrior):
    """Elkan and Noto's estimate: for classes that do not overlap; else it is too large.

    c = E[g(x) | s = 1] for a calibrated g(x) = P(s = 1 | x), their estimator e1; the share of positives among all rows
    is P(s = 1)/c. If the classes overlap, g is below c on many positives, so c is underestimated and the prior
    overestimated.

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
        Bootstrap draws for the interval; below 2 the interval is the estimate alone.
    random_state : int, default=0
        Seed; None is 0, so that estimates are reproducible.

    Attributes
    ----------
    prior_ : float
        The estimate, strictly between 0 and 1.
    interval_ : tuple of float
        Normal interval from the standard deviation over bootstrap draws: sampling error only.
    diagnostics_ : dict
        ``prior_unlabelled`` and ``interval_unlabelled``, estimate and interval of the share among the unlabelled rows;
        ``label_frequency``, the estimate of c.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

    References
    ----------
    C. Elkan, K. Noto. Learning classifiers from only positive and unlabeled data. KDD 2008.
    """

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        score = np.concatenate([sample.P, sample.U])[:, None]
        labelled = np.arange(len(score)) < len(sample.P)
        weight = np.concatenate([sample.w_p, sample.w_u])
        scale = max(float(score.std()), 1e-12)
        model = LogisticRegression(C=1e3).fit(score / scale, labelled, sample_weight=weight)
        probability = model.predict_proba(sample.P[:, None] / scale)[:, 1]
        c = float(np.average(probability, weights=sample.w_p))
        n_p, n_u = float(sample.w_p.sum()), float(sample.w_u.sum())
        return float(np.clip(n_p * (1.0 - c) / (c * n_u), 0.0, 1.0)), {"label_frequency": c}


class BlanchardScott(BootstrappedScorePrior):
    """Blanchard and Scott's least upper bound: where too large an estimate is better than too small a one.

    The minimum over thresholds of (upper bound of q_U) / (lower bound of q_P), with exact binomial bounds: an upper
    bound of inf p_U/p_P, valid with probability 1 - δ at each threshold, δ = 0.1. The errors are larger than those of
    :class:`usmo.priors.BestBin`, which does not add the bounds to the estimate.

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
        Bootstrap draws for the interval; below 2 the interval is the estimate alone.
    random_state : int, default=0
        Seed; None is 0, so that estimates are reproducible.

    Attributes
    ----------
    prior_ : float
        The estimate, strictly between 0 and 1.
    interval_ : tuple of float
        Normal interval from the standard deviation over bootstrap draws: sampling error only.
    diagnostics_ : dict
        ``prior_unlabelled`` and ``interval_unlabelled``, estimate and interval of the share among the unlabelled rows;
        ``threshold``, where the bound is least.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

    References
    ----------
    G. Blanchard, G. Lee, C. Scott. Semi-supervised novelty detection. JMLR 2010.
    C. Scott. A rate of convergence for mixture proportion estimation, with application to learning from noisy
    labels. AISTATS 2015.
    """

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        thresholds = np.unique(sample.P)
        n_p, n_u = sample.sizes
        count_p = share_at_least(sample.P, sample.w_p, thresholds) * n_p
        count_u = share_at_least(sample.U, sample.w_u, thresholds) * n_u
        upper = np.where(count_u < n_u, beta.ppf(0.95, count_u + 1.0, np.maximum(n_u - count_u, 1e-9)), 1.0)
        lower = beta.ppf(0.05, count_p, n_p - count_p + 1.0)
        ratio = upper / np.maximum(lower, 1e-12)
        best = int(np.argmin(ratio))
        return min(1.0, float(ratio[best])), {"threshold": float(thresholds[best])}


class Dedpul(BootstrappedScorePrior):
    """DEDPUL, from the ratio of two densities of scores: a published method to compare with the default.

    The ratio is made monotone, and the prior is a fixed point of the mean posterior. With r = p_P/p_U on the unlabelled
    rows and the posterior min(1, αr), π is the largest α with α = mean min(1, αr); if the only fixed point is trivial,
    the α at which α - mean min(1, αr) curves most.

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
        Bootstrap draws for the interval; below 2 the interval is the estimate alone.
    random_state : int, default=0
        Seed; None is 0, so that estimates are reproducible.

    Attributes
    ----------
    prior_ : float
        The estimate, strictly between 0 and 1.
    interval_ : tuple of float
        Normal interval from the standard deviation over bootstrap draws: sampling error only.
    diagnostics_ : dict
        ``prior_unlabelled`` and ``interval_unlabelled``, estimate and interval of the share among the unlabelled rows;
        ``fixed_point``, whether π is such a fixed point.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

    References
    ----------
    D. Ivanov. DEDPUL: difference-of-estimated-densities-based positive-unlabeled learning. ICMLA 2020.
    """

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        ratio, weight = density_ratio(sample)
        alpha = np.arange(1, _GRID) / _GRID
        excess = alpha - np.minimum(1.0, alpha[:, None] * ratio) @ weight
        # excess is convex and starts near 0: it bends where αr reaches 1 for the first rows
        tolerance = 1.0 / np.sqrt(min(sample.sizes)) / 10.0
        fixed = np.flatnonzero(excess <= tolerance)
        if len(fixed) and 0 < fixed[-1] < len(alpha) - 1:
            return float(alpha[fixed[-1]]), {"fixed_point": True}
        wide = max(1, _GRID // 20)
        bend = np.convolve(np.gradient(np.gradient(excess)), np.ones(wide) / wide, mode="same")
        inner = slice(wide, -wide)
        return float(alpha[inner][int(np.argmax(bend[inner]))]), {"fixed_point": False}


def density_ratio(sample: Sample) -> tuple[Array, Array]:
    """p_P/p_U on a grid of scores, made monotone and normalised, and the share of U at each point."""
    low = min(sample.P.min(), sample.U.min())
    high = max(sample.P.max(), sample.U.max())
    at = np.linspace(low, high, _GRID) if high > low else np.array([low])
    parts = (sample.P, sample.w_p), (sample.U, sample.w_u)
    # a ratio of densities of different smoothness would be wrong in the tails
    width = min(_kernel_width(*part, size) for part, size in zip(parts, sample.sizes, strict=True))
    width = max(width, (high - low) / _GRID, 1e-12)  # a smaller one would fall between the points of the grid
    p, u = (
        np.exp(-0.5 * ((at[:, None] - score) / width) ** 2) @ (weight / weight.sum()) for score, weight in parts
    )
    ratio = p / np.maximum(u, 1e-300)
    ratio = IsotonicRegression().fit(at, np.minimum(ratio, 1e6), sample_weight=np.maximum(u, 1e-12)).predict(at)
    return ratio / max(float(ratio @ (u / u.sum())), 1e-12), u / u.sum()


def _kernel_width(score: Array, weight: Array, size: float) -> float:
    """Silverman's rule."""
    mean = np.average(score, weights=weight)
    return 1.06 * float(np.sqrt(np.average((score - mean) ** 2, weights=weight))) * size**-0.2

"""Rows that look positive, by class structure; and a prior for labels that are not at random.

With z a held-out score of P against U, the ends of the ranking are the surest positives and negatives:

    top           P, and the unlabelled rows with z above half of P
    bottom        the 60 % of U with the lowest z, without rows of the top
    m(x)          held-out probability that a row of the ends is in the top, the ends counted by the cube roots of
                  their sizes
    S             mean of m over U: the share of the unlabelled rows that looks positive

If only obvious positives are labelled, z tells them from the other positives, and estimators that assume labels at
random take these for negatives. m does not: the others resemble the top more than the bottom. The assumption instead is
that a share S of the unlabelled rows is positive. S is too large where few rows are positive and classes overlap, and
too small where positives are in the bottom: if many are unlike the labelled ones, or more than 40 % of U are positive.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm
from sklearn.ensemble import ExtraTreesClassifier

from usmo.core.arrays import Array, Index, Mask
from usmo.kernels.row_sampling import row_keys
from usmo.priors.consensus import Consensus
from usmo.priors.samples import Sample
from usmo.priors.scores import cross_fitted, division, share_at_least

_BOTTOM, _SIZES, _LEAF = 0.6, 1 / 3, 1
"""Share of U in which the surest negatives lie, power of their sizes by which the ends are counted, and fewest rows of
a leaf of the trees that find m. Draws 130 to 134 of ``benchmarks.random`` chose them. There ``scar_test`` rejects
labels at random in 3 of 85 draws, in 9 with 10 % of positives, and the strongest mechanism in 65 of 77 (with these
trees, not a forest, in its ranking). With a bottom of 0.5 it is 10, 11 and 68, with 0.7 1, 4 and 58; with a power of 0
it is 5, 21 and 67, with 1/2 3, 5 and 60. Larger leaves make S too large where few rows are positive."""

_FOUND = 2 / 3
"""Smallest share of the positives that looks positive for which the interval allows. On the same draws 1.5·S with its
sampling error is at least π_U in 96 % of the samples whose labels follow the true score most."""

_RANKING_LEAF = 3
"""Fewest rows of a leaf of the trees that rank the rows."""

_TREES = 8
"""Trees of each of up to twelve divisions of the estimator."""


def looks_positive(
    X: Any, labelled: Mask, weight: Array, keys: np.ndarray, fold: Index, trees: int, seed: int
) -> Array:
    """m of all rows by extremely randomised trees; 0 if all rows look alike.

    m is held out, but not wholly: z, which chooses the ends, has seen the labels of all rows.
    """
    ranking = ExtraTreesClassifier(trees, min_samples_leaf=_RANKING_LEAF, random_state=seed)
    z = cross_fitted(X, labelled, weight, keys, fold, ranking)
    top = labelled | (share_at_least(z[labelled], weight[labelled], z) <= 0.5)
    bottom = ~top & (share_at_least(z[~labelled], weight[~labelled], z) >= 1.0 - _BOTTOM)
    if not bottom.any():
        bottom = ~top
    if not bottom.any():
        return np.zeros(len(z))
    finer = ExtraTreesClassifier(trees, min_samples_leaf=_LEAF, random_state=seed)
    log_odds = cross_fitted(X, top, weight, keys, fold, finer, used=top | bottom)
    return np.asarray(expit(log_odds - _SIZES * math.log(weight[bottom].sum() / weight[top].sum())))


class ClassStructure(Consensus):
    """The share of the rows that looks positive: for labels of the obvious positives, or of those of one kind.

    Where labels are not at random the default estimates too little. Here each row counts with the probability that it
    belongs to the surest positives rather than to the surest negatives, the 60 % of the rows with the lowest scores.
    The estimate is the mean of these probabilities: it assumes that as many rows are positive as look positive. It is
    too large where few rows are positive and classes overlap. If more than 40 % look positive, some of the surest
    negatives are positives; the estimate is then at least the default. :func:`usmo.priors.scar_test` has the largest
    prior that labels at random allow.

    The interval is made as that of :class:`usmo.priors.Consensus`, and reaches up to 1.5 times the share that looks
    positive, with its sampling error: a third of the positives may look negative.
    ``classifier`` scores the rows for the default estimate only.

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
        It covers the default estimates, their sampling error, and positives that look negative, as told above.
    diagnostics_ : dict
        ``prior_unlabelled`` and ``interval_unlabelled``, estimate and interval of the share among the unlabelled rows;
        those of :class:`usmo.priors.Consensus`, and ``looks_positive``, the share that looks positive.
    identified_ : bool
        Whether the table determines the prior: the interval of the share among the unlabelled rows is at most 0.5 wide.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.
    """

    def _features(self, X: Any, labelled: Mask, weight: Array, repetition: int, groups: Index | None) -> Array:
        """The held-out score, and the probability with which a row looks positive."""
        score = super()._features(X, labelled, weight, repetition, groups)
        seed = int(np.random.SeedSequence([self._seed, repetition, 1]).generate_state(1)[0])
        keys = row_keys(X, seed)
        fold = division(labelled, weight, keys, self.folds, groups)
        return np.column_stack([score, looks_positive(X, labelled, weight, keys, fold, _TREES, seed)])

    def _scores(self, sample: Sample) -> Sample:
        return replace(sample, P=sample.P[:, 0], U=sample.U[:, 0])

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        value, diagnostics = super()._estimate(sample)
        share = float(np.average(sample.U[:, 1], weights=sample.w_u))
        few = share <= 1.0 - _BOTTOM
        return share if few else max(value, share), {**diagnostics, "looks_positive": share}

    def _interval(self, samples: list[Sample], value: float) -> tuple[float, float]:
        low, high = super()._interval(samples, value)
        share, n_u = self.diagnostics_["looks_positive"], samples[0].sizes[1]
        error = float(norm.ppf(0.5 + 0.5 * self.level)) * math.sqrt(share * (1.0 - share) / n_u)
        return low, max(high, (share + error) / _FOUND)

"""Rows that look positive, by class structure; and a prior for labels that are not at random.

With z a held-out score of P against U, the ends of the ranking are the surest positives and negatives:

    h(x)   log odds of P and the unlabelled rows with z above half of P, against the half of U with lowest z
    H      the rows with h > 0: they resemble the surest positives more than the surest negatives

If only obvious positives are labelled, z tells them from the other positives, and estimators that assume labels at
random take these for negatives. h does not: the other positives are in H too. The assumption instead is that at least
ρ = 0.7 of the unlabelled rows in H are positive. It fails where few rows are positive: H then has mostly negatives.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.ensemble import ExtraTreesClassifier

from usmo.core.arrays import Array, Index, Mask
from usmo.kernels.row_sampling import row_keys
from usmo.priors.samples import Sample
from usmo.priors.saturation import Consensus
from usmo.priors.scores import cross_fitted, default_features, division

POSITIVE = 0.7
"""ρ: the share of the unlabelled rows of H that is taken to be positive at least."""

_BOTTOM = 0.5
"""Share of U taken for the surest negatives."""

_LANDMARKS = 100
"""Landmarks of the radial features."""

_TREES = 8
"""Trees of each of up to twelve divisions of the estimator."""


def structure_scores(
    X: Any, labelled: Mask, weight: Array, keys: np.ndarray, fold: Index, trees: int, seed: int
) -> Array:
    """z and h of all rows by a logistic regression on radial features, and by extremely randomised trees.

    The shape is (classifiers, 2, rows). z and h are held out, h not wholly: z, which chooses the ends, has seen the
    labels of all rows. Scales and landmarks, which need no labels, come from all rows.
    """
    every = np.ones(len(labelled), dtype=bool)
    kinds: list[dict[str, Any]] = [
        {"features": default_features(X, every, weight, keys, _LANDMARKS)},
        {"classifier": ExtraTreesClassifier(trees, min_samples_leaf=3, random_state=seed)},
    ]
    found = []
    for own in kinds:
        z = cross_fitted(X, labelled, weight, keys, fold, **own)
        top, bottom = _ends(z, labelled)
        h = (
            cross_fitted(X, top, weight, keys, fold, used=top | bottom, **own)
            if bottom.any()
            else np.zeros(len(z))
        )
        found.append((z, h))
    return np.array(found)


def _ends(z: Array, labelled: Mask) -> tuple[Mask, Mask]:
    """The surest positives and the surest negatives; no negatives if all rows look alike. Weights do not count."""
    top = labelled | (z >= np.median(z[labelled]))
    bottom = ~top & (z <= np.quantile(z[~labelled], _BOTTOM))
    return top, bottom if bottom.any() else ~top


def on_one_scale(scores: Array) -> tuple[Array, Array]:
    """z and h: means over the classifiers, of which each has a standard deviation, or a mean of |h|, of 1."""
    z, h = scores.swapaxes(0, 1)
    z = z / np.maximum(z.std(axis=1, keepdims=True), 1e-12)
    h = h / np.maximum(np.abs(h).mean(axis=1, keepdims=True), 1e-12)
    return z.mean(axis=0), h.mean(axis=0)


class ClassStructure(Consensus):
    """The default estimate, but at least 70 % of the share of rows that look positive.

    For labels that are not at random: where the obvious positives are labelled, or those of one kind. The default then
    estimates too little. The assumption is that of the unlabelled rows that resemble the surest positives more than the
    surest negatives at least 70 % are positive. It fails where fewer than a fifth of the rows are positive: the
    estimate is then too large. :func:`usmo.priors.scar_test` has the largest prior that labels at random allow.

    The interval is that of :class:`usmo.priors.Consensus`, and reaches up to the share of rows that look positive, with
    its sampling error.
    Parameters as for :class:`usmo.priors.scores.ScorePrior`; ``classifier`` scores the rows for the default estimate.

    Attributes
    ----------
    diagnostics_ : dict
        Also ``looks_positive``, the share of the unlabelled rows that look positive.
    """

    def _features(self, X: Any, labelled: Mask, weight: Array, repetition: int, groups: Index | None) -> Array:
        """The held-out score, and h."""
        score = super()._features(X, labelled, weight, repetition, groups)
        seed = int(np.random.SeedSequence([self.random_state, repetition, 1]).generate_state(1)[0])
        keys = row_keys(X, seed)
        fold = division(labelled, weight, keys, self.folds, groups)
        _, h = on_one_scale(structure_scores(X, labelled, weight, keys, fold, _TREES, seed))
        return np.column_stack([score, h])

    def _scores(self, sample: Sample) -> Sample:
        return replace(sample, P=sample.P[:, 0], U=sample.U[:, 0])

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        value, diagnostics = super()._estimate(sample)
        share = float(np.average(sample.U[:, 1] > 0.0, weights=sample.w_u))
        return max(value, POSITIVE * share), {**diagnostics, "looks_positive": share}

    def _interval(self, samples: list[Sample], value: float) -> tuple[float, float]:
        low, high = super()._interval(samples, value)
        share, n_u = self.diagnostics_["looks_positive"], samples[0].sizes[1]
        error = float(norm.ppf(0.5 + 0.5 * self.level)) * math.sqrt(share * (1.0 - share) / n_u)
        return low, max(high, share + error)

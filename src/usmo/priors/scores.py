"""Held-out scores of P against U: the model that scores a row was not trained on it, nor on equal rows.

With groups, it was not trained on rows of the same group.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import has_fit_parameter

from usmo.core.arrays import Array, Index, Mask
from usmo.core.groups import equal_row_folds, group_folds
from usmo.kernels.row_sampling import row_keys
from usmo.priors.base import BootstrappedPrior, PriorEstimator

_LANDMARKS = 150
"""Most landmarks of the radial features, and so most columns of the logistic regression."""

_REPEATS, _REPEATED_ROWS = 12, 24_000
"""Divisions into folds, and rows of all divisions together, about. On six small tables the mean error of ``Consensus``
is 0.066 with one division, 0.055 with five and 0.052 with twelve."""

_WIDE = 1000
"""Columns from which the rows of a sparse table are used as they are. Distances between standardised rows of texts say
little: with 20 of 45 relevant papers known the estimate is 0.3 to 0.7 from radial features, 0.05 to 0.18 from the rows
themselves, and 0.01 is true."""

_SMALLEST = 1e-12
"""Eigenvalues of the kernel matrix of the landmarks below this share of the largest are left out."""


class ScorePrior(PriorEstimator):
    """Base class of the estimators that see the rows only through held-out scores of labelled against unlabelled.

    Equal rows share a fold, with groups the rows of each group. The estimate does not depend on the order of the rows;
    a row of weight two counts as two equal rows.

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
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **PriorEstimator._parameter_constraints,
        "classifier": [HasMethods(["fit", "decision_function"]), HasMethods(["fit", "predict_proba"]), None],
        "folds": [Interval(Integral, 2, None, closed="left")],
        "repeats": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        scenario: str = "case-control",
        classifier: Any = None,
        folds: int = 5,
        repeats: int | None = None,
        level: float = 0.9,
        random_state: int | None = 0,
    ) -> None:
        self.scenario = scenario
        self.classifier = classifier
        self.folds = folds
        self.repeats = repeats
        self.level = level
        self.random_state = random_state

    def _repetitions(self, rows: int) -> int:
        return self.repeats or min(max(_REPEATED_ROWS // rows, 1), _REPEATS)

    def _fold_count(self) -> int:
        return self.folds

    def _features(self, X: Any, labelled: Mask, weight: Array, repetition: int, groups: Index | None) -> Array:
        seed = np.random.SeedSequence([self._seed, repetition]).generate_state(1)[0]
        keys = row_keys(X, self._seed if repetition == 0 else int(seed))
        return held_out_scores(X, labelled, weight, keys, self.folds, self.classifier, groups)


class BootstrappedScorePrior(ScorePrior, BootstrappedPrior):
    """An estimator on scores with a bootstrap interval: :class:`ScorePrior` with the parameter ``n_bootstrap``."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **ScorePrior._parameter_constraints,
        **BootstrappedPrior._parameter_constraints,
    }

    def __init__(
        self,
        *,
        scenario: str = "case-control",
        classifier: Any = None,
        folds: int = 5,
        repeats: int | None = None,
        level: float = 0.9,
        n_bootstrap: int = 20,
        random_state: int | None = 0,
    ) -> None:
        super().__init__(
            scenario=scenario, classifier=classifier, folds=folds, repeats=repeats, level=level,
            random_state=random_state,
        )  # fmt: skip
        self.n_bootstrap = n_bootstrap


def held_out_scores(
    X: Any, labelled: np.ndarray, weight: Array, keys: np.ndarray, folds: int, classifier: Any = None,
    groups: Index | None = None,
) -> Array:  # fmt: skip
    """Decision value of each row by the classifier trained on the other folds, P and U with equal total weight."""
    fold = division(labelled, weight, keys, folds, groups)
    return cross_fitted(X, labelled, weight, keys, fold, classifier)


def division(labelled: np.ndarray, weight: Array, keys: np.ndarray, folds: int, groups: Index | None) -> Index:
    """The fold of each row; rows of one group share one, without groups equal rows."""
    if groups is None:
        return equal_row_folds(labelled, keys, folds)
    # in the order of the keys, so that every repetition has its own division
    fold, order = np.empty(len(keys), dtype=np.intp), np.lexsort((keys, ~labelled))
    fold[order] = group_folds(groups[order], labelled[order].astype(np.intp), weight[order], folds)
    return fold


def cross_fitted(
    X: Any, target: np.ndarray, weight: Array, keys: np.ndarray, fold: Index, classifier: Any = None,
    used: np.ndarray | None = None, features: Any = None,
) -> Array:  # fmt: skip
    """Decision value of each row by the classifier of ``target`` trained on the other folds.

    Both classes get the same total weight. ``used`` marks the rows that may be trained on; by default all. ``features``
    are those of the default classifier, if they are known.
    """
    used = np.ones(len(keys), dtype=bool) if used is None else used
    balanced = weight.copy()
    for mask in (target & used, ~target & used):
        balanced[mask] *= 0.5 * weight.sum() / weight[mask].sum()
    score = np.zeros(len(keys))
    for k in range(int(fold.max()) + 1):
        test = fold == k
        if not test.any():
            continue
        others, train = ~test, ~test & used
        if not (target[train].any() and (~target[train]).any()):
            others, train = np.ones(len(keys), dtype=bool), used
        if classifier is None:
            rows = default_features(X, others, weight, keys) if features is None else features
            model = LogisticRegression(C=1.0, max_iter=500)
        else:
            rows, model = X, clone(classifier)
        weights = {"sample_weight": balanced[train]} if has_fit_parameter(model, "sample_weight") else {}
        model.fit(rows[train], target[train], **weights)
        # products of matrices round equal rows differently by their place, and thresholds would part them
        _, first, place = np.unique(keys[test], return_index=True, return_inverse=True)
        score[test] = _decision_values(model, rows[test])[first][place]
    return score


def _decision_values(model: Any, X: Any) -> Array:
    """decision_function, else the log odds of predict_proba."""
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    probability = np.clip(model.predict_proba(X)[:, 1], 1e-3, 1.0 - 1e-3)
    return np.log(probability / (1.0 - probability))


def default_features(
    X: Any, train: np.ndarray, weight: Array, keys: np.ndarray, landmarks: int = _LANDMARKS
) -> Any:
    """The rows of a wide sparse table; else Nyström features of the rbf kernel on standardised columns.

    Scales and landmarks come from the training rows only.
    """
    if sparse.issparse(X) and X.shape[1] >= _WIDE:
        return X
    scaler = StandardScaler(with_mean=not sparse.issparse(X)).fit(X[train], sample_weight=weight[train])
    Z = scaler.transform(X)
    index = np.flatnonzero(train)
    _, first = np.unique(keys[index], return_index=True)
    centres = Z[index[first[:landmarks]]]
    gamma = 0.5 / X.shape[1]
    values, vectors = np.linalg.eigh(rbf_kernel(centres, gamma=gamma))
    kept = values > _SMALLEST * values[-1]
    return rbf_kernel(Z, centres, gamma=gamma) @ (vectors[:, kept] / np.sqrt(values[kept]))


def share_at_least(score: Array, weight: Array, thresholds: Array) -> Array:
    """For each threshold t, the weighted share of a sample with score ≥ t."""
    order = np.argsort(score)
    above = np.append(np.cumsum(weight[order][::-1])[::-1], 0.0)
    return above[np.searchsorted(score[order], thresholds, side="left")] / weight.sum()

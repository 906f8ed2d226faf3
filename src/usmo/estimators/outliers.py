"""PUOutlierDetector: outliers among unlabelled rows, from rows that are known to be inliers.

The known inliers are the labelled positives of a PU problem, and the unlabelled rows hold the share 1 - contamination
of inliers. f is high for inliers, so f is the score of scikit-learn's outlier detectors. Rows of a uniform background
are known negatives: without them f would only tell known from unlabelled inliers where there are few outliers.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, OutlierMixin, clone
from sklearn.ensemble import IsolationForest
from sklearn.utils import ClassifierTags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from usmo.core.arrays import Array, Index
from usmo.core.groups import group_codes
from usmo.core.targets import validate_labelled
from usmo.estimators.base import Storable
from usmo.estimators.linear import LinearPUSVC
from usmo.estimators.preparation import ACCEPTED, seed_of
from usmo.estimators.pusvc import PUSVC
from usmo.kernels.gamma import resolve_gamma
from usmo.kernels.kernel import FORESTS
from usmo.metrics import prior_threshold
from usmo.system.rollback import unchanged_on_failure

ASSUMED = 0.1
"""Contamination without known inliers and without a number: it cannot be estimated then."""

BACKGROUND_ROWS = 2_000
"""Background rows at most; a quarter of the unlabelled rows are as good as all (``python -m benchmarks.outliers``)."""


class PUOutlierDetector(Storable, OutlierMixin, MetaEstimatorMixin, BaseEstimator):
    """Detect outliers among unlabelled rows, from known inliers.

    The known inliers show what is normal, the unlabelled rows where outliers may lie. Two risks are added: that of the
    PU problem, and that of calling rows of a uniform background inliers. The first finds outliers that are frequent
    among the unlabelled rows, the second those that are far from every known inlier.

    The score is a decision function: give columns of one scale, for example by a ``StandardScaler``.

    Parameters
    ----------
    estimator : PUSVC or LinearPUSVC, default=None
        The classifier of inliers; None is ``PUSVC(lam=0.02)``. Its ``prior``, ``threshold`` and ``scenario`` are
        not used, ``eta`` only with ``background=0``.
    contamination : "estimate" or float in (0, 0.5], default="estimate"
        Share of outliers among the unlabelled rows. That share of them gets a negative decision value. "estimate"
        is at most 0.5, and tends to be too high if few inliers are known. Without known inliers it is 0.1.
    background : float in [0, 1), default=0.85
        Share of the risk of background rows: values drawn uniformly between the least and the greatest of each column.
        0 leaves them out, which sparse tables, linear and precomputed kernels need.
    random_state : int, RandomState instance or None, default=None
        Seed of the background and of the choice of inliers without labels; None gives the same results every time.

    Attributes
    ----------
    classifier_ : PUSVC or LinearPUSVC
        The fitted classifier, with its certificate.
    contamination_ : float
        The contamination used.
    offset_ : float
        ``decision_function`` is ``score_samples`` minus this.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

    Examples
    --------
    >>> import numpy as np
    >>> from usmo import PUOutlierDetector
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(190, 2)), rng.normal(5, 0.5, size=(10, 2))]
    >>> known = np.arange(200) < 30  # rows that are known to be inliers
    >>> detector = PUOutlierDetector(contamination=10 / 170).fit(X, known)
    >>> detector.predict(X)[190:]
    array([-1, -1, -1, -1, -1, -1, -1, -1, -1, -1])
    """

    classifier_: PUSVC | LinearPUSVC
    contamination_: float
    offset_: float
    n_features_in_: int

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "estimator": [PUSVC, LinearPUSVC, None],
        "contamination": [Interval(Real, 0, 0.5, closed="right"), StrOptions({"estimate"})],
        "background": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: PUSVC | LinearPUSVC | None = None,
        *,
        contamination: float | Literal["estimate"] = "estimate",
        background: float = 0.85,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.contamination = contamination
        self.background = background
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.background == 0
        tags.classifier_tags = ClassifierTags(
            multi_class=False
        )  # y marks inliers: it has two values, or -1, 0 and 1
        tags.input_tags.pairwise = getattr(self._base(), "kernel", None) == "precomputed"
        return tags

    def _base(self) -> Any:
        return PUSVC(lam=0.02) if self.estimator is None else self.estimator

    __metadata_request__fit = {"groups": True}  # noqa: RUF012 (as scikit-learn's splitters by groups)

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> PUOutlierDetector:
        """Fit the detector.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,), optional
            Two values: the greater marks known inliers, the other unlabelled rows. Or 1, 0 and -1 for known inliers,
            unlabelled rows and known outliers. Without y the half of the rows that
            :class:`sklearn.ensemble.IsolationForest` finds most normal count as known inliers.
        groups : array of shape (n_samples,), optional
            As for :meth:`usmo.PUSVC.fit`.
        """
        self._validate_params()
        with unchanged_on_failure(self):
            self._fit(X, y, groups)
        return self

    def _fit(self, X: Any, y: Any, groups: Any) -> None:
        model, contamination = clone(self._base()), self.contamination
        self._check_background(model)
        accepted = ACCEPTED if self.background == 0 else {**ACCEPTED, "accept_sparse": False}
        if y is None:
            X = validate_data(self, X, ensure_min_samples=2, **accepted)
            kinds, scenario = self._most_normal(X), "censored"
            contamination = ASSUMED if contamination == "estimate" else contamination
        else:
            X, y, rule = validate_labelled(self, X, y, **accepted)
            kinds, scenario = rule.kinds(y), "case-control"
        if contamination == "estimate":
            _check_counts(*(int(np.count_nonzero(kinds == kind)) for kind in (1, 0)))
        prior = "estimate" if contamination == "estimate" else 1.0 - contamination
        model.set_params(prior=prior, threshold=0.0, scenario=scenario)
        self._fit_classifier(model, X, kinds, group_codes(groups, X.shape[0]))
        sample = X if scenario == "censored" else X[kinds == 0]
        self.classifier_ = model
        self.contamination_ = min(0.5, 1.0 - model.prior_)
        self.offset_ = prior_threshold(model.decision_function(sample), 1.0 - self.contamination_)

    def _check_background(self, model: Any) -> None:
        kernel = getattr(model, "kernel", "linear")
        if self.background > 0 and kernel in ("linear", "precomputed"):
            raise ValueError(f"background must be 0 with kernel={kernel!r}, got {self.background:g}")

    def _most_normal(self, X: Any) -> np.ndarray:
        """1 for the half of the rows with the highest scores, 0 for the others."""
        score = IsolationForest(random_state=seed_of(self.random_state)).fit(X).score_samples(X)
        kinds = np.zeros(X.shape[0], dtype=np.int8)
        kinds[np.argsort(-score, kind="stable")[: X.shape[0] // 2]] = 1
        return kinds

    def _fit_classifier(self, model: Any, X: Any, kinds: np.ndarray, groups: Index | None) -> None:
        """Fit to the rows and to a background of known negatives. γ is that of the rows alone."""
        if self.background > 0:
            if model.kernel not in FORESTS:
                model.set_params(gamma=resolve_gamma(model.gamma, X, None))
            rng = np.random.default_rng(seed_of(self.random_state))
            count = min(BACKGROUND_ROWS, len(X))
            rows = rng.uniform(X.min(axis=0), X.max(axis=0), size=(count, X.shape[1]))
            X = np.concatenate([X, rows.astype(X.dtype)])
            kinds = np.concatenate([kinds, np.full(count, -1, dtype=np.int8)])
            model.set_params(eta=self.background)
            if groups is not None:  # each row of the background is its own group
                groups = np.concatenate([groups, groups.max() + 1 + np.arange(count)])
        model.fit(X, kinds, groups=groups)

    def fit_predict(self, X: Any, y: Any = None, **parameters: Any) -> np.ndarray:
        """Fit, and return 1 for inliers and -1 for outliers among the same rows."""
        return self.fit(X, y, **parameters).predict(X)

    def score_samples(self, X: Any) -> Array:
        """The higher, the more normal is a row."""
        check_is_fitted(self)
        return self.classifier_.decision_function(validate_data(self, X, reset=False, **ACCEPTED))

    def decision_function(self, X: Any) -> Array:
        """``score_samples`` minus ``offset_``: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """1 for inliers, -1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1)


def _check_counts(inliers: int, unlabelled: int) -> None:
    """Refuse to estimate the contamination from a single row of a kind."""
    if min(inliers, unlabelled) < 2:
        raise ValueError(
            "contamination='estimate' needs at least 2 known inliers and 2 unlabelled rows, got "
            f"{inliers} and {unlabelled}; give contamination as a number in (0, 0.5]"
        )

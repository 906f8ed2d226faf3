"""What the estimators share: ``fit`` with callbacks, predictions, files, parameter constraints."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from usmo.core.arrays import Array
from usmo.estimators.adaptation import Reference, adapted
from usmo.estimators.calibration import Calibration
from usmo.estimators.callbacks import CallbackSupportMixin, with_callbacks
from usmo.estimators.expansion import expansion_values
from usmo.estimators.preparation import ACCEPTED
from usmo.files import save
from usmo.kernels.kernel import FIXED
from usmo.system.rollback import unchanged_on_failure

if TYPE_CHECKING:
    from typing_extensions import Self  # type checkers know it without an installation


RISK_CONSTRAINTS: dict[str, list[Any]] = {
    "class_weight": [StrOptions({"balanced"}), dict, None],
    "eta": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
    "propensity": [StrOptions({"estimate"}), None],
    "propensity_columns": ["array-like", str, None],
}
"""Parameters of the estimators that minimise the risks of :mod:`usmo.core.labels`."""


class Storable:
    """A model with the method ``save``."""

    def save(self, path: Any, **options: Any) -> None:
        """Write the fitted model to a file that holds no code; :func:`usmo.load` reads it (:mod:`usmo.files`)."""
        save(self, path, **options)


def take_columns(model: Any, source: Any) -> None:
    """Give a model the number and the names of the columns that another was fitted to."""
    model.__dict__.pop("feature_names_in_", None)
    model.__dict__.update({name: value for name, value in vars(source).items() if name.endswith("_in_")})


class PUClassifier(Storable, CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """A classifier with the parameters below. Subclasses implement ``_fit`` and ``decision_function``."""

    classes_: np.ndarray
    prior_: float
    intercept_: Array
    threshold_: float
    calibration_: Calibration
    reference_: Reference
    drift_: float
    n_features_in_: int

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "prior": [Interval(Real, 0, 1, closed="neither"), StrOptions({"estimate"})],
        "lam": [Interval(Real, 0, None, closed="neither")],
        "threshold": [Interval(Real, None, None, closed="neither"), StrOptions({"prior"})],
        "scenario": [StrOptions({"case-control", "censored"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        # accuracy on fully labelled data is not what is learnt: 0 means unlabelled here, not negative
        tags.classifier_tags.poor_score = True
        return tags

    __metadata_request__fit = {"groups": True}  # noqa: RUF012 (as scikit-learn's splitters by groups)

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, propensity: Any = None, groups: Any = None
    ) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows; the square kernel matrix if the kernel is precomputed.
        y : array of shape (n_samples,)
            Two values: the greater marks labelled positives, the other unlabelled rows; of two texts their words decide
            ("fraud", "normal"). Or -1, 0 and 1 for negative, unlabelled and positive rows. Or missing values (NaN,
            None) for unlabelled rows, with one value for positives, or two for negatives and positives (the greater).
        sample_weight : array of shape (n_samples,), optional
            Weight of each row: a row of weight two counts as two equal rows.
        propensity : float or array of shape (n_samples,), optional
            The probability that a positive row is labelled, if it is not the same for all (``scenario="censored"``).
            Values of rows that are not labelled positive are ignored. It implies the prior.
        groups : array of shape (n_samples,), optional
            The group of each row, such as a patient or a family: rows of one group are never on both sides of a
            division into folds, where λ is chosen or the prior estimated. The groups are not learnt from.
        """
        self._validate_params()
        context = None
        if hasattr(self, "_skl_callbacks"):
            context = self._init_callback_context(max_subtasks=None)
            context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        with unchanged_on_failure(self):
            self._fit(X, y, sample_weight, propensity, groups, context)
        if context is not None:
            context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, propensity: Any, groups: Any, context: Any) -> None:
        raise NotImplementedError

    def decision_function(self, X: Any) -> Array:
        """Decision values f(x). Rows with f > 0 are predicted positive; sorting by f ranks the rows."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row: ``classes_[1]``, the value of positives, where f > 0."""
        check_is_fitted(self)
        return self.classes_[(self.decision_function(X) > 0).astype(np.intp)]

    def predict_proba(self, X: Any) -> Array:
        """The probability of either class for each row; column 1 is that of a positive.

        Calibrated without negatives (:mod:`usmo.estimators.calibration`), so it is only as good as ``prior_``.
        """
        check_is_fitted(self, "calibration_")
        chance = self.calibration_(self.decision_function(X))
        return np.column_stack([1.0 - chance, chance])

    def adapt(self, X: Any) -> Self:
        """A copy of the fitted model for a table in which the same classes have another mixture.

        The prior is estimated on the rows of X, without labels; threshold and probabilities follow. The order of the
        rows stays the same, and the model itself is not changed. It assumes that positives, and negatives, look as in
        training: only their shares differ. ``drift_`` of the copy is the distance of the decision values of X from the
        nearest such mixture (total variation, 0 to 1). Above 0.1, if chance does not explain it, a warning says that
        the table does not fit.

        With ``threshold="prior"`` the share ``prior_`` of X is called positive. The probability at that threshold is
        near ½ only: it follows from training by the change of the prior. A row near the threshold may be called
        positive with a probability below ½, or not called positive with one above.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows of the table, some hundred at least.

        Returns
        -------
        Self
            The copy, with ``prior_``, ``prior_interval_``, ``threshold_`` and ``drift_`` of X. The interval has the
            sampling errors of X and of training, and the doubt about the prior of training.
        """
        check_is_fitted(self, "calibration_")
        return adapted(self, np.asarray(self.decision_function(X)))


class KernelPUClassifier(PUClassifier):
    """A classifier with a kernel, whose f is an expansion over rows of the table."""

    support_: np.ndarray
    support_vectors_: Any
    dual_coef_: Array

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **PUClassifier._parameter_constraints,
        "kernel": [StrOptions({*FIXED}), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def decision_function(self, X: Any) -> Array:
        """Decision values f(x). Rows with f > 0 are predicted positive; sorting by f ranks the rows."""
        check_is_fitted(self)
        return expansion_values(self, validate_data(self, X, reset=False, **ACCEPTED))

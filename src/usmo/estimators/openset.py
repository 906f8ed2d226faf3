"""OpenSetPUSVC: several known classes, and unlabelled rows that may belong to none of them.

A class k against the unlabelled rows is a PU problem with its own prior π_k: rows of k are labelled positives, and the
other known classes take no part. The problems share the table, and so its kernel rows. Each problem yields p_k(x), the
probability of k. A row has one class or none, so what they leave of 1 is the probability of none:

    P(k | x) = p_k,      P(none | x) = 1 - Σ_j p_j

The p_j are estimates and may leave nothing. P(none | x) is therefore at least a share of Π_j (1 - p_j), and all are
divided by their sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from usmo.core.arrays import Array
from usmo.core.groups import group_codes
from usmo.core.table import Table, checked_rows
from usmo.core.targets import missing
from usmo.estimators.base import Storable
from usmo.estimators.fit_warnings import warn_if_short
from usmo.estimators.linear import LinearPUSVC
from usmo.estimators.preparation import ACCEPTED, check_parameters, choose, specification
from usmo.estimators.pusvc import PUSVC
from usmo.estimators.training import set_fitted, train
from usmo.fitting.classes import fit_classes
from usmo.kernels.kernel import FORESTS
from usmo.system.rollback import unchanged_on_failure

_LEAST = 0.2
"""Share of Π (1 - p_k) that the probability of "none of these" has at least. On digits, MNIST and ten made-up classes
the log loss is at most that with 0.05, and with estimated priors up to a tenth smaller. With 1 many rows between two
known classes that overlap count as rows of none."""

UNLABELLED = -1
"""The number that marks unlabelled rows in y, as in :mod:`sklearn.semi_supervised`."""


class OpenSetPUSVC(Storable, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Classify rows into known classes or "none of these", from labelled rows of each class and unlabelled rows.

    The unlabelled rows hold the known classes and possibly others, of which no example is labelled. A classifier that
    has only seen the known classes must put every row into one of them. This one compares each class with the
    unlabelled rows, and can therefore tell what belongs to none.

    Parameters
    ----------
    estimator : PUSVC or LinearPUSVC, default=None
        The classifier of each class; None is ``PUSVC(lam=1e-3)``. Its ``prior`` is not used. It must have
        ``scenario="case-control"``.
    priors : "estimate", float or dict of class to float, default="estimate"
        Share of each class among the unlabelled rows. A number holds for every class; classes that a dict leaves out
        are estimated.
    none_label : int, float or str, default=None
        What ``predict`` returns for a row of no known class; None is -1 for classes that are numbers, "none" for text.

    Attributes
    ----------
    classes_ : ndarray
        The known classes in ascending order, then the label of "none of these".
    estimators_ : tuple of PUSVC or LinearPUSVC
        The fitted classifier of each known class.
    priors_ : ndarray of shape (n_classes,)
        The prior of each known class.
    none_prior_ : float
        The share of the unlabelled rows that is left for "none of these", at least 0.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from usmo import OpenSetPUSVC
    >>> X, digit = load_digits(return_X_y=True)
    >>> labelled = np.random.default_rng(0).permutation(np.flatnonzero(digit < 3))[:120]  # at random
    >>> known = np.full(len(digit), -1)  # unlabelled
    >>> known[labelled] = digit[labelled]
    >>> model = OpenSetPUSVC().fit(X / 16, known)
    >>> model.classes_
    array([ 0,  1,  2, -1])
    """

    classes_: np.ndarray
    estimators_: tuple[PUSVC | LinearPUSVC, ...]
    priors_: Array
    none_prior_: float
    n_features_in_: int

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "estimator": [PUSVC, LinearPUSVC, None],
        "priors": [Real, str, Mapping],
        "none_label": [Integral, Real, str, None],
    }

    def __init__(
        self,
        estimator: PUSVC | LinearPUSVC | None = None,
        *,
        priors: str | float | Mapping[Any, float] = "estimate",
        none_label: float | str | None = None,
    ) -> None:
        self.estimator = estimator
        self.priors = priors
        self.none_label = none_label

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags

    __metadata_request__fit = {"groups": True}  # noqa: RUF012 (as scikit-learn's splitters by groups)

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> OpenSetPUSVC:
        """Fit one classifier for each known class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            The class of each labelled row, as a number or a text; missing values (NaN, None) or the number -1 for
            unlabelled rows.
        groups : array of shape (n_samples,), optional
            As for :meth:`usmo.PUSVC.fit`.
        """
        self._validate_params()
        with unchanged_on_failure(self):
            self._fit(X, y, groups)
        return self

    def _fit(self, X: Any, y: Any, groups: Any) -> None:
        base = PUSVC(lam=1e-3) if self.estimator is None else self.estimator
        if base.scenario != "case-control" or getattr(base, "kernel", None) == "precomputed":
            raise ValueError(
                "estimator must have scenario='case-control' and a kernel evaluated on rows, got "
                f"scenario={base.scenario!r}, kernel={getattr(base, 'kernel', 'linear')!r}"
            )
        X = validate_data(self, X, **ACCEPTED)
        codes, classes = _class_codes(column_or_1d(y, warn=True))
        check_consistent_length(X, codes)
        priors, none = _checked_priors(self.priors, classes), self._none_label(classes)
        models = [clone(base).set_params(prior=prior) for prior in priors]
        for model in models:
            check_parameters(model)
            model.n_features_in_ = X.shape[1]  # without names: the models predict arrays
        everything, group = checked_rows(X, square=False), group_codes(groups, X.shape[0])
        unlabelled, names = np.flatnonzero(codes < 0), np.array([False, True])
        _fit_models(
            models,
            classes,
            [
                Table(everything, names, np.flatnonzero(codes == k), unlabelled, None, groups=group)
                for k in range(len(models))
            ],
        )
        self.estimators_ = tuple(models)
        self.classes_ = np.append(classes, none)
        self.priors_ = np.array([model.prior_ for model in models])
        self.none_prior_ = max(0.0, 1.0 - float(self.priors_.sum()))

    def _none_label(self, classes: np.ndarray) -> Any:
        text = classes.dtype.kind == "U"
        label = ("none" if text else UNLABELLED) if self.none_label is None else self.none_label
        if isinstance(label, str) != text:
            kind = "a text" if text else "a number"
            raise ValueError(f"none_label must be {kind} like the classes in y, got {label!r}")
        if not text and not np.isfinite(label):
            raise ValueError(f"none_label must be a finite number, got {label!r}")
        if label in classes.tolist():
            raise ValueError(f"none_label must not be one of the classes in y, got {label!r}")
        return label

    def decision_function(self, X: Any) -> Array:
        """f of each known class, one column per class; above 0 where the class alone would be predicted."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **ACCEPTED)
        return np.column_stack([model.decision_function(X) for model in self.estimators_])

    def predict_proba(self, X: Any) -> Array:
        """The probability of each known class, and of none of them in the last column."""
        f = self.decision_function(X)
        own = [model.calibration_(f[:, k]) for k, model in enumerate(self.estimators_)]
        p = np.column_stack(own)
        none = np.maximum(1.0 - p.sum(axis=1), _LEAST * np.prod(1.0 - p, axis=1))
        chance = np.column_stack([p, none])
        return chance / chance.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """The most likely known class of each row, or ``none_label``."""
        chance = self.predict_proba(X)
        return self.classes_[chance.argmax(axis=1)]


def _fit_models(models: list[Any], classes: np.ndarray, tables: list[Table]) -> None:
    """Fit the classifier of each class: with one cache of kernel rows for all, or one after the other."""
    specs = [specification(model, table) for model, table in zip(models, tables, strict=True)]
    choices = [
        choose(
            t, s, m.prior, m.lam, f"give priors={{{k!r}: a number in (0, 1)}}, or label more rows of this class"
        )
        for m, t, s, k in zip(models, tables, specs, classes.tolist(), strict=True)
    ]
    if not _shares_rows(models[0]):
        for model, table, spec, choice in zip(models, tables, specs, choices, strict=True):
            train(model, table, spec, choice)
        return
    problems = [t.problem(c.prior, c.lam, s.risk) for t, s, c in zip(tables, specs, choices, strict=True)]
    fits = fit_classes(tables[0], problems, specs[0])
    for model, table, spec, choice, fit in zip(models, tables, specs, choices, fits, strict=True):
        warn_if_short(fit.solution.status, fit.certificate, model.tol)
        set_fitted(model, table, spec, choice, fit)


def _shares_rows(model: Any) -> bool:
    """Whether the kernel depends on the rows alone, and neither another solver nor a limit is asked for."""
    parameters = model.get_params(deep=False)
    given = {name: parameters.get(name) for name in ("approximation", "max_time", "checkpoint")}
    return (
        parameters.get("kernel") not in FORESTS
        and parameters["solver"] in ("auto", "blocks")
        and parameters["max_iter"] == -1
        and all(value is None for value in given.values())
    )


def _class_codes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The number of each row's class among the sorted classes, -1 for unlabelled rows, and the classes."""
    known = ~missing(y)
    if y.dtype.kind in "iuf":
        known &= y != UNLABELLED
    elif y.dtype.kind == "O":
        known &= np.array([not (isinstance(value, Real) and value == UNLABELLED) for value in y], dtype=bool)
    values = np.array(y[known].tolist()) if y.dtype.kind == "O" else y[known]
    texts = sum(isinstance(value, str) for value in y[known].tolist())
    if values.dtype.kind not in "iufU" or 0 < texts < len(values):
        raise ValueError(
            "y must hold classes that are all numbers or all texts, NaN, None or -1 for unlabelled rows"
        )
    if values.dtype.kind == "f" and np.all(values == np.round(values)) and np.all(np.abs(values) < 2.0**53):
        values = values.astype(np.int64)  # integers beside NaN
    classes, codes = np.unique(values, return_inverse=True)
    if len(classes) == 0 or known.all():
        what = (
            "at least one labelled class" if len(classes) == 0 else "unlabelled rows beside the labelled classes"
        )
        raise ValueError(f"y must hold {what}: the class of a labelled row, NaN, None or -1 for an unlabelled one")
    result = np.full(len(y), -1)
    result[known] = codes
    return result, classes


def _checked_priors(priors: Any, classes: np.ndarray) -> list[Any]:
    """The prior of each class, or "estimate"."""
    if isinstance(priors, Mapping):
        names = classes.tolist()
        for name in priors:
            if name not in names:
                raise ValueError(f"priors must name classes of y, got {name!r}; y has {names[:10]}")
        values = [priors.get(name, "estimate") for name in names]
    else:
        values = [priors] * len(classes)
    for value in values:
        if not (value == "estimate" if isinstance(value, str) else 0.0 < value < 1.0):
            raise ValueError(f"priors must be 'estimate' or lie in (0, 1), got {value!r}")
    given = sum(float(value) for value in values if not isinstance(value, str))
    if given > 1.0:
        raise ValueError(f"priors must sum to at most 1, got {given:g}")
    return values

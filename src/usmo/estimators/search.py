"""PUSVCCV: kernel, λ and γ chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from usmo.core.arrays import Array
from usmo.estimators.base import Storable, take_columns
from usmo.estimators.linear import LinearPUSVC
from usmo.estimators.preparation import Choices, prepare_choices, prepare_table, seed_of, specification
from usmo.estimators.pusvc import PUSVC
from usmo.estimators.training import train
from usmo.estimators.types import Rule
from usmo.fitting.default_lam import default_lam
from usmo.fitting.folds import FOLDS
from usmo.fitting.kernel_choice import KernelChoice, choose_kernel
from usmo.fitting.select import LAMS, Selection, select
from usmo.fitting.specification import Specification
from usmo.system.rollback import unchanged_on_failure


class PUSVCCV(Storable, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Choose a kernel, λ and γ by held-out rows, then fit to all rows.

    Kernels are compared by how far held-out labelled positives rank above held-out unlabelled rows
    (:mod:`usmo.fitting.kernel_choice`), each with its default λ. λ and γ are chosen by the PU risk of held-out rows.

    Parameters
    ----------
    estimator : PUSVC or LinearPUSVC, default=None
        The classifier; None is ``PUSVC()``. Its ``lam`` is not used.
    kernels : sequence of str, default=None
        Kernels to choose from, such as ``["forest+rbf", "forest", "rbf"]``; the first is kept unless another is clearly
        better. None is the kernel of the estimator.
    lams : sequence of float or "auto", default=None
        Values of λ; None is 0.1, 0.02, 0.005, 0.001, 0.0002. "auto" is the default λ of the kernel.
    gammas : sequence of float, default=None
        Factors of the γ that the estimator would use; None is that γ alone.
    folds : int, default=3
        Number of folds, each with its share of labelled and unlabelled rows. Equal rows share a fold, or with
        ``groups`` the rows of each group.
    rule : {"one-se", "min"}, default="one-se"
        The largest λ within one standard error of the smallest risk, or the λ of the smallest risk.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds; None gives the same folds every time.

    Attributes
    ----------
    best_estimator_ : the fitted classifier
    best_kernel_ : str
    best_lam_, best_gamma_ : float
    kernel_choice_ : KernelChoice
        The measures of the kernels; only with ``kernels``.
    cv_results_ : dict of arrays
        ``lam``, ``gamma``, ``mean_risk``, ``std_error`` for every pair tried; not with ``lams="auto"``.
    selection_ : Selection
        The same with the choice; not with ``lams="auto"``.
    classes_, prior_, n_features_in_, feature_names_in_ : as in the classifier

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from usmo import PUSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> known = y.copy()
    >>> known[::2] = 0
    >>> search = PUSVCCV(gammas=[0.3, 1.0]).fit((X - X.mean(0)) / X.std(0), known)
    >>> bool(1e-4 <= search.best_lam_ <= 0.1)
    True
    """

    best_estimator_: PUSVC | LinearPUSVC
    best_kernel_: str
    best_lam_: float
    best_gamma_: float
    cv_results_: dict[str, Array]
    kernel_choice_: KernelChoice
    selection_: Selection
    classes_: np.ndarray
    prior_: float

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "estimator": [PUSVC, LinearPUSVC, None],
        "kernels": ["array-like", None],
        "lams": ["array-like", StrOptions({"auto"}), None],
        "gammas": ["array-like", None],
        "folds": [Interval(Integral, 2, None, closed="left")],
        "rule": [StrOptions({"one-se", "min"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: PUSVC | LinearPUSVC | None = None,
        *,
        kernels: Sequence[str] | None = None,
        lams: Sequence[float] | Literal["auto"] | None = None,
        gammas: Sequence[float] | None = None,
        folds: int = FOLDS,
        rule: Rule = "one-se",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.kernels = kernels
        self.lams = lams
        self.gammas = gammas
        self.folds = folds
        self.rule = rule
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self._base().__sklearn_tags__()
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags

    def _base(self) -> Any:
        return PUSVC() if self.estimator is None else self.estimator

    __metadata_request__fit = {"groups": True}  # noqa: RUF012 (as scikit-learn's splitters by groups)

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, propensity: Any = None, groups: Any = None
    ) -> PUSVCCV:
        """Choose kernel, λ and γ, then fit to all rows. Arguments as for :meth:`usmo.PUSVC.fit`."""
        self._validate_params()
        with unchanged_on_failure(self):
            self._fit(X, y, sample_weight, propensity, groups)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, propensity: Any, groups: Any) -> None:
        lams = self._lams()
        base = clone(self._base()).set_params(lam="auto" if lams is None else lams[0])
        kernels = self._kernels(base)
        base._validate_params()
        if getattr(base, "approximation", None) is not None:
            raise ValueError(f"PUSVCCV fits the exact kernel; got approximation={base.approximation!r}")
        table = prepare_table(base, X, y, sample_weight, propensity, groups)
        seed = seed_of(self.random_state)
        table, given = prepare_choices(base, table, specification(base, table), base.lam)
        for name in ("kernel_choice_", "selection_", "cv_results_"):
            self.__dict__.pop(name, None)
        if kernels is not None:
            specs = [specification(clone(base).set_params(kernel=kernel), table) for kernel in kernels]
            self.kernel_choice_ = choose_kernel(table, specs, given.prior, folds=self.folds, seed=seed)
            base.set_params(kernel=self.kernel_choice_.kernel)
        spec = specification(base, table)
        own = default_lam(table, spec)
        choices = replace(given, lam=own)
        gammas = self._gammas(base, spec)
        if lams is not None or gammas is not None:
            selection = select(
                table, spec, given.prior, gammas, lams=[own] if lams is None else lams, folds=self.folds,
                rule=self.rule, seed=seed,
            )  # fmt: skip
            choices = replace(given, lam=selection.lam, selection=selection)
            base.set_params(lam=selection.lam)
            if gammas is not None:
                base.set_params(gamma=selection.gamma)
                spec = spec.with_gamma(selection.gamma)
            self.selection_, self.cv_results_ = selection, selection.results
        train(base, table, spec, choices)
        self._take_over(base, spec, choices)

    def _take_over(self, best: Any, spec: Specification, choices: Choices) -> None:
        """Set the fitted attributes from those of the chosen classifier."""
        self.best_estimator_ = best
        self.best_kernel_, self.best_lam_ = spec.kernel_name, choices.lam
        self.best_gamma_ = 1.0 if spec.kernel is None else spec.kernel.gamma
        self.classes_, self.prior_ = best.classes_, best.prior_
        take_columns(self, best)

    def _lams(self) -> list[float] | None:
        """The λ to try, None for the default of the kernel."""
        if isinstance(self.lams, str):
            return None
        return _positive("lams", LAMS if self.lams is None else self.lams)

    def _kernels(self, base: Any) -> list[str] | None:
        """The kernels to choose from, each accepted by the estimator; None for its own."""
        if self.kernels is None:
            return None
        if "kernel" not in base.get_params(deep=False):
            raise ValueError(f"kernels needs an estimator with a kernel, got {type(base).__name__}")
        kernels = list(self.kernels) if not isinstance(self.kernels, str) else []
        if not kernels or not all(isinstance(kernel, str) and kernel != "precomputed" for kernel in kernels):
            raise ValueError(f"kernels must be a list of names of kernels of rows, got {self.kernels!r}")
        for kernel in reversed(kernels):
            base.set_params(kernel=kernel)._validate_params()
        return kernels

    def _gammas(self, base: Any, spec: Specification) -> list[float] | None:
        """The γ to try, None for the γ of the specification."""
        if self.gammas is None:
            return None
        if spec.kernel is None:
            raise ValueError(f"gammas needs an estimator with a gamma, got {type(base).__name__}")
        return [factor * spec.kernel.gamma for factor in _positive("gammas", self.gammas)]

    @property
    def scenario(self) -> str:
        return str(self._base().scenario)

    def decision_function(self, X: Any) -> Array:
        """f(x) of the chosen classifier."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def predict_proba(self, X: Any) -> Array:
        """The probability of either class for each row; column 1 is that of a positive."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    def adapt(self, X: Any) -> PUSVC | LinearPUSVC:
        """A copy of the chosen classifier for a table in which the same classes have another mixture.

        See :meth:`usmo.PUSVC.adapt`. The search itself is not changed.
        """
        check_is_fitted(self)
        return self.best_estimator_.adapt(X)


def _positive(name: str, given: Sequence[float]) -> list[float]:
    """The numbers of a parameter, all positive and finite, one at least."""
    values = np.asarray(given)
    if values.ndim != 1 or values.dtype.kind not in "iuf" or not len(values) or not (values > 0).all():
        raise ValueError(f"{name} must be positive numbers, got {given!r}")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite numbers, got {given!r}")
    return [float(value) for value in values]

"""PropensityModel: the probability that a positive is labelled, estimated from labelled and unlabelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from usmo.core.arrays import Array
from usmo.estimators.base import Storable, take_columns
from usmo.estimators.linear import LinearPUSVC
from usmo.estimators.preparation import (
    ACCEPTED,
    choose,
    prepare_table,
    propensity_columns,
    specification,
)  # fmt: skip
from usmo.estimators.pusvc import PUSVC
from usmo.estimators.soft import fit_soft
from usmo.estimators.types import Prior
from usmo.fitting.propensity import Propensity, column_values, estimate_propensity
from usmo.kernels.row_sampling import take_rows
from usmo.system.rollback import unchanged_on_failure

if TYPE_CHECKING:
    from typing_extensions import Self


class PropensityModel(Storable, BaseEstimator):
    """Estimator of e(x) = P(labelled | positive, x), for labels that were not given at random.

    One sample was drawn, and a positive row x of it was labelled with probability e(x) (``scenario="censored"``). The
    model assumes that e is a logistic function of chosen columns, or, without columns, an increasing logistic function
    of the decision value: obvious positives are labelled more often. It alternates with a classifier (SAR-EM), whose
    fits are convex and certified (:mod:`usmo.fitting.propensity`).

    P and U alone do not determine e: any e(x) of at least P(labelled | x) fits them, together with
    P(positive | x) = P(labelled | x) / e(x). Three assumptions determine it. The level comes from the prior.
    P(positive | x) is a logistic function of the classifier and of the chosen columns. And e is constant where the
    labels give no substantial evidence against it, that is, a ratio of evidences below √10. An e of 0, as where a group
    of positives is never labelled, cannot be seen.

    Parameters
    ----------
    prior : float or "estimate", default="estimate"
        The share of positives among all rows. "estimate" uses :class:`usmo.priors.Consensus`, which assumes labels at
        random; a prior from elsewhere is better. An estimate is given a standard error of 0.5, so that a wrong one is
        not taken for labels that are not at random. The level of e is then uncertain, the ratios of its values less so.
    columns : sequence of int or str, default=None
        Numbers or names of the columns that e depends on; None for the decision value.
    estimator : PUSVC or LinearPUSVC, default=None
        The classifier to alternate with; None is ``PUSVC()``. Its ``prior``, ``scenario`` and ``propensity`` are not
        used.
    max_iter : int, default=10
        Most rounds after the first.
    tol : float, default=0.1
        Rise of the log evidence below which the rounds end.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and samples. None gives the same results every time.

    Attributes
    ----------
    propensity_ : ndarray of shape (n_labelled,)
        e of the labelled rows, in the order of the table. Without columns, from decision values of fits that did not
        see the row.
    propensity_model_ : Propensity
        The function, the spread τ of its shrinkage, and the log evidence after each round.
    prior_ : float
        The prior used.
    classifier_ : PUSVC or LinearPUSVC
        The classifier fitted to the soft labels of the last round.
    classes_ : ndarray of shape (2,)
        The value of unlabelled rows, and that of labelled positives.
    n_iter_ : int
        Rounds that raised the evidence.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

    References
    ----------
    J. Bekker, P. Robberechts, J. Davis. Beyond the selected completely at random assumption for learning from positive
    and unlabeled data. ECML PKDD 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from usmo import PropensityModel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1500, 2))
    >>> positive = X[:, 0] > 0.5
    >>> labelled = positive & (rng.random(1500) < 1 / (1 + np.exp(-2 * X[:, 1])))
    >>> model = PropensityModel(prior=positive.mean(), columns=[1]).fit(X, labelled)
    >>> e = model.predict(X)
    >>> bool(e[X[:, 1] > 1].mean() > 2 * e[X[:, 1] < -1].mean())
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "prior": [Interval(Real, 0, 1, closed="neither"), StrOptions({"estimate"})],
        "columns": ["array-like", str, None],
        "estimator": [PUSVC, LinearPUSVC, None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        prior: Prior = "estimate",
        *,
        columns: Sequence[int | str] | None = None,
        estimator: PUSVC | LinearPUSVC | None = None,
        max_iter: int = 10,
        tol: float = 0.1,
        random_state: Any = None,
    ) -> None:
        self.prior = prior
        self.columns = columns
        self.estimator = estimator
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    __metadata_request__fit = {"groups": True}  # noqa: RUF012 (as scikit-learn's splitters by groups)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Estimate the propensity; X, y, sample_weight and groups as for :meth:`usmo.PUSVC.fit`."""
        self._validate_params()
        with unchanged_on_failure(self):
            self._fit(X, y, sample_weight, groups)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        base = PUSVC() if self.estimator is None else clone(self.estimator)
        base.set_params(
            prior=self.prior, scenario="censored", propensity="estimate", propensity_columns=self.columns,
            random_state=self.random_state,
        )  # fmt: skip
        table = prepare_table(base, X, y, sample_weight, groups=groups)
        spec = specification(base, table)
        given = choose(table, spec, self.prior, "auto" if base.lam == "cv" else base.lam)
        columns = propensity_columns(self.columns, base)
        found = estimate_propensity(
            table, spec, given.prior, given.lam, columns, prior_error=given.prior_error, max_iter=self.max_iter,
            tol=self.tol,
        )  # fmt: skip
        soft = base.set_params(lam=given.lam)
        self.classifier_ = fit_soft(soft, take_rows(table.X, found.rows), found.q, sample_weight=found.weight)
        take_columns(self, base)
        self.propensity_, self.propensity_model_ = found.labelled, found.propensity
        self.prior_, self.classes_ = given.prior, table.classes
        self.n_iter_ = len(found.propensity.evidence)

    def predict(self, X: Any) -> Array:
        """e(x): the probability that a positive with the values of each row is labelled.

        Without columns it comes from ``classifier_``, which has seen the training rows: take ``propensity_`` for these.
        """
        check_is_fitted(self)
        model: Propensity = self.propensity_model_
        X = validate_data(self, X, reset=False, **ACCEPTED)
        if len(model.columns):
            return model(column_values(X, np.arange(X.shape[0]), model.columns))
        f = self.classifier_.decision_function(X) + self.classifier_.threshold_
        return model(f)

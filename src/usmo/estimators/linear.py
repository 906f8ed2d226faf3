"""LinearPUSVC: parameters, validation and fitted attributes of the linear model."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from usmo.core.arrays import Array
from usmo.core.certificate import Certificate
from usmo.core.solution import DualStart, PassRecord
from usmo.core.table import Table
from usmo.estimators.base import RISK_CONSTRAINTS, PUClassifier
from usmo.estimators.preparation import ACCEPTED, Choices, prepare_choices, prepare_table, specification
from usmo.estimators.training import previous_sigma, train
from usmo.estimators.types import (
    ClassWeight,
    Eta,
    Lam,
    LinearSolver,
    Prior,
    PropensityChoice,
    Scenario,
    Threshold,
)
from usmo.fitting.newton import Start
from usmo.fitting.specification import Specification
from usmo.kernels.row_blocks import Blocks, PartFeatures


class LinearPUSVC(PUClassifier):
    """Linear classifier from labelled positives and unlabelled rows, for millions of rows.

    The same problem as ``PUSVC(kernel="linear")``, solved to a certified optimum in a few passes over the rows.
    The table may be an array, a CSR matrix, a memory map or a directory of parts
    (:class:`usmo.features.PartFeatures`). A large table is never copied whole: memory beside it is a handful of
    numbers per row, and the eighth of the rows nearest the thresholds.

    Parameters
    ----------
    prior : float or "estimate", default="estimate"
        π, the share of positives: among the unlabelled rows if ``scenario="case-control"``, among all rows if
        ``scenario="censored"``. "estimate" uses :class:`usmo.priors.Consensus`, on a random sample of at most 20,000
        labelled and 20,000 unlabelled rows.
    lam : float, "auto" or "cv", default="auto"
        Regularisation λ. "auto" is 0.01. "cv" chooses it by the PU risk of held-out rows
        (:mod:`usmo.fitting.select`). The columns should have one scale, because λ penalises all of them alike.
    class_weight : None, "balanced" or {0: w₋, 1: w₊}, default="balanced"
        Costs of a false alarm (w₋) and of a missed positive (w₊ ≥ w₋). None is 1 and 1, the paper's risk. "balanced" is
        ½/(1-π) and ½/π if π < ½, so that both classes count alike, and 1 and 1 above: with few positives the ranking
        is better by far, with many as good (``python -m benchmarks.labels``).
    eta : "auto" or float in [0, 1], default="auto"
        Share of the risk of labelled positives and negatives, if y has negatives; the rest is the PU risk. "auto" gives
        a known negative the weight of about 20 unlabelled rows.
    scenario : {"case-control", "censored"}, default="case-control"
        "case-control": positives and unlabelled rows were drawn separately. "censored": one sample was drawn
        and some of its positives were labelled, so that all rows together are the unlabelled sample.
    propensity : None or "estimate", default=None
        "estimate" fits with an estimated probability that a positive is labelled, for labels that are not at random
        (``scenario="censored"``). Its level comes from the prior; give that if you can. :class:`PropensityModel` says
        what is assumed.
    propensity_columns : sequence of int or str, default=None
        Numbers or names of the columns that this probability depends on. None: it increases with the decision value.
    threshold : "prior" or float, default="prior"
        The value of f above which a row is called positive, as for :class:`PUSVC`.
    solver : {"auto", "interior-point", "newton"}, default="auto"
        "interior-point": an interior point method over the columns, for at most 4,000 of them. "newton": steps of
        single rows, and joint steps of the rows at -1 and 1, for tables of any width. "auto" is "newton" for sparse
        tables and for more than 20 columns. Both reach the same optimum.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in units of the decision function; the relative duality gap
        is at most a tenth of it. The solver aims at a thousandth, and reaches it unless rounding ends the fit.
    max_iter : int, default=-1
        Limit on interior point iterations, or on rounds ("newton"); -1 for none.
    max_time : float, default=None
        Limit on the seconds spent. The best solution so far is kept, with its certificate.
    warm_start : bool, default=False
        Start from the previous decision function if the new table has as many columns.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples and folds on which the prior is estimated and λ is chosen. None gives the same results every
        time.
    verbose : int, default=0
        1 shows a live line on stderr if that is a terminal, 2 prints a line per round.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The value of a row not called positive, and that of a positive.
    coef_ : ndarray of shape (1, n_features)
        Weights of the columns.
    intercept_ : ndarray of shape (1,)
        β minus ``threshold_``.
    threshold_ : float
        The threshold on ``X @ coef_[0]`` + β.
    lam_ : float
        The λ used.
    selection_ : Selection
        Risks and choice of the cross-validation. Only with ``lam="cv"``.
    calibration_ : Calibration
        The map from decision values to probabilities.
    reference_ : Reference
        Quantiles of the decision values of labelled positives and of unlabelled rows in training, for ``adapt``.
    drift_ : float
        Distance of a table from the nearest mixture of the classes of training; only after ``adapt``.
    prior_ : float
        The prior used.
    prior_interval_ : tuple of float
        Interval of the estimate; only with ``prior="estimate"``.
    eta_ : float
        The share of the PN risk; only if y has negatives.
    propensity_ : tuple of float
        The smallest and the largest propensity of the labelled rows; only if they were given or estimated.
    propensity_model_ : Propensity
        The propensity as a function; only with ``propensity="estimate"``.
    certificate_ : Certificate
        As for :class:`PUSVC`: primal and dual objective, gap and optimality conditions.
    n_iter_ : int
        Interior point iterations, those on a sample and on parts of the rows included; rounds with "newton".
    history_ : tuple of PassRecord
        State after each round over all rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

    Examples
    --------
    >>> from usmo import LinearPUSVC
    >>> from usmo.datasets import make_poker_hands, make_pu
    >>> X, y = make_poker_hands(20_000, random_state=0)
    >>> known, prior = make_pu(y == 0, n_positives=1000, random_state=0)
    >>> model = LinearPUSVC(prior).fit(X / 13.0, known)
    >>> model.certificate_.relative_gap < 1e-6
    True
    """

    coef_: Array
    lam_: float
    certificate_: Certificate
    history_: tuple[PassRecord, ...]
    n_iter_: int

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **PUClassifier._parameter_constraints,
        **RISK_CONSTRAINTS,
        "lam": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto", "cv"})],
        "solver": [StrOptions({"auto", "interior-point", "newton"})],
        "max_iter": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1})],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        prior: Prior = "estimate",
        *,
        lam: Lam = "auto",
        class_weight: ClassWeight = "balanced",
        eta: Eta = "auto",
        scenario: Scenario = "case-control",
        propensity: PropensityChoice = None,
        propensity_columns: Sequence[int | str] | None = None,
        threshold: Threshold = "prior",
        solver: LinearSolver = "auto",
        tol: float = 1e-3,
        max_iter: int = -1,
        max_time: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.prior = prior
        self.lam = lam
        self.class_weight = class_weight
        self.eta = eta
        self.scenario = scenario
        self.propensity = propensity
        self.propensity_columns = propensity_columns
        self.threshold = threshold
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, y: Any, sample_weight: Any, propensity: Any, groups: Any, context: Any) -> None:
        table = prepare_table(self, X, y, sample_weight, propensity, groups)
        spec = specification(self, table)
        table, choices = prepare_choices(self, table, spec, self.lam)
        train(self, table, spec, choices, self._start(table, spec, choices), context)

    def _start(self, table: Table, spec: Specification, choices: Choices) -> Start | None:
        """The last σ if the table has as many rows, else the last decision function if it has as many columns."""
        sigma = previous_sigma(self, table, spec, choices)
        if sigma is None:
            return self._last_function(table.X.shape[1])
        return DualStart(sigma, float(self.intercept_[0] + self.threshold_))

    def _last_function(self, columns: int) -> tuple[Array, float] | None:
        """With ``warm_start`` the weights and the intercept of the last fit; None if it had other columns."""
        if not self.warm_start or not hasattr(self, "coef_") or self.coef_.shape[1] != columns:
            return None
        return self.coef_[0], float(self.intercept_[0] + self.threshold_)

    def decision_function(self, X: Any) -> Array:
        """Decision values f(x). Rows with f > 0 are predicted positive; sorting by f ranks the rows."""
        check_is_fitted(self)
        if isinstance(X, PartFeatures):
            if X.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"X has {X.shape[1]} columns, but LinearPUSVC was fitted with {self.n_features_in_}"
                )
            return Blocks(X).dot(self.coef_[0]) + self.intercept_[0]
        X = validate_data(self, X, reset=False, **ACCEPTED)
        return np.asarray(X @ self.coef_[0]).ravel() + self.intercept_[0]

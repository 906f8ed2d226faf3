"""LinearPUSVC: parameters, validation and fitted attributes of the linear model."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, Options
from sklearn.utils.validation import check_is_fitted, validate_data

from usmo.base import ACCEPTED, PUClassifier, warn_about
from usmo.features import Blocks, PartFeatures, as_features
from usmo.linear_training import LinearFit, train_linear
from usmo.problem import Array, PUProblem
from usmo.progress import callback_bridge, combined, printed
from usmo.table import Table


class LinearPUSVC(PUClassifier):
    """Linear classifier from labelled positives and unlabelled rows, for millions of rows.

    The same problem as ``PUSVC(kernel="linear")``, solved to a certified optimum in a few passes over the rows.
    The table may be an array, a CSR matrix, a memory map or a directory of parts
    (:class:`usmo.features.PartFeatures`). A large one is never copied as a whole: what is held beside it are a
    handful of numbers per row, and the eighth of the rows nearest the thresholds.

    Parameters
    ----------
    prior : float or "estimate", default="estimate"
        π, the share of positives: among the unlabelled rows if ``scenario="case-control"``, among all rows if
        ``scenario="censored"``. "estimate" uses :class:`usmo.priors.BestBin`, on at most 50,000 rows of each kind.
    lam : float, default=1e-3
        Regularisation λ. The columns should be of one scale: it weighs all alike.
    scenario : {"case-control", "censored"}, default="case-control"
        "case-control": positives and unlabelled rows were drawn separately. "censored": one sample was drawn
        and some of its positives were labelled, so that all rows together are the unlabelled sample.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in units of the decision function; the relative duality gap
        is at most a thousandth of it.
    max_iter : int, default=-1
        Limit on interior point iterations; -1 for none.
    max_time : float, default=None
        Limit on the seconds spent. The best solution so far is kept, with its certificate.
    warm_start : bool, default=False
        Start from the previous decision function if the new table has as many columns.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds when the prior is estimated. None gives the same folds every time.
    verbose : int, default=0
        1 keeps a live line on stderr if that is a terminal, 2 prints a line per round.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two values of y; the greater one marks the labelled positives.
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
    prior_ : float
        The class prior used.
    prior_interval_ : tuple of float
        Interval of the estimate; only with ``prior="estimate"``.
    certificate_ : Certificate
        As for :class:`PUSVC`: primal and dual objective, gap and optimality conditions, computed afresh.
    n_iter_ : int
        Interior point iterations, those on a sample and on parts of the rows included.
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

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **PUClassifier._parameter_constraints,
        "max_iter": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1})],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        prior: float | str = "estimate",
        *,
        lam: float = 1e-3,
        scenario: str = "case-control",
        tol: float = 1e-3,
        max_iter: int = -1,
        max_time: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.prior = prior
        self.lam = lam
        self.scenario = scenario
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, y: Any, sample_weight: Any, context: Any) -> None:
        table, known, _ = self._prepare(X, y, sample_weight)
        problem = table.problem(known["prior_"], self.lam, self.scenario)
        features = as_features(table.X)
        start = None
        if self.warm_start and hasattr(self, "coef_") and self.coef_.shape[1] == features.shape[1]:
            start = self.coef_[0], float(self.intercept_[0])

        def fitted(sigma: Array, beta: float) -> dict[str, Any]:
            coef = Blocks(features).weighted_sum(problem.table_coefficients(sigma, features.shape[0]))
            return {"classes_": table.classes, **known, "coef_": coef[None, :], "intercept_": np.array([beta])}

        fit = train_linear(
            problem,
            features,
            start=start,
            tol=self.tol,
            max_iter=self.max_iter,
            max_time=self.max_time,
            progress=combined(printed(self.verbose, self.tol), callback_bridge(self, context, fitted)),
        )
        warn_about(fit.solution, fit.certificate, self.tol)
        self._accept(table, problem, None, fit, fit.certificate, known)

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, dict[str, Any], None]:
        if isinstance(X, PartFeatures):
            y = _checked_parts(X, y)
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        else:
            X, y = validate_data(self, X, y, **ACCEPTED)
        table = Table.of(X, y, sample_weight, square=False)
        return table, self._known_prior(table), None

    def _accept(
        self,
        table: Table,
        problem: PUProblem,
        kernel: None,
        fit: LinearFit,
        certificate: Any,
        known: dict[str, Any],
    ) -> LinearPUSVC:
        """Set every fitted attribute at once."""
        self.__dict__.pop("prior_interval_", None)
        self.__dict__.update(
            {
                "classes_": table.classes,
                **known,
                "coef_": fit.coef[None, :],
                "intercept_": np.array([fit.solution.beta]),
                "certificate_": certificate,
                "n_iter_": fit.solution.iterations,
                "history_": fit.solution.history,
            }
        )
        return self

    def _train_path(self, table: Table, problems: list[PUProblem], kernel: None) -> list[tuple[LinearFit, Any]]:
        from usmo.homotopy import train_linear_path

        fits = train_linear_path(problems, as_features(table.X), tol=self.tol)
        return [(fit, fit.certificate) for fit in fits]

    def decision_function(self, X: Any) -> Array:
        """f(x) for each row: positive above 0, and a ranking of the rows."""
        check_is_fitted(self)
        if isinstance(X, PartFeatures):
            if X.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"X has {X.shape[1]} columns, but LinearPUSVC was fitted with {self.n_features_in_}"
                )
            return Blocks(X).dot(self.coef_[0]) + self.intercept_[0]
        X = validate_data(self, X, reset=False, **ACCEPTED)
        return np.asarray(X @ self.coef_[0]).ravel() + self.intercept_[0]


def _checked_parts(X: PartFeatures, y: Any) -> np.ndarray:
    """The labels of a table in parts, after a pass that finds values that are not numbers."""
    y = np.asarray(y)
    if y.shape != (X.shape[0],):
        raise ValueError(f"y must have one label per row, {X.shape[0]}; got shape {y.shape}")
    blocks, bad = Blocks(X), []

    def look(part: slice) -> None:
        if not np.isfinite(blocks.block(part)).all():
            bad.append(part.start)

    blocks.each(look)
    if bad:
        raise ValueError(f"Input X contains NaN or infinity, in rows {min(bad)} to {min(bad) + blocks.step - 1}")
    return y

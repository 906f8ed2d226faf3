"""LinearPUSVC: parameters, validation and fitted attributes of the linear model."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from usmo.core.arrays import Array, Index
from usmo.core.problem import PUProblem
from usmo.core.table import Table
from usmo.estimators.base import ACCEPTED, PUClassifier, warn_about
from usmo.fitting.linear import LinearFit, train_linear
from usmo.fitting.progress import callback_bridge, combined, printed
from usmo.kernels.row_blocks import Blocks, PartFeatures, as_features

_CALIBRATED = 50_000
"""Labelled positives that probabilities are calibrated on; more would be read for nothing."""


class LinearPUSVC(PUClassifier):
    """Linear classifier from labelled positives and unlabelled rows, for millions of rows.

    The same problem as ``PUSVC(kernel="linear")``, solved to a certified optimum in a few passes over the rows.
    The table may be an array, a CSR matrix, a memory map or a directory of parts
    (:class:`usmo.kernels.row_blocks.PartFeatures`). A large one is never copied as a whole: what is held beside it are a
    handful of numbers per row, and the eighth of the rows nearest the thresholds.

    Parameters
    ----------
    prior : float or "estimate", default="estimate"
        π, the share of positives: among the unlabelled rows if ``scenario="case-control"``, among all rows if
        ``scenario="censored"``. "estimate" uses :class:`usmo.priors.Consensus`, on at most 50,000 rows of each
        kind.
    lam : float or "cv", default=1e-2
        Regularisation λ. "cv" chooses it by the PU risk of held-out rows (:mod:`usmo.fitting.select`). The columns
        should be of one scale: it weighs all alike.
    scenario : {"case-control", "censored"}, default="case-control"
        "case-control": positives and unlabelled rows were drawn separately. "censored": one sample was drawn
        and some of its positives were labelled, so that all rows together are the unlabelled sample.
    threshold : "prior" or float, default="prior"
        The value of f above which a row is called positive; ``intercept_`` includes it, so that the decision is
        at 0. "prior": so that the share π of the unlabelled rows is positive. 0.0 is the rule of the paper; with
        strong regularisation f hardly leaves [-1, 1], and its sign then says little (``python -m
        benchmarks.selection``).
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
        β, less ``threshold_``, the threshold on x·coef_ + β.
    lam_ : float
        The λ used; ``selection_`` has the risks if it was chosen by cross-validation.
    calibration_ : Calibration
        From decision values to probabilities.
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
        "lam": [Interval(Real, 0, None, closed="neither"), StrOptions({"cv"})],
        "max_iter": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1})],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        prior: float | str = "estimate",
        *,
        lam: float | str = 1e-2,
        scenario: str = "case-control",
        threshold: float | str = "prior",
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
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, y: Any, sample_weight: Any, context: Any) -> None:
        table, known, _ = self._prepare(X, y, sample_weight)
        known |= self._chosen_lam(table, known["prior_"], 1.0)
        self._fit_table(table, known, None, context)

    def _fit_table(self, table: Table, known: dict[str, Any], kernel: None, context: Any = None) -> None:
        problem = table.problem(known["prior_"], known["lam_"], self.scenario)
        features = as_features(table.X)
        start = None
        if self.warm_start and hasattr(self, "coef_") and self.coef_.shape[1] == features.shape[1]:
            start = self.coef_[0], float(self.intercept_[0] + self.threshold_)

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
        for name in ("prior_interval_", "selection_"):
            self.__dict__.pop(name, None)
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
        some = as_features(table.X).take(problem.positives[:_CALIBRATED])
        f_p = np.asarray(some @ fit.coef).ravel() + fit.solution.beta
        self._decide(table, problem, f_p, fit.solution.G + fit.solution.beta)
        return self

    _selection_rows = 80_000  # of each kind

    def _fold_solver(self, table: Table, gamma: float) -> Callable[[list[PUProblem], Index, float], Array]:
        """Fits problems that differ in λ and gives their f on rows of the table, one line per problem."""
        from usmo.fitting.path import train_linear_path

        features = as_features(table.X)

        def solve(problems: list[PUProblem], held: Index, tol: float) -> Array:
            fits = train_linear_path(problems, features, tol=tol)
            coef = np.stack([fit.coef for fit in fits], axis=1)
            order = np.argsort(held)
            found = np.empty((len(fits), len(held)))
            found[:, order] = np.asarray(features.take(held[order]) @ coef).T
            return found + np.array([[fit.solution.beta] for fit in fits])

        return solve

    def _train_path(self, table: Table, problems: list[PUProblem], kernel: None) -> list[tuple[LinearFit, Any]]:
        from usmo.fitting.path import train_linear_path

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

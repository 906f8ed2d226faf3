"""What the estimators share: fit with roll-back and callbacks, the prior, predictions, warnings."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from usmo.core.arrays import Array
from usmo.core.problem import PUProblem
from usmo.core.shards import Here, Team
from usmo.core.table import Table
from usmo.estimators.calibration import calibrated
from usmo.estimators.threshold import TOGETHER, Decisions, spread_over, threshold_over
from usmo.fitting.progress import CallbackSupportMixin, with_callbacks
from usmo.kernels.gamma import resolve_gamma
from usmo.kernels.matrix import Kernel, KernelMatrix
from usmo.kernels.row_blocks import as_features
from usmo.priors import Consensus

ACCEPTED: dict[str, Any] = {
    "accept_sparse": "csr", "dtype": [np.float64, np.float32], "accept_large_sparse": True
}  # fmt: skip
"""The kinds of table that all estimators take."""

_PRIOR_ROWS = 50_000
"""Unlabelled rows, and labelled ones, up to which a prior is estimated from all of them."""

CALIBRATED = 200_000
"""Unlabelled rows that probabilities are calibrated on, about: two slopes need no more."""

_NOTHING = 1e-6
"""A difference of decision values that is none, however exact they are."""


def seed_of(random_state: Any) -> int:
    """An integer from ``random_state``; 0 for None, so that a fit is the same every time."""
    return 0 if random_state is None else int(check_random_state(random_state).randint(2**31))


class PUClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """A classifier with the parameters below that implements ``_fit``."""

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
        # Accuracy on fully labelled data is not what is learnt: 0 means unlabelled here, not negative.
        tags.classifier_tags.poor_score = True
        return tags

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the classifier.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows; the square kernel matrix if the kernel is precomputed.
        y : array of shape (n_samples,)
            Two values: the greater marks labelled positives, the other unlabelled rows.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row in its mean.
        """
        self._validate_params()
        context = None
        if hasattr(self, "_skl_callbacks"):
            context = self._init_callback_context(max_subtasks=None)
            context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        before = self.__dict__.copy()
        try:
            self._fit(X, y, sample_weight, context)
        except BaseException:
            # a failed or interrupted fit leaves the estimator as it was
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        if context is not None:
            context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, context: Any) -> None:
        raise NotImplementedError

    def decision_function(self, X: Any) -> Array:
        """f(x) for each row: positive above 0, and a ranking of the rows."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row: the greater value of y where f > 0."""
        check_is_fitted(self)
        return self.classes_[(self.decision_function(X) > 0).astype(np.intp)]

    def predict_proba(self, X: Any) -> Array:
        """The probability of either class for each row, from the decision values (see :mod:`usmo.estimators.calibration`)."""
        check_is_fitted(self, "calibration_")
        chance = self.calibration_(self.decision_function(X))
        return np.column_stack([1.0 - chance, chance])

    def save(self, path: Any, **options: Any) -> None:
        """Write the fitted model to a file that holds no code; :func:`usmo.load` reads it (:mod:`usmo.files`)."""
        from usmo.files import save

        save(self, path, **options)

    def _decide(self, table: Table, problem: PUProblem, f_p: Array, f_u: Array) -> None:
        """Move the decision from f = 0 to the threshold, and calibrate; ``f_p``, ``f_u`` are f on P and U."""
        rows_p, rows_u = problem.positives[: len(f_p)], problem.unlabelled
        step = 1 + len(f_u) // CALIBRATED
        w_p, w_u = (np.ones(len(r)) if table.weight is None else table.weight[r] for r in (rows_p, rows_u[::step]))
        self._settle(table, Here(Decisions(f_u, problem.c2)), (f_p, w_p), (f_u[::step], w_u))

    def _settle(
        self, table: Table | None, team: Team, on_p: tuple[Array, Array], on_u: tuple[Array, Array]
    ) -> None:
        """The same from shards of :class:`usmo.estimators.threshold.Decisions`; f and weights of some rows of P and U.

        ``table`` is the one that λ was chosen on, if it was: calibration then has decision values of rows that the
        fits of a cross-validation had not seen.
        """
        proof = getattr(self, "certificate_", None)
        precision = self.tol if proof is None else min(self.tol, proof.kkt_violation)
        warn_if_constant(spread_over(team), precision)
        if self.threshold == "prior":
            self.threshold_ = threshold_over(team, self.prior_, precision)
        else:
            self.threshold_ = float(self.threshold)
        self.__dict__["intercept_"] = self.__dict__["intercept_"] - self.threshold_
        found = getattr(self, "selection_", None)
        if found is not None and table is not None:
            is_p = np.isin(found.rows, table.labelled)
            is_u = np.ones_like(is_p) if self.scenario == "censored" else ~is_p
            weight = np.ones(len(is_p)) if table.weight is None else table.weight[found.rows]
            on_p, on_u = ((found.held_out[which], weight[which]) for which in (is_p, is_u))
        t = self.threshold_
        self.calibration_ = calibrated(on_p[0] - t, on_u[0] - t, self.prior_, on_p[1], on_u[1])

    def _chosen_lam(self, table: Table, prior: float, gamma: float) -> dict[str, Any]:
        """λ as given or chosen by cross-validation, as fitted attributes."""
        if self.lam != "cv":
            return {"lam_": float(self.lam)}
        from usmo.fitting.select import select

        found = select(self, table, prior, [gamma], seed=self._seed())
        return {"lam_": found.lam, "selection_": found}

    def _seed(self) -> int:
        return seed_of(self.random_state)

    def _known_prior(self, table: Table) -> dict[str, Any]:
        """The prior given, or estimated with its interval, as fitted attributes."""
        if self.prior != "estimate":
            return {"prior_": float(self.prior)}
        seed = self._seed()
        rng = np.random.default_rng(seed)
        parts = [
            part if len(part) <= _PRIOR_ROWS else np.sort(rng.choice(part, _PRIOR_ROWS, replace=False))
            for part in (table.labelled, table.unlabelled)
        ]
        if self.scenario == "censored" and len(parts[0]) + len(parts[1]) < len(table.rows):
            # the shares of the two parts matter here: thin both alike
            rows = np.sort(rng.choice(table.rows, 2 * _PRIOR_ROWS, replace=False))
        else:
            rows = np.union1d(*parts)
        X = as_features(table.X).take(rows)
        weight = None if table.weight is None else table.weight[rows]
        is_labelled = np.isin(rows, table.labelled)
        found = Consensus(scenario=self.scenario, random_state=seed).fit(X, is_labelled, weight)
        return {"prior_": float(found.prior_), "prior_interval_": found.interval_}


class KernelPUClassifier(PUClassifier):
    """One with a kernel besides, whose f is an expansion over rows of the table."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **PUClassifier._parameter_constraints,
        "kernel": [StrOptions({"linear", "rbf", "poly", "sigmoid", "precomputed"}), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, dict[str, Any], Kernel]:
        """The validated table, the prior with its interval, and the kernel with its γ."""
        X, y = validate_data(self, X, y, **ACCEPTED)
        table = Table.of(X, y, sample_weight, square=self.kernel == "precomputed")
        known = self._known_prior(table)
        gamma = resolve_gamma(self.gamma, table.X, table.weight)
        return table, known, Kernel(self.kernel, gamma, self.degree, self.coef0)

    def decision_function(self, X: Any) -> Array:
        """f(x) for each row: positive above 0, and a ranking of the rows."""
        check_is_fitted(self)
        return self._values(validate_data(self, X, reset=False, **ACCEPTED))

    def _values(self, X: Any) -> Array:
        """f on the rows of a validated table."""
        alpha, beta, kernel = self.dual_coef_[0], self.intercept_[0], self._kernel
        if kernel.name == "precomputed":
            return np.asarray(X[:, self.support_] @ alpha).ravel() + beta
        if kernel.name == "linear":
            return np.asarray(X @ self.coef_[0]).ravel() + beta
        return KernelMatrix(self.support_vectors_, kernel).cross_product(X, alpha) + beta


def expansion(X: Any, kernel: Kernel, alpha: Array, beta: float) -> dict[str, Any]:
    """The attributes that make up f = Σ α·k(x_i, ·) + β over the rows of X."""
    support = np.flatnonzero(alpha)
    found = {
        "support_": support,
        "support_vectors_": np.empty((0, 0)) if kernel.name == "precomputed" else X[support],
        "dual_coef_": alpha[support][None, :],
        "intercept_": np.array([beta]),
        "_kernel": kernel,
    }
    if kernel.name == "linear":
        found["coef_"] = np.asarray(X[support].T @ alpha[support])[None, :]
    return found


def warn_about(solution: Any, certificate: Any, tol: float) -> None:
    """Say what a fit fell short of; ``solution`` is anything with a status."""
    reached = (
        f"the KKT violation is {certificate.kkt_violation:.2g} (tol={tol:g}), "
        f"the relative duality gap {certificate.relative_gap:.2g}"
    )
    if solution.status in ("max_iter", "max_time"):
        limit = solution.status
        advice = f"Raise {limit}, or scale the columns of X"
        warnings.warn(f"{limit} ended the fit: {reached}. {advice}.", ConvergenceWarning, stacklevel=5)
    elif solution.status == "stopped":
        warnings.warn(f"a callback ended the fit: {reached}.", ConvergenceWarning, stacklevel=5)
    elif solution.status == "precision":
        warnings.warn(
            f"the fit came to rest short of tol, for want of precision: {reached}. Scale the columns of X (for "
            "example with StandardScaler) or raise lam.",
            ConvergenceWarning,
            stacklevel=5,
        )
    if not certificate.convex:
        warnings.warn(
            "the kernel matrix is indefinite: the solution is a stationary point, and its duality gap does not "
            "bound the distance to the best one. Choose a positive semidefinite kernel.",
            UserWarning,
            stacklevel=5,
        )


def warn_if_constant(spread: float, precision: float) -> None:
    """Say so if decision values of the unlabelled rows differ by hardly more than they are exact."""
    if spread <= TOGETHER * precision + _NOTHING:
        warnings.warn(
            f"the decision function is constant: the unlabelled rows differ by {spread:.1g} in it, with a KKT "
            f"violation of {precision:.1g}, and their order says nothing. Lower lam, or take a kernel or columns "
            "that tell the labelled rows from the unlabelled ones; a linear function of few columns often cannot.",
            UserWarning,
            stacklevel=6,
        )

"""PUSVC: parameters, validation and fitted attributes. The mathematics is elsewhere."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted

from usmo.core.arrays import Array, Index
from usmo.core.problem import Certificate, PUProblem
from usmo.core.solution import Solution
from usmo.core.table import Table
from usmo.estimators.base import KernelPUClassifier, expansion, warn_about
from usmo.fitting.kernel import train
from usmo.fitting.progress import callback_bridge, combined, printed
from usmo.kernels.matrix import Kernel, KernelMatrix
from usmo.kernels.row_blocks import Blocks
from usmo.solvers import starts

_LARGE = 100_000
"""Unlabelled rows from which solver="auto" points to the approximation."""

_OPTIONAL = (
    "prior_interval_", "selection_", "coef_", "_share", "compression_", "approximation_", "_map", "_map_coef",
    "support_", "support_vectors_", "dual_coef_",
)  # fmt: skip
"""Attributes that not every fit sets."""


class PUSVC(KernelPUClassifier):
    """Support vector classifier from labelled positives and unlabelled rows.

    Minimises the unbiased PU risk with the double hinge loss plus ``lam·‖f‖²``, exactly: every fit ends with
    a duality gap (``certificate_``) computed apart from the solver. With weights w the risk is

        π·Σ_P w·(-f) / Σ_P w  +  Σ_U w·max(0, f, (1+f)/2) / Σ_U w  +  lam·‖f‖²,

    and its dual has the bounds ``c2 = w / (2·lam·Σ_U w)`` and the sum ``π / (2·lam)``; a row of weight two is
    a row that stands there twice, a row of weight zero one that is not there.

    Parameters
    ----------
    prior : float or "estimate", default="estimate"
        π, the share of positives: among the unlabelled rows if ``scenario="case-control"``, among all rows if
        ``scenario="censored"``. "estimate" uses :class:`usmo.priors.Consensus`.
    lam : float or "cv", default=1e-2
        Regularisation λ. "cv" chooses it by the PU risk of held-out rows (:mod:`usmo.fitting.select`).
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable gets two sets of rows and returns the block of kernel values.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient, as in :class:`sklearn.svm.SVC`: "scale" is 1 / (n_features · X.var()), with the
        rows weighted by ``sample_weight``, "auto" is 1 / n_features.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    scenario : {"case-control", "censored"}, default="case-control"
        "case-control": positives and unlabelled rows were drawn separately. "censored": one sample was drawn
        and some of its positives were labelled, so that all rows together are the unlabelled sample.
    threshold : "prior" or float, default="prior"
        The value of f above which a row is called positive; ``intercept_`` includes it, so that the decision is
        at 0. "prior": so that the share π of the unlabelled rows is positive. 0.0 is the rule of the paper; with
        strong regularisation f hardly leaves [-1, 1], and its sign then says little (``python -m
        benchmarks.selection``).
    solver : {"auto", "blocks", "usmo", "interior-point", "qp"}, default="auto"
        "blocks": blocks of kernel rows by matrix products. "interior-point": for the linear kernel, passes over
        the rows (see :class:`LinearPUSVC`). "usmo": the paper's algorithm. "qp": the dense quadratic program by an
        interior point library, for some thousand rows (extra ``usmo[qp]``). All reach the same optimum; "auto"
        is "interior-point" for the linear kernel if the table has fewer than 200 columns or more than 30 rows per
        column (and at most 4,000 columns), else "blocks".
    approximation : {"nystroem", "rff"} or None, default=None
        None is the exact kernel. "nystroem" and "rff" (random Fourier features, rbf only) replace it by
        ``n_components`` features and fit those exactly by the linear solver: for rbf on 100,000 rows and more.
        ``certificate_`` then speaks about the approximate kernel, and ``approximation_`` says how far that is from
        the exact one, from fits on a sample of the rows.
    n_components : int, default=500
        Landmarks or random features of the approximation.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in units of the decision function (τ in the paper).
        "interior-point" also goes to a relative gap of a thousandth of it; "qp" ignores it and goes as far as
        float64 carries.
    max_iter : int, default=-1
        Limit on rounds ("blocks"), two-row steps ("usmo") or interior point iterations; -1 for none.
    max_time : float, default=None
        Limit on the seconds spent in "blocks" or "usmo". The best solution so far is kept, with its certificate.
    cache_size : float or "auto", default="auto"
        Megabytes for kernel rows. "auto" is a quarter of the free memory but at most 400 for "blocks", and
        200 for "usmo".
    checkpoint : path, default=None
        File for the state of a long fit ("blocks"), written every ``checkpoint_seconds`` and removed at the end.
        The same fit started again after a crash goes on from it.
    checkpoint_seconds : float, default=30
        Least time between two writings.
    warm_start : bool, default=False
        Start from the previous solution if the new table has as many rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds when the prior is estimated. None gives the same folds every time.
    verbose : int, default=0
        1 keeps a live line on stderr if that is a terminal, 2 prints a line per pass. Callbacks of scikit-learn
        1.9 (``set_callbacks``) see each pass as a subtask and can end the fit.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two values of y; the greater one marks the labelled positives.
    prior_ : float
        The class prior used.
    prior_interval_ : tuple of float
        Interval of the estimate; only with ``prior="estimate"``.
    support_ : ndarray of int
        Rows of the training table with a non-zero coefficient.
    support_vectors_ : ndarray or CSR matrix
        These rows; empty for a precomputed kernel.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients α.
    intercept_ : ndarray of shape (1,)
        β, less ``threshold_``.
    threshold_ : float
        The threshold on Σ α·k(x_i, ·) + β.
    lam_ : float
        The λ used.
    selection_ : Selection
        Risks and choice of the cross-validation; only with ``lam="cv"``.
    calibration_ : Calibration
        From decision values to probabilities.
    coef_ : ndarray of shape (1, n_features)
        Weights of the columns; only for the linear kernel.
    certificate_ : Certificate
        ``primal``, ``dual``, ``gap``, ``relative_gap``, ``kkt_violation``, ``equality_residual``, ``convex``.
    approximation_ : Approximation
        The approximate kernel against the exact one on a sample; only with ``approximation``.
    n_iter_ : int
        Rounds ("blocks"), two-row steps ("usmo") or interior point iterations.
    kernel_rows_ : float
        Rows of the n × n kernel matrix of the unlabelled rows computed by the solver. The certificate
        computes the support's rows once more.
    history_ : tuple of PassRecord
        State after each pass: kind, steps, objective, violation, nonbound, kernel_rows, seconds.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

    References
    ----------
    E. Sansone, F. G. B. De Natale, Z.-H. Zhou. Efficient training for positive unlabeled learning. IEEE
    Transactions on Pattern Analysis and Machine Intelligence, 2019.
    M. C. du Plessis, G. Niu, M. Sugiyama. Convex formulation for learning from positive and unlabeled data.
    ICML 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from usmo import PUSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> known = y.copy()
    >>> known[::2] = 0  # half of the labels are not known
    >>> model = PUSVC(scenario="censored").fit((X - X.mean(0)) / X.std(0), known)
    >>> model.certificate_.relative_gap < 1e-3
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **KernelPUClassifier._parameter_constraints,
        "lam": [Interval(Real, 0, None, closed="neither"), StrOptions({"cv"})],
        "solver": [StrOptions({"auto", "blocks", "usmo", "interior-point", "qp"})],
        "approximation": [StrOptions({"nystroem", "rff"}), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1})],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "cache_size": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "checkpoint": [str, os.PathLike, None],
        "checkpoint_seconds": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        prior: float | str = "estimate",
        *,
        lam: float | str = 1e-2,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        scenario: str = "case-control",
        threshold: float | str = "prior",
        solver: str = "auto",
        approximation: str | None = None,
        n_components: int = 500,
        tol: float = 1e-3,
        max_iter: int = -1,
        max_time: float | None = None,
        cache_size: float | str = "auto",
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 30.0,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.prior = prior
        self.lam = lam
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.scenario = scenario
        self.threshold = threshold
        self.solver = solver
        self.approximation = approximation
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, y: Any, sample_weight: Any, context: Any) -> None:
        if self.approximation is not None:
            from usmo.fitting.approximate import check

            check(self)
        table, known, kernel = self._prepare(X, y, sample_weight)
        known |= self._chosen_lam(table, known["prior_"], kernel.gamma)
        self._fit_table(table, known, kernel, context)

    def _fit_table(self, table: Table, known: dict[str, Any], kernel: Kernel, context: Any = None) -> None:
        problem = table.problem(known["prior_"], known["lam_"], self.scenario)
        if self.approximation is not None:
            self._fit_approximation(table, problem, kernel, known)
            return
        if self.solver == "auto" and problem.n >= _LARGE and self.kernel not in ("linear", "precomputed"):
            warnings.warn(
                f"an exact fit of {problem.n} unlabelled rows computes a good part of a {problem.n} × {problem.n} "
                "kernel matrix; the time of approximation='nystroem' grows with the rows only, and it says how "
                "far off it is. solver='blocks' fits exactly without this message.",
                UserWarning,
                stacklevel=5,
            )

        def fitted(sigma: Array, beta: float) -> dict[str, Any]:
            return {"classes_": table.classes, **known, **self._expansion(table, problem, kernel, sigma, beta)}

        solution, certificate = train(
            problem,
            KernelMatrix(table.X, kernel),
            solver=self.solver,
            start=self._warm_start(problem, table.X.shape[0]),
            tol=self.tol,
            max_iter=self.max_iter,
            max_time=self.max_time,
            cache_size=self._cache_megabytes,
            progress=combined(printed(self.verbose, self.tol), callback_bridge(self, context, fitted)),
            checkpoint=None if self.checkpoint is None else (self.checkpoint, self.checkpoint_seconds),
        )
        warn_about(solution, certificate, self.tol)
        self._accept(table, problem, kernel, solution, certificate, known)

    def _fit_approximation(self, table: Table, problem: PUProblem, kernel: Kernel, known: dict[str, Any]) -> None:
        from usmo.fitting.approximate import approximate

        found = approximate(
            problem, table.X, kernel, str(self.approximation), self.n_components,
            seed=self._seed(), tol=self.tol,
            max_iter=self.max_iter, max_time=self.max_time, progress=printed(self.verbose, self.tol),
        )  # fmt: skip
        solution, certificate = found.fit.solution, found.fit.certificate
        warn_about(solution, certificate, self.tol)
        fitted = {
            "classes_": table.classes,
            **known,
            "_kernel": kernel,
            "intercept_": np.array([solution.beta]),
            "certificate_": certificate,
            "approximation_": found.comparison,
            "n_iter_": solution.iterations,
            "kernel_rows_": 0.0,
            "history_": solution.history,
            **found.expansion(table.X),
        }
        self._forget()
        self.__dict__.update(fitted)
        self._set_decision(table, problem, solution)

    def _set_decision(self, table: Table, problem: PUProblem, solution: Solution) -> None:
        f_p = self._values(table.X[problem.positives])
        self._decide(table, problem, f_p, solution.G + solution.beta)

    def _forget(self) -> None:
        """Drop the attributes that not every fit sets."""
        for name in _OPTIONAL:
            self.__dict__.pop(name, None)

    def _accept(
        self,
        table: Table,
        problem: PUProblem,
        kernel: Kernel,
        solution: Solution,
        certificate: Certificate,
        known: dict[str, Any],
    ) -> PUSVC:
        """Set every fitted attribute at once."""
        fitted = {
            "classes_": table.classes,
            **known,
            **self._expansion(table, problem, kernel, solution.sigma, solution.beta),
            "certificate_": certificate,
            "n_iter_": solution.iterations,
            "kernel_rows_": solution.kernel_rows,
            "history_": solution.history,
        }
        if self.warm_start:
            fitted["_share"] = np.zeros(table.X.shape[0])
            fitted["_share"][problem.unlabelled] = solution.sigma / problem.c2
        self._forget()
        self.__dict__.update(fitted)
        self._set_decision(table, problem, solution)
        return self

    def _train_path(
        self, table: Table, problems: list[PUProblem], kernel: Kernel
    ) -> list[tuple[Solution, Certificate]]:
        from usmo.fitting.path import train_path

        return train_path(problems, KernelMatrix(table.X, kernel), tol=self.tol, cache_size=self._cache_megabytes)

    _selection_rows = 8000  # of each kind

    def _fold_solver(self, table: Table, gamma: float) -> Callable[[list[PUProblem], Index, float], Array]:
        """Fits problems that differ in λ and gives their f on rows of the table, one line per problem."""
        from usmo.fitting.path import train_path

        matrix = KernelMatrix(table.X, Kernel(self.kernel, gamma, self.degree, self.coef0))

        def solve(problems: list[PUProblem], held: Index, tol: float) -> Array:
            answers = train_path(problems, matrix, tol=tol, cache_size=self._cache_megabytes)
            columns = [
                p.table_coefficients(s.sigma, len(matrix)) for p, (s, _) in zip(problems, answers, strict=True)
            ]
            alpha = np.stack(columns, axis=1)
            support = np.flatnonzero(alpha.any(axis=1))
            beta = np.array([s.beta for s, _ in answers])
            return (matrix.product(held, support, alpha[support]) + beta).T

        return solve

    @property
    def _cache_megabytes(self) -> float | None:
        return None if self.cache_size == "auto" else float(self.cache_size)

    def _expansion(
        self, table: Table, problem: PUProblem, kernel: Kernel, sigma: Array, beta: float
    ) -> dict[str, Any]:
        """The attributes that make up f."""
        return expansion(table.X, kernel, problem.table_coefficients(sigma, table.X.shape[0]), beta)

    def _values(self, X: Any) -> Array:
        if not hasattr(self, "_map"):
            return super()._values(X)
        from usmo.fitting.approximate import MappedFeatures

        return Blocks(MappedFeatures(X, self._map)).dot(self._map_coef) + self.intercept_[0]

    def compress(self, X: Any, *, n_components: int | None = None, max_error: float | None = None) -> PUSVC:
        """A copy of the fitted model with fewer support vectors, for fast prediction.

        f is projected on the span of support vectors chosen where the error is largest (see
        :mod:`usmo.estimators.compression`), until there are ``n_components`` of them or f differs by at most ``max_error`` on
        the support vectors. The copy has ``compression_`` with the largest and the mean error over ``X`` (give
        the training rows) and the number of rows whose class changes, and no certificate.
        """
        check_is_fitted(self)
        if hasattr(self, "_map"):
            raise ValueError("compress needs support vectors, which approximation='rff' does not have")
        if self._kernel.name in ("linear", "precomputed"):
            raise ValueError(f"compress needs a kernel evaluated on rows, not kernel={self._kernel.name!r}")
        if n_components is None and max_error is None:
            raise ValueError("give n_components, max_error or both")
        if n_components is not None and n_components < 1:
            raise ValueError(f"n_components must be at least 1, got {n_components}")
        if max_error is not None and not max_error > 0:
            raise ValueError(f"max_error must be positive, got {max_error}")
        from usmo.estimators.compression import compressed

        return compressed(self, X, n_components, max_error)

    def _warm_start(self, problem: PUProblem, n_rows: int) -> Array | None:
        if not (self.warm_start and hasattr(self, "_share") and len(self._share) == n_rows):
            return None
        return starts.previous(problem, self._share[problem.unlabelled])

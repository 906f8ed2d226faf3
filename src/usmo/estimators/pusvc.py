"""PUSVC: parameters, validation and fitted attributes of the kernel classifier."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted

from usmo.core.certificate import Certificate
from usmo.core.solution import PassRecord
from usmo.core.table import Table
from usmo.estimators.base import RISK_CONSTRAINTS, KernelPUClassifier
from usmo.estimators.compression import compressed
from usmo.estimators.preparation import prepare_choices, prepare_table, specification
from usmo.estimators.training import previous_sigma, train
from usmo.estimators.types import (
    ApproximationName,
    CacheSize,
    ClassWeight,
    Eta,
    Gamma,
    KernelName,
    Lam,
    Prior,
    PropensityChoice,
    Scenario,
    Solver,
    Threshold,
)
from usmo.fitting.checkpoint import check_checkpoint
from usmo.fitting.estimate import expected_work
from usmo.kernels.forest import MOST_TREES
from usmo.kernels.kernel import FIXED, FORESTS
from usmo.system import caller
from usmo.system.work import in_words

_LARGE, _LARGE_UNTIMED = 50_000, 100_000
"""Unlabelled rows from which solver="auto" may point to the approximation; the second if the time is not known."""

_LONG = 60.0
"""Seconds from which it does. From 20,000 rows on the approximation takes less time (``python -m
benchmarks.crossing``), but up to a minute an exact fit is worth waiting for."""


class PUSVC(KernelPUClassifier):
    """Support vector classifier from labelled positives and unlabelled rows.

    Minimises the unbiased PU risk with the double hinge loss plus ``lam·‖f‖²``, exactly: every fit ends with a duality
    gap (``certificate_``) that is computed independently of the solver. With weights w, without known negatives and
    with ``class_weight=None`` (the default is "balanced"), the risk is::

        π·Σ_P w·(-f) / Σ_P w  +  Σ_U w·max(0, f, (1+f)/2) / Σ_U w  +  lam·‖f‖²

    Its dual has the bounds ``w / (2·lam·Σ_U w)`` and the sum ``π / (2·lam)``. Other labels and costs change the
    bounds and the sum only (:mod:`usmo.core.labels`). A row of weight two counts as two equal rows, a row
    of weight zero is ignored.

    Parameters
    ----------
    prior : float or "estimate", default="estimate"
        π, the share of positives: among the unlabelled rows if ``scenario="case-control"``, among all rows if
        ``scenario="censored"``. "estimate" uses :class:`usmo.priors.Consensus`, on a random sample of at most 20,000
        labelled and 20,000 unlabelled rows.
    lam : float, "auto" or "cv", default="auto"
        Regularisation λ. "auto" is 2/n for n different unlabelled rows, at least 0.001
        (:mod:`usmo.fitting.default_lam`); for kernels of learned trees it is 0.05 and for the linear kernel 0.01.
        "cv" chooses it by the PU risk of held-out rows (:mod:`usmo.fitting.select`).
    kernel : {"linear", "rbf", "poly", "sigmoid", "forest", "forest+rbf", "precomputed"} or callable, default="rbf"
        "forest" learns the kernel from the table: trees are grown to tell labelled from unlabelled rows, and k(x, y) is
        the share of trees in which x and y have the same leaf. "forest+rbf" is half of that plus half of rbf on
        standardised columns. Both need no scaling. Over 20 tables they rank better than rbf on average (``python -m
        benchmarks.quality``), on images worse. The fit is exact for the trees that were grown. A callable takes two
        sets of rows and returns the block of kernel values.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient, as in :class:`sklearn.svm.SVC`: "scale" is 1 / (n_features · X.var()), with the
        rows weighted by ``sample_weight``, "auto" is 1 / n_features. For "forest+rbf" it is the γ on standardised
        columns, so that both are 1 / n_features.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    class_weight : None, "balanced" or {0: w₋, 1: w₊}, default="balanced"
        Costs of a false alarm (w₋) and of a missed positive (w₊ ≥ w₋). None is 1 and 1, the paper's risk. "balanced" is
        ½/(1-π) and ½/π if π < ½, so that both classes count alike, and 1 and 1 above: with few positives the ranking
        is better by far, with many as good (``python -m benchmarks.labels``).
    eta : "auto" or float in [0, 1], default="auto"
        Share of the risk of labelled positives and negatives, if y has negatives; the rest is the PU risk. "auto" gives
        a known negative the weight of about 20 unlabelled rows.
    n_trees : int, default=300
        Trees of the kernels "forest" and "forest+rbf".
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
        The value of f above which a row is called positive. ``intercept_`` includes it, so that the decision is at 0.
        "prior" chooses it so that the share π of the unlabelled rows is positive. 0.0 is the rule of the paper; with
        strong regularisation f hardly leaves [-1, 1], and its sign is a poor decision (``python -m
        benchmarks.selection``).
    solver : {"auto", "blocks", "usmo", "interior-point", "newton", "qp"}, default="auto"
        "blocks": blocks of kernel rows by matrix products. "interior-point" and "newton": for the linear kernel, passes
        over the rows (see :class:`LinearPUSVC`). "usmo": the paper's algorithm. "qp": the dense quadratic program by
        an interior point library, for some thousand rows (extra ``qp``). All reach the same optimum; "auto" is
        "blocks", for the linear kernel "newton" (sparse, or more than 20 columns) or "interior-point".
    approximation : {"nystroem", "rff"} or None, default=None
        None is the exact kernel. "nystroem" and "rff" (random Fourier features, rbf only) replace it by
        ``n_components`` features and fit those exactly: by "newton" if they fit into a quarter of the free memory, else
        by "interior-point". Meant for rbf where an exact fit takes too long, from 50,000 rows on.
        ``certificate_`` then refers to the approximate kernel, and ``approximation_`` tells how far that is from the
        exact one, measured by fits on a sample of the rows.
    n_components : int, default=500
        Landmarks or random features of the approximation.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in units of the decision function (τ in the paper).
        The relative duality gap is at most a tenth of it; "interior-point" and "newton" aim at a thousandth. "qp" goes
        to the precision of float64 whatever it is.
    max_iter : int, default=-1
        Limit on rounds ("blocks", "newton"), two-row steps ("usmo") or interior point iterations; -1 for none.
    max_time : float, default=None
        Limit on the seconds spent in the solver; "qp" ignores it. The best solution so far is kept, with its
        certificate.
    cache_size : float or "auto", default="auto"
        Megabytes for kernel rows. "auto" is a quarter of the free memory, at least 50 and at most 400, for
        "blocks", and 200 for "usmo".
    checkpoint : path, default=None
        File for the state of a long fit ("blocks"), written every ``checkpoint_seconds`` and removed at the end.
        The same fit started again after a crash continues from it.
    checkpoint_seconds : float, default=30
        Shortest time between two writes.
    warm_start : bool, default=False
        Start from the previous solution if the new table has as many rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples and folds on which the prior is estimated and λ is chosen, of trees, landmarks and random
        features, and of the sample on which an approximation is compared. None gives the same results every time.
    verbose : int, default=0
        1 shows a live line on stderr if that is a terminal, 2 prints a line per pass. Callbacks of scikit-learn 1.9
        (``set_callbacks``) get each pass as a subtask and can end the fit, except with ``approximation``.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The value of a row not called positive, and that of a positive.
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
    support_ : ndarray of int
        Rows of the training table with a non-zero coefficient.
    support_vectors_ : ndarray or CSR matrix
        These rows; empty for a precomputed kernel.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients α.
    intercept_ : ndarray of shape (1,)
        β minus ``threshold_``.
    threshold_ : float
        The threshold on Σ α·k(x_i, ·) + β.
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
    coef_ : ndarray of shape (1, n_features)
        Weights of the columns; only for the linear kernel.
    certificate_ : Certificate
        ``primal``, ``dual``, ``gap``, ``relative_gap``, ``kkt_violation``, ``equality_residual``, ``convex``,
        ``precision``, ``rounding``.
    approximation_ : Approximation
        The approximate kernel compared with the exact one on a sample. Only with ``approximation``.
    n_iter_ : int
        Rounds ("blocks", "newton"), two-row steps ("usmo") or interior point iterations.
    kernel_rows_ : float
        Kernel values computed by the solver, in rows of the n × n kernel matrix of the unlabelled rows. The
        certificate computes the rows of the support once more. Sums over leaves of trees count as the rows they
        replace.
    history_ : tuple of PassRecord
        State after each pass: kind, steps, objective, violation, beta, nonbound, kernel_rows, seconds.
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

    lam_: float
    certificate_: Certificate
    history_: tuple[PassRecord, ...]
    n_iter_: int
    kernel_rows_: float

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **KernelPUClassifier._parameter_constraints,
        **RISK_CONSTRAINTS,
        "lam": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto", "cv"})],
        "solver": [StrOptions({"auto", "blocks", "usmo", "interior-point", "newton", "qp"})],
        "kernel": [StrOptions({*FIXED, *FORESTS}), callable],
        "n_trees": [Interval(Integral, 1, MOST_TREES, closed="both")],
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
        prior: Prior = "estimate",
        *,
        lam: Lam = "auto",
        kernel: KernelName = "rbf",
        gamma: Gamma = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        class_weight: ClassWeight = "balanced",
        eta: Eta = "auto",
        n_trees: int = 300,
        scenario: Scenario = "case-control",
        propensity: PropensityChoice = None,
        propensity_columns: Sequence[int | str] | None = None,
        threshold: Threshold = "prior",
        solver: Solver = "auto",
        approximation: ApproximationName | None = None,
        n_components: int = 500,
        tol: float = 1e-3,
        max_iter: int = -1,
        max_time: float | None = None,
        cache_size: CacheSize = "auto",
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
        self.class_weight = class_weight
        self.eta = eta
        self.n_trees = n_trees
        self.scenario = scenario
        self.propensity = propensity
        self.propensity_columns = propensity_columns
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

    def _fit(self, X: Any, y: Any, sample_weight: Any, propensity: Any, groups: Any, context: Any) -> None:
        check_checkpoint(self.checkpoint)
        table = prepare_table(self, X, y, sample_weight, propensity, groups)
        spec = specification(self, table)
        table, choices = prepare_choices(self, table, spec, self.lam)
        self._warn_of_size(table)
        train(self, table, spec, choices, previous_sigma(self, table, spec, choices), context)

    def _warn_of_size(self, table: Table) -> None:
        n = len(table.sample(self.scenario))
        exact = self.solver == "auto" and self.approximation is None
        if not exact or n < _LARGE or self.kernel in ("linear", "precomputed", "forest"):
            return
        work = expected_work(table.X, n) if self.kernel == "rbf" else None
        if n >= _LARGE_UNTIMED if work is None else work.seconds >= _LONG:
            time = "" if work is None else f" and takes about {in_words(work.seconds)} here"
            caller.warn(
                f"an exact fit of {n} unlabelled rows computes a large part of a {n} × {n} kernel matrix{time}. "
                "approximation='nystroem' takes time linear in the rows and reports its error. "
                "solver='blocks' fits exactly without this message.",
                topic="large-exact-fit",
            )

    def compress(self, X: Any, *, n_components: int | None = None, max_error: float | None = None) -> PUSVC:
        """A copy of the fitted model with fewer support vectors, for fast prediction.

        f is projected on the span of support vectors chosen where the error is largest
        (:mod:`usmo.estimators.compression`), until there are ``n_components`` of them or f differs by at most
        ``max_error`` on the support vectors. ``compression_`` of the copy has the largest and the mean error over
        ``X`` (give the training rows) and the number of rows whose class changes. The copy has no certificate.

        The trees of "forest" and "forest+rbf" stay as they are. "forest" needs no support vectors to predict: the copy
        has none, the same f, and needs no limit. For "forest+rbf" only the rbf part is projected.
        """
        check_is_fitted(self)
        if hasattr(self, "_map"):
            raise ValueError("compress needs support vectors, which approximation='rff' does not have")
        if self._kernel.name in ("linear", "precomputed"):
            raise ValueError(f"compress needs a kernel evaluated on rows, not kernel={self._kernel.name!r}")
        if n_components is None and max_error is None and self._kernel.name != "forest":
            raise ValueError("give n_components, max_error or both")
        if n_components is not None and n_components < 1:
            raise ValueError(f"n_components must be at least 1, got {n_components}")
        if max_error is not None and not max_error > 0:
            raise ValueError(f"max_error must be positive, got {max_error}")
        return compressed(self, X, n_components, max_error)

"""The choice of λ and γ without negatives: the PU risk of held-out rows.

For each γ and fold all λ are fitted by the path, which shares the kernel rows, and scored by the double hinge risk
π·mean_P(-f) + mean_U max(0, f, (1+f)/2) on the fold left out. The one-standard-error rule takes the largest λ
whose risk is within one standard error of the least. Large tables are selected on a sample of their rows.

Folds are fitted one after the other, each with all cores; in ``with joblib.parallel_config("dask")``, or another
of joblib's backends, they are fitted at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from usmo.core.arrays import Array, Index
from usmo.core.problem import PUProblem
from usmo.core.table import Table
from usmo.estimators.base import seed_of
from usmo.metrics import risk_with_error

LAMS = (0.1, 0.02, 0.005, 0.001, 0.0002)
"""The λ tried: mean F1 and AUC over 17 tables are best at neither end (``python -m benchmarks.selection``)."""
FOLDS = 3
_LOOSE = 1e-2
"""Tolerance of the fits in folds. Against 1e-5 it moves risks by less than a hundredth of their standard error."""


@dataclass(frozen=True)
class Selection:
    """Held-out PU risks and the choice made from them.

    ``mean`` and ``error`` (its standard error) have one row per γ and one column per λ; ``lam`` and ``gamma`` are
    the choice, ``best_lam`` the λ of the least risk. ``held_out`` are the decision values of the choice on rows
    that its fits had not seen, ``rows`` the rows of the table they belong to.
    """

    lams: Array
    gammas: Array
    mean: Array
    error: Array
    lam: float
    gamma: float
    best_lam: float
    rows: Index
    held_out: Array

    @property
    def results(self) -> dict[str, Array]:
        """The same as flat arrays, one entry per pair."""
        gamma, lam = (grid.ravel() for grid in np.meshgrid(self.gammas, self.lams, indexing="ij"))
        return {"lam": lam, "gamma": gamma, "mean_risk": self.mean.ravel(), "std_error": self.error.ravel()}


def select(
    model: Any,
    table: Table,
    prior: float,
    gammas: Sequence[float],
    *,
    lams: Sequence[float] = LAMS,
    folds: int = FOLDS,
    rule: str = "one-se",
    seed: int = 0,
) -> Selection:
    """Choose λ and γ for ``model`` (PUSVC or LinearPUSVC) on a validated table with a known prior."""
    lams_down = np.array(sorted({float(lam) for lam in lams}, reverse=True))
    rng = np.random.default_rng(seed)
    labelled, unlabelled = (_some(rows, rng, model._selection_rows) for rows in (table.labelled, table.unlabelled))
    if min(len(labelled), len(unlabelled)) < 2:
        raise ValueError(
            "lam='cv' needs at least 2 labelled positives and 2 unlabelled rows, got "
            f"{len(labelled)} and {len(unlabelled)}; give lam as a number"
        )
    fold = {kind: rng.permutation(len(rows)) % folds for kind, rows in (("P", labelled), ("U", unlabelled))}
    rows = np.concatenate([labelled, unlabelled])
    place = np.concatenate([fold["P"], fold["U"]])
    y = (np.arange(len(rows)) < len(labelled)).astype(int)
    weight = None if table.weight is None else table.weight[rows]
    mean, error = np.empty((2, len(gammas), len(lams_down)))
    values = np.empty((len(gammas), len(lams_down), len(rows)))
    jobs = []
    for k in range(folds):
        held = place == k
        kept_p, kept_u = rows[~held & (y == 1)], rows[~held & (y == 0)]
        if not (held.any() and len(kept_p) and len(kept_u)):
            raise ValueError(f"folds must be at most the {len(labelled)} labelled positives, got {folds}")
        sample = np.sort(np.concatenate([kept_p, kept_u])) if model.scenario == "censored" else kept_u
        problems = [PUProblem.from_prior(prior, lam, kept_p, sample, table.weight) for lam in lams_down]
        jobs += [(g, gamma, held, problems) for g, gamma in enumerate(gammas)]
    # one after the other, unless a joblib backend says otherwise
    found = Parallel()(
        delayed(_held_out)(model, table, gamma, problems, rows[held]) for _, gamma, held, problems in jobs
    )
    for (g, _, held, _), fits in zip(jobs, found, strict=True):
        values[g][:, held] = fits
    for g in range(len(gammas)):
        for j in range(len(lams_down)):
            mean[g, j], error[g, j] = risk_with_error(
                y, values[g, j], prior=prior, scenario=model.scenario, sample_weight=weight
            )
    error = np.nan_to_num(error)
    at = np.unravel_index(int(np.argmin(mean)), mean.shape)
    chosen = int(at[1])
    if rule == "one-se":
        chosen = int(np.flatnonzero(mean[at[0]] <= mean[at] + error[at])[0])
    return Selection(
        lams=lams_down,
        gammas=np.asarray(gammas, dtype=float),
        mean=mean,
        error=error,
        lam=float(lams_down[chosen]),
        gamma=float(gammas[int(at[0])]),
        best_lam=float(lams_down[at[1]]),
        rows=rows,
        held_out=values[at[0], chosen],
    )


def _held_out(model: Any, table: Table, gamma: float, problems: list[PUProblem], held: Index) -> Array:
    """f of each problem's fit on rows that are not in it."""
    return model._fold_solver(table, gamma)(problems, held, max(_LOOSE, model.tol))


def _some(rows: Index, rng: np.random.Generator, most: int) -> Index:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


class PUSVCCV(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A PU classifier with λ, and γ if several are given, chosen by held-out PU risk, then fitted to all rows.

    Parameters
    ----------
    estimator : PUSVC or LinearPUSVC, default=None
        What is fitted; None is ``PUSVC()``. Its ``lam`` is not used.
    lams : sequence of float, default=None
        Values of λ; None is 0.1, 0.02, 0.005, 0.001, 0.0002.
    gammas : sequence of float, default=None
        Factors of the γ that the estimator would use; None is that γ alone.
    folds : int, default=3
        Parts left out in turn, each with its share of labelled and unlabelled rows.
    rule : {"one-se", "min"}, default="one-se"
        The largest λ within one standard error of the least risk, or the λ of the least risk.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds; None gives the same folds every time.

    Attributes
    ----------
    best_estimator_ : the fitted classifier
    best_lam_, best_gamma_ : float
    cv_results_ : dict of arrays
        ``lam``, ``gamma``, ``mean_risk``, ``std_error`` for every pair tried.
    selection_ : Selection
    classes_, prior_, n_features_in_ : as in the classifier

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from usmo.fitting.select import PUSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> known = y.copy()
    >>> known[::2] = 0
    >>> search = PUSVCCV(gammas=[0.3, 1.0]).fit((X - X.mean(0)) / X.std(0), known)
    >>> bool(1e-4 <= search.best_lam_ <= 0.1)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        lams: Any = None,
        gammas: Any = None,
        folds: int = FOLDS,
        rule: str = "one-se",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
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
        if self.estimator is not None:
            return self.estimator
        from usmo.estimators.pusvc import PUSVC

        return PUSVC()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PUSVCCV:
        """Choose λ and γ, then fit to all rows."""
        lams = LAMS if self.lams is None else [float(lam) for lam in self.lams]
        if not lams or min(lams) <= 0:
            raise ValueError(f"lams must be positive numbers, got {list(lams)}")
        if self.rule not in ("one-se", "min"):
            raise ValueError(f"rule must be 'one-se' or 'min', got {self.rule!r}")
        if not self.folds >= 2:
            raise ValueError(f"folds must be at least 2, got {self.folds}")
        base = clone(self._base()).set_params(lam=lams[0])
        base._validate_params()
        if getattr(base, "approximation", None) is not None:
            raise ValueError(f"PUSVCCV fits the exact kernel; got approximation={base.approximation!r}")
        table, known, kernel = base._prepare(X, y, sample_weight)
        own = 1.0 if kernel is None else kernel.gamma
        gammas = [own]
        if self.gammas is not None:
            if "gamma" not in base.get_params():
                raise ValueError(f"gammas needs an estimator with a gamma, got {type(base).__name__}")
            gammas = [float(factor) * own for factor in self.gammas]
            if not gammas or min(gammas) <= 0:
                raise ValueError(f"gammas must be positive numbers, got {self.gammas!r}")
        seed = seed_of(self.random_state)
        found = select(
            base, table, known["prior_"], gammas, lams=lams, folds=self.folds, rule=self.rule, seed=seed
        )
        best = base.set_params(lam=found.lam)
        if self.gammas is not None:
            best.set_params(gamma=found.gamma)
            kernel = replace(kernel, gamma=found.gamma)
        best._fit_table(table, {**known, "lam_": found.lam, "selection_": found}, kernel)
        self.best_estimator_ = best
        self.selection_, self.cv_results_ = found, found.results
        self.best_lam_, self.best_gamma_ = found.lam, found.gamma
        self.classes_, self.prior_ = best.classes_, best.prior_
        self.n_features_in_ = best.n_features_in_
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_
        return self

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
        """Probabilities of the two classes."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

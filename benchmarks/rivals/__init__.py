"""The methods of ``benchmarks.quality``: ours and variants of ours, methods for tables, support vector machines.

A method gives scores of the unlabelled rows and of held-out rows. The adapters of support vector machines have one file
each, with ``fit(X, labels, prior, seed)``, which returns a decision function; they use the rbf kernel with γ = "scale".
``labels`` is 1 for labelled positives and 0 for unlabelled rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.rivals import (
    bagging_svm,
    balanced_svm,
    elkan_noto,
    naive_svm,
    nnpu_linear,
    one_class_svm,
    tables,
    variants,
)
from usmo import PUSVC, LinearPUSVC, RampPUSVC

Scores = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Setting:
    """A scenario, the prior that methods are given, and the share of positives among U that follows from it."""

    scenario: str
    prior: float
    share: float


@dataclass(frozen=True)
class Method:
    """``fit(X, labels, test, seed, setting)``; the setting is None for a method that does not use it."""

    fit: Callable[[Any, np.ndarray, Any, int, Any], Scores]
    uses_prior: bool = False


def _ours(classifier: Any, scores: Callable[..., Scores] = variants.plain, **parameters: Any) -> Method:
    def fit(X: Any, labels: np.ndarray, test: Any, seed: int, setting: Setting) -> Scores:
        def make(random_state: int) -> Any:
            return classifier(setting.prior, scenario=setting.scenario, random_state=random_state, **parameters)

        return scores(X, labels, test, seed, make)

    return Method(fit, uses_prior=True)


def _svm(adapter: Any, *, uses_prior: bool = False) -> Method:
    def fit(X: Any, labels: np.ndarray, test: Any, seed: int, setting: Setting | None) -> Scores:
        decision = adapter.fit(X, labels, 0.5 if setting is None else setting.share, seed)
        return decision(X[labels == 0]), decision(test)

    return Method(fit, uses_prior)


def _table(scores: Callable[..., Scores]) -> Method:
    return Method(lambda X, labels, test, seed, setting: scores(X, labels, test, seed))


OURS = {
    "PUSVC forest+rbf": _ours(PUSVC, kernel="forest+rbf"),
    "PUSVC forest": _ours(PUSVC, kernel="forest"),
    "PUSVC rbf": _ours(PUSVC),
}

TREES = {
    "PU bagging of trees": _table(tables.pu_bagging),
    "PU bagging, √d columns": _table(partial(tables.pu_bagging, max_features="sqrt")),
    "random forest": _table(tables.random_forest),
    "histogram boosting": _table(tables.boosting),
    "logistic regression": _table(tables.logistic),
}

MACHINES = {
    "LinearPUSVC": _ours(LinearPUSVC),
    "RampPUSVC": _ours(RampPUSVC),
    "SVC": _svm(naive_svm),
    "SVC, balanced": _svm(balanced_svm),
    "one-class SVM": _svm(one_class_svm),
    "Elkan-Noto (SVC)": _svm(elkan_noto),
    "bagging SVM": _svm(bagging_svm),
    "nnPU linear": _svm(nnpu_linear, uses_prior=True),
}

VARIANTS = {
    f"PUSVC {kernel}, {name}": _ours(PUSVC, scores, kernel=kernel)
    for kernel in ("forest+rbf", "forest")
    for name, scores in (
        ("cross-fitted", variants.cross_fitted),
        ("three draws of trees", variants.several),
        ("with votes", variants.with_votes),
    )
} | {f"PUSVC rbf, λ = {lam:g}": _ours(PUSVC, lam=lam) for lam in (0.02, 0.005, 0.001)}

METHODS = {**OURS, **TREES, **MACHINES, **VARIANTS}

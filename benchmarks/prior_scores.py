"""Classifiers that score rows for the prior estimate: python -m benchmarks.prior_scores   (USMO_DATA set)

On one draw of every problem of ``benchmarks.priors``: |error| of the default estimator with the held-out scores
of each classifier. The first line is the default classifier. The last two are limits, trained with true classes, which
no PU method knows: with those of the rows of the problem, and with those of up to 6,000 rows of the table.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.priors import HARD, Problem, draw_of, last_table, problems, sample, table
from usmo.priors import DEFAULT, ESTIMATORS

CLASSIFIERS = {
    "radial features + logistic (default)": None,
    "logistic regression": make_pipeline(
        StandardScaler(), LogisticRegression(C=0.1, max_iter=300, class_weight="balanced")
    ),
    "random forest": RandomForestClassifier(100, min_samples_leaf=3, random_state=0),
    "gradient boosting": HistGradientBoostingClassifier(max_iter=60, random_state=0),
}
OWN_ROWS, WHOLE_TABLE = "true classes of the rows of the problem", "true classes of the table"
LIMITS = (OWN_ROWS, WHOLE_TABLE)
EVERY = (*CLASSIFIERS, *LIMITS)
MOST_OF_A_CLASS = 3000


class Given(ClassifierMixin, BaseEstimator):
    """The only column is the score."""

    def fit(self, X: Any, y: Any) -> Given:
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return np.asarray(X[:, 0])


def scores_by_class(X: Any, y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Held-out scores of all rows: a forest and a kernel machine trained with the true classes of the known rows."""
    models = [
        RandomForestClassifier(300, min_samples_leaf=2, random_state=0),
        make_pipeline(StandardScaler(with_mean=not hasattr(X, "tocsr")), SVC(class_weight="balanced")),
    ]
    total = np.zeros(len(y))
    for model in models:
        score = np.empty(len(y))
        rest = np.setdiff1d(np.arange(len(y)), known)
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(known, y[known]):
            model.fit(X[known[train]], y[known[train]])
            score[known[test]] = _decision(model, X[known[test]])
        if len(rest):  # the last model has not seen them either
            score[rest] = _decision(model, X[rest])
        total += (score - score.mean()) / score.std()
    return total


@lru_cache(maxsize=1)
def scores_of_table(name: str) -> np.ndarray:
    X, y = table(name)
    rng = np.random.default_rng(0)
    parts = [rng.permutation(np.flatnonzero(mask)) for mask in (y, ~y)]
    return scores_by_class(X, y, np.concatenate([part[:MOST_OF_A_CLASS] for part in parts]))


def _decision(model: Any, X: Any) -> np.ndarray:
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    share = np.clip(model.predict_proba(X)[:, 1], 0.002, 0.998)
    return np.log(share / (1.0 - share))


def rows_of(problem: Problem, classifier: str) -> tuple[np.ndarray, np.ndarray, float, Any]:
    """What the estimator sees, and the classifier."""
    X, labelled, true = sample(*problem)
    if classifier not in LIMITS:
        return X, labelled, true, CLASSIFIERS[classifier]
    rows = draw_of(*problem)[0]
    if classifier == OWN_ROWS:
        score = scores_by_class(X, last_table(problem[0])[1][rows], np.arange(len(rows)))
    else:
        score = scores_of_table(problem[0])[rows]
    return score[:, None], labelled, true, Given()


def main(names: list[str], draw: int) -> None:
    every = problems([draw])
    print(f"{len(every)} problems{'':28s} mean |error|    bias   worst   without hard tables   seconds")
    for name in names:
        began = time.perf_counter()
        errors = []
        for problem in every:
            X, labelled, true, model = rows_of(problem, name)
            fitted = ESTIMATORS[DEFAULT](scenario=problem[2], classifier=model, n_bootstrap=0).fit(X, labelled)
            errors.append(fitted.prior_ - true)
        e = np.array(errors)
        easy = np.array([problem[0] not in HARD for problem in every])
        print(
            f"{name:40s} {np.abs(e).mean():8.3f} {e.mean():9.3f} {np.abs(e).max():7.2f} {np.abs(e[easy]).mean():15.3f} "
            f"{time.perf_counter() - began:12.0f}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classifiers", nargs="+", default=EVERY, choices=EVERY)
    parser.add_argument("--draw", type=int, default=0, help="number of the draw")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    main(given.classifiers, given.draw)

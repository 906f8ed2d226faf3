"""The review's risk against a fit that knows all labels, and against simpler ways to use reviewed rows.

At some moments of a simulated review every way is fitted to the same rows by the same model; only the weights of the
rows differ. Quality is measured on the rows not yet reviewed. The fit that knows all labels is fitted to four fifths of
the table with their true labels and measured on the other fifth, in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.review.collections import RARE, TEXT, table, text
from usmo.core.problem import Problem
from usmo.estimators.pusvc import PUSVC
from usmo.fitting.newton import fit_newton
from usmo.fitting.specification import Specification
from usmo.review.rankers import choose_ranker
from usmo.review.risk import ReviewRisk
from usmo.review.simulation import Plan, review_order

MOMENTS = (0.02, 0.05, 0.1, 0.2)
"""Shares of the rows that are reviewed."""

_FEWEST = 3
"""Positives among the rows left that a measurement needs."""

_FOLDS = 5

Weights = tuple[np.ndarray, np.ndarray]
"""c and b of each row, as in :mod:`usmo.core.problem`; Σc = 1."""


def review(kinds: np.ndarray, left: int) -> Weights:
    """The review's risk."""
    c = ReviewRisk().weights(kinds, int(np.count_nonzero(kinds == 0)))
    return c, np.where(kinds == 1, c, 0.0)


def corrected(kinds: np.ndarray, left: int) -> Weights:
    """The review's risk without its bias, from the true number of positives left."""
    c, b = review(kinds, left)
    share = left * float(c[kinds == 0][0]) / 0.5
    c = np.where(kinds == 1, c * (1 - 2 * share), c) / (1 - share)
    return c, b


def equal(kinds: np.ndarray, left: int) -> Weights:
    """A rejected row weighs as much as one that is not reviewed."""
    c = ReviewRisk(rejected=1.0).weights(kinds, int(np.count_nonzero(kinds == 0)))
    return c, np.where(kinds == 1, c, 0.0)


def plain_pu(kinds: np.ndarray, left: int) -> Weights:
    """PU with negatives: found rows as a random sample of the positives, rejected ones of the negatives; true prior."""
    p, n, m = (int(np.count_nonzero(kinds == kind)) for kind in (1, 0, -1))
    prior, share = left / n, 0.5 if m else 0.0
    c = np.select([kinds == 1, kinds == 0], [share * prior / p, (1 - share) / n], share * (1 - prior) / max(m, 1))
    return c, np.where(kinds == 1, prior / p, 0.0)


def reviewed_only(kinds: np.ndarray, left: int) -> Weights:
    """The rows not yet reviewed are left out."""
    p, m = int(np.count_nonzero(kinds == 1)), int(np.count_nonzero(kinds == -1))
    c = np.select([kinds == 1, kinds == -1], [0.5 / p, 0.5 / max(m, 1)], 0.0)
    return c, np.where(kinds == 1, c, 0.0)


WAYS: dict[str, Callable[[np.ndarray, int], Weights]] = {
    "review's risk": review, "the same, bias removed": corrected, "rejected rows weigh 1": equal,
    "PU with negatives": plain_pu, "reviewed rows only": reviewed_only,
}  # fmt: skip
ALL_LABELS = "all labels known"


def run(seeds: Sequence[int], jobs: int) -> None:
    """Print AUC and average precision of every way at every moment, means over collections and seeds."""
    names = [("text", name) for name in TEXT] + [("tables", name) for name in RARE]
    tasks = [(kind, name, seed) for kind, name in names for seed in seeds]
    results = Parallel(n_jobs=jobs, verbose=5)(delayed(_one)(*task) for task in tasks)
    for kind, title in (("text", "Abstracts"), ("tables", "Tables")):
        print(f"\n{title}, {len(seeds)} seeds. AUC / average precision among the rows not reviewed")
        print(f"{'':26}" + "".join(f"{f'after {100 * moment:g} %':>16}" for moment in MOMENTS))
        for way in [*WAYS, ALL_LABELS]:
            cells = [_mean(tasks, results, kind, way, moment) for moment in MOMENTS]
            print(f"{way:26}" + "".join(f"{f'{auc:.3f} / {ap:.3f}':>16}" for auc, ap in cells))


def _mean(tasks: Sequence[Any], results: Sequence[Any], kind: str, way: str, moment: float) -> np.ndarray:
    """The mean over collections of the means over seeds."""
    by_name: dict[str, list[Any]] = {}
    for (own_kind, name, _), result in zip(tasks, results, strict=True):
        if own_kind == kind and (way, moment) in result:
            by_name.setdefault(name, []).append(result[way, moment])
    return np.mean([np.mean(pairs, axis=0) for pairs in by_name.values()], axis=0)


def _one(kind: str, name: str, seed: int) -> dict[tuple[str, float], tuple[float, float]]:
    data = (text if kind == "text" else table)(name)
    ranker: Any = choose_ranker(data.X)
    order = review_order(data.X, data.truth, seed, Plan(rules=()), ranker).rows
    X = ranker.latent.beside(data.X) if kind == "text" else data.X
    found: dict[tuple[str, float], tuple[float, float]] = {}
    for moment in MOMENTS:
        kinds = np.where(data.truth, 1, -1).astype(np.int8)
        kinds[order[round(moment * len(order)) :]] = 0
        is_open = kinds == 0
        left = int(data.truth[is_open].sum())
        if left < _FEWEST or not (kinds == -1).any():
            continue
        for way, weights in WAYS.items():
            scores = fitted_scores(X, *weights(kinds, left), ranker)
            found[way, moment] = _quality(data.truth[is_open], scores[is_open])
        found[ALL_LABELS, moment] = _all_labels(X, data.truth, is_open, ranker)
    return found


def _all_labels(X: Any, truth: np.ndarray, is_open: np.ndarray, ranker: Any) -> tuple[float, float]:
    """The quality of a fit that knows the labels of all rows but those that it is measured on."""
    pairs = []
    for _, fold in StratifiedKFold(_FOLDS, shuffle=True, random_state=0).split(truth, truth):
        kinds = np.where(truth, 1, -1).astype(np.int8)
        kinds[fold] = 0
        measured = fold[is_open[fold]]
        if truth[measured].any() and not truth[measured].all():
            scores = fitted_scores(X, *reviewed_only(kinds, 0), ranker)
            pairs.append(_quality(truth[measured], scores[measured]))
    auc, precision = np.mean(pairs, axis=0)
    return float(auc), float(precision)


def _quality(truth: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
    return float(roc_auc_score(truth, scores)), float(average_precision_score(truth, scores))


def fitted_scores(X: Any, c: np.ndarray, b: np.ndarray, ranker: Any) -> np.ndarray:
    """Decision values of all rows, of the ranker's model fitted with these weights."""
    lam = ranker.risk.lam
    positive, used = np.flatnonzero(b), np.flatnonzero(c)
    if sparse.issparse(X):
        problem = Problem(positive, used, b[positive] / (2 * lam), c[used] / (2 * lam))
        fit = fit_newton(problem, X, Specification(kernel=None, solver="newton", tol=1e-2))
        return np.asarray(X @ fit.coef).ravel()
    model = PUSVC(
        lam=lam, kernel="forest+rbf", gamma="auto", n_trees=ranker.n_trees, scenario="censored", tol=1e-2,
        random_state=ranker.seed,
    )  # fmt: skip
    propensity = np.where(b > 0, np.minimum(c / np.where(b > 0, b, 1.0), 1.0), 1.0)
    model.fit(X[used], (b > 0).astype(int)[used], sample_weight=c[used], propensity=propensity[used])
    return np.asarray(model.decision_function(X))

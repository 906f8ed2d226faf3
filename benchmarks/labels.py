"""Labels and costs: python -m benchmarks.labels [costs] [text] [negatives] [--draws 3]   (USMO_DATA set)

costs      class_weight None against "balanced" over the 17 tables, as they are and thinned to few positives
text       TF-IDF of three collections with 5 and 20 known documents, against what a data scientist would write
negatives  known negatives, drawn at random and from the top of a ranking, against fits without them
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import brier_score_loss, f1_score, roc_auc_score
from sklearn.svm import SVC, LinearSVC

from benchmarks.splits import split
from usmo import PUSVC, LinearPUSVC
from usmo.datasets import LARGE, SMALL
from usmo.metrics import prior_threshold

TABLES = (*SMALL, *LARGE)

COLLECTIONS = ("kitchenham", "radjenovic", "medical")

KERNELS = (("rbf", 1e-2), ("rbf", 5e-3), ("rbf", 2e-3), ("linear", 1e-1), ("linear", 1e-2), ("linear", 1e-3))

ETAS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)

LEAST_POSITIVES = 8
"""A thinned table keeps at least so many hidden positives, so that an AUC can be measured."""


def thinned(name: str, draw: int, prior: float | None) -> tuple[Any, np.ndarray, np.ndarray, float]:
    """X, labels, the truth of all rows and π of U, with positives of U left out until π is reached."""
    X, labels, _, truth_u, _, _ = split(name, draw)
    truth = labels == 1
    truth[labels == 0] = truth_u
    hidden = np.flatnonzero(truth & (labels == 0))
    if prior is not None:
        n = np.count_nonzero(~truth)
        keep = max(LEAST_POSITIVES, round(prior / (1 - prior) * n))
        hidden = np.random.default_rng(draw).permutation(hidden)[:keep]
    rows = np.sort(np.concatenate([np.flatnonzero(labels == 1), np.flatnonzero(~truth), hidden]))
    X, labels, truth = X[rows], labels[rows], truth[rows]
    return X, labels, truth, float(truth[labels == 0].mean())


def figure_costs(draws: int) -> None:
    """AUC, F1 at the prior and Brier score on U, with the true prior."""
    settings = [(kernel, lam, weight) for kernel, lam in KERNELS for weight in (None, "balanced")]
    for prior in (None, 0.1, 0.03):
        results: dict[Any, list[Any]] = defaultdict(list)
        for name in TABLES:
            for draw in range(draws):
                X, labels, truth, pi = thinned(name, draw, prior)
                hidden = truth[labels == 0]
                for kernel, lam, weight in settings:
                    model = PUSVC(pi, kernel=kernel, lam=lam, class_weight=weight).fit(X, labels)
                    f = model.decision_function(X[labels == 0])
                    chance = model.calibration_(f)
                    results[kernel, lam, weight].append(
                        (roc_auc_score(hidden, f), f1_score(hidden, f > 0), brier_score_loss(hidden, chance))
                    )
        print(f"prior {'of the tables' if prior is None else prior}: mean AUC, F1, Brier score over 17 tables")
        for (kernel, lam, weight), values in results.items():
            auc, f1, brier = np.mean(values, axis=0)
            print(
                f"  {kernel:7s} lam {lam:<6g} {weight or 'none':9s} {auc:.4f}  {f1:.4f}  {brier:.4f}", flush=True
            )


def documents(name: str) -> tuple[Any, np.ndarray]:
    """TF-IDF of titles and abstracts, and which are relevant."""
    table = pl.read_csv(Path(os.environ["USMO_DATA"]) / "text" / f"{name}.csv.gz")
    texts = (table["title"].fill_null("") + " " + table["abstract"].fill_null("")).to_list()
    X = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2, dtype=np.float64).fit_transform(texts)
    return X, (table["relevant"] == "yes").to_numpy()


def figure_text(draws: int) -> None:
    """AUC on the documents that are not known."""
    for known in (5, 20):
        means = defaultdict(list)
        for name in COLLECTIONS:
            X, relevant = documents(name)
            results: dict[str, list[float]] = defaultdict(list)
            for draw in range(draws):
                rng = np.random.default_rng(draw)
                labels = np.zeros(len(relevant), dtype=int)
                labels[rng.choice(np.flatnonzero(relevant), known, replace=False)] = 1
                rest = labels == 0
                pi = float(relevant[rest].mean())
                scores = {
                    "mean of the known": np.asarray(X @ np.asarray(X[labels == 1].mean(axis=0)).ravel()).ravel(),
                    "LinearSVC balanced": LinearSVC(class_weight="balanced").fit(X, labels).decision_function(X),
                }
                scores["LinearPUSVC()"] = LinearPUSVC(pi).fit(X, labels).decision_function(X)
                for weight in (None, "balanced"):
                    for lam in (1e-1, 1e-3):
                        model = LinearPUSVC(pi, lam=lam, class_weight=weight).fit(X, labels)
                        scores[f"the same, {weight}, lam {lam:g}"] = model.decision_function(X)
                for method, f in scores.items():
                    results[method].append(roc_auc_score(relevant[rest], f[rest]))
            for method, values in results.items():
                means[method].append(np.mean(values))
        print(f"{known} known documents, {draws} draws: AUC on {', '.join(COLLECTIONS)}, mean")
        for method, values in means.items():
            shown = "  ".join(f"{value:.3f}" for value in values)
            print(f"  {method:28s} {shown}  {np.mean(values):.4f}", flush=True)


def figure_negatives(draws: int) -> None:
    """AUC and F1 at the prior on held-out rows. PU and PNU get the true share of positives in U."""
    for at_top in (False, True):
        results: dict[Any, list[Any]] = defaultdict(list)
        for name in TABLES:
            for draw in range(draws):
                X, labels, prior, truth, test, test_truth = split(name, draw)
                unlabelled = np.flatnonzero(labels == 0)
                order = np.random.default_rng(draw).permutation(len(truth))
                if at_top:
                    order = np.argsort(-PUSVC(prior).fit(X, labels).decision_function(X[unlabelled]))
                negatives = unlabelled[order[~truth[order]]]
                for count in (0, 10, 30, 100, 300):
                    y = labels.copy()
                    y[negatives[: min(count, len(negatives) // 2)]] = -1
                    share = float(truth.sum() / np.count_nonzero(y == 0))
                    for method, f in _scores(X, labels, y, prior, share, test).items():
                        above = f > prior_threshold(f, float(test_truth.mean()))
                        results[count, method].append((roc_auc_score(test_truth, f), f1_score(test_truth, above)))
        print(
            f"known negatives {'from the top of a ranking' if at_top else 'at random'}, {draws} draws: mean AUC, F1"
        )
        for (count, method), values in results.items():
            auc, f1 = np.mean(values, axis=0)
            print(f"  {count:4d} {method:26s} {auc:.4f}  {f1:.4f}", flush=True)


def _scores(X: Any, labels: np.ndarray, y: np.ndarray, prior: float, share: float, test: Any) -> dict[str, Any]:
    """Decision values of all methods on held-out rows; ``labels`` are without negatives."""
    models: dict[str, Any] = {"PU only": PUSVC(prior).fit(X, labels)}
    if (y == -1).any():
        models["PNU, eta='auto'"] = PUSVC(share).fit(X, y)
        for eta in ETAS:
            models[f"PNU, eta={eta:g}"] = PUSVC(share, eta=eta).fit(X, y)
        known = y != 0
        models["SVC on the labelled"] = SVC(class_weight="balanced").fit(X[known], y[known])
    models["SVC, unlabelled = negative"] = SVC(class_weight="balanced").fit(X, y == 1)
    return {method: model.decision_function(test) for method, model in models.items()}


FIGURES = {"costs": figure_costs, "text": figure_text, "negatives": figure_negatives}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", default=list(FIGURES))
    parser.add_argument("--draws", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for figure in args.figures:
        FIGURES[figure](args.draws)

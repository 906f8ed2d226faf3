"""Default parameters: python -m benchmarks.defaults [--draws 2]   (USMO_DATA set, extra usmo-learn[bench])

``PUSVC().fit(X, y)`` against every classifier of pulearn with its own defaults, on the 17 tables split as in
``benchmarks.splits``; F1 and AUC on the unlabelled rows. Classifiers of pulearn get what they need: nnPU
the true prior (``PUSVC`` estimates it), the Elkan-Noto wrappers an ``SVC(probability=True)``, the weighted one the
counts of rows.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.svm import SVC

from benchmarks.splits import split
from usmo import PUSVC
from usmo.datasets import LARGE, SMALL

WIDEST = 200
"""Columns up to which the tree-augmented Bayes classifiers are tried: their time grows with the square."""


def rivals(labels: np.ndarray, prior: float, seed: int) -> dict[str, Any]:
    import pulearn

    counts = {"labeled": int(labels.sum()), "unlabeled": int((labels == 0).sum())}
    return {
        "PUSVC": PUSVC(),
        "Elkan-Noto": pulearn.ElkanotoPuClassifier(SVC(probability=True), random_state=seed),
        "weighted E-N": pulearn.WeightedElkanotoPuClassifier(SVC(probability=True), **counts, random_state=seed),
        "bagging": pulearn.BaggingPuClassifier(random_state=seed),
        "nnPU": pulearn.NNPUClassifier(prior, random_state=seed),
        "positive NB": pulearn.PositiveNaiveBayesClassifier(),
        "weighted NB": pulearn.WeightedNaiveBayesClassifier(),
        "positive TAN": pulearn.PositiveTANClassifier(),
        "weighted TAN": pulearn.WeightedTANClassifier(),
    }


def scores(model: Any, X: Any, labels: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    if not isinstance(model, PUSVC) and hasattr(X, "toarray"):
        X = X.toarray()
    U = X[labels == 0]
    model.fit(X, labels)
    predicted = np.asarray(model.predict(U)) == 1
    values = np.asarray(model.decision_function(U) if isinstance(model, PUSVC) else model.predict_proba(U))
    score = values if values.ndim == 1 else values[:, 1]
    return f1_score(truth, predicted, zero_division=0), roc_auc_score(truth, np.nan_to_num(score))


def main(draws: int) -> None:
    warnings.simplefilter("ignore")
    lines: dict[str, list[np.ndarray]] = {}
    failed: dict[str, int] = {}
    for name in (*SMALL, *LARGE):
        table: dict[str, list[tuple[float, float]]] = {}
        for draw in range(draws if name in SMALL else 1):
            X, labels, prior, truth, _, _ = split(name, draw)
            for method, model in rivals(labels, prior, draw).items():
                if "TAN" in method and X.shape[1] > WIDEST:
                    failed[f"{method} on {name}: not tried, {X.shape[1]} columns"] = draw
                    continue
                try:
                    pair = scores(model, X, labels, truth)
                except (ValueError, MemoryError) as error:
                    failed[f"{method} on {name}: {str(error)[:60]}"] = draw
                else:
                    table.setdefault(method, []).append(pair)
        for method, drawn in table.items():
            lines.setdefault(method, []).append(np.mean(drawn, axis=0))
        print(
            f"{name}: "
            + "  ".join(f"{m} {np.mean(v, axis=0)[0]:.3f}/{np.mean(v, axis=0)[1]:.3f}" for m, v in table.items()),
            flush=True,
        )
    print("\nmean over the tables, F1 / AUC on the unlabelled rows (tables)")
    for method, every in lines.items():
        f1, auc = np.mean(every, axis=0)
        print(f"{method:14s} {f1:.3f} / {auc:.3f} ({len(every)})")
    for what in failed:
        print(f"failed: {what}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2)
    main(parser.parse_args().draws)

"""Outliers among unlabelled rows: python -m benchmarks.outliers [--draws 3] [--first 0] [--known 50] [--backgrounds]

The larger class of each table (USMO_DATA) holds the inliers, of which some are known. A tenth of the unlabelled rows
is of the other class. Columns are standardised. AUC on the unlabelled rows; rivals are trained on the known inliers,
and on all rows. ``--backgrounds`` compares values of ``background`` instead.

Of PyOD's detectors that need no labels and no network, ECOD is the one its authors recommend first; the mean distance
to the nearest neighbours (KNN) and a kernel density (KDE) are the best of nine with the known inliers.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from pyod.models.ecod import ECOD
from pyod.models.kde import KDE
from pyod.models.knn import KNN
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from usmo import PUOutlierDetector
from usmo.datasets import LARGE, SMALL, load

TABLES = (*SMALL, *LARGE)
MOST_INLIERS = 900
CONTAMINATION = 0.1

Scorer = Callable[[np.ndarray, np.ndarray], np.ndarray]


def draws_of(name: str, known: int, draws: range) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """X, which rows are known inliers, and which are inliers."""
    X, y = load(name)
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    values, counts = np.unique(y, return_counts=True)
    larger = values[np.argmax(counts)]
    for draw in draws:
        rng = np.random.default_rng(draw)
        inliers = rng.permutation(np.flatnonzero(y == larger))[:MOST_INLIERS]
        share = CONTAMINATION / (1.0 - CONTAMINATION)
        outliers = rng.permutation(np.flatnonzero(y != larger))[: max(5, round(share * (len(inliers) - known)))]
        rows = np.concatenate([inliers, outliers])
        Z = StandardScaler().fit_transform(X[rows].astype(np.float64))
        yield Z, np.arange(len(rows)) < known, np.arange(len(rows)) < len(inliers)


def novelty(make: Callable[[], Any], everything: bool) -> Scorer:
    """Scores by a detector trained on the known inliers, or on all rows."""
    return lambda X, known: make().fit(X if everything else X[known]).score_samples(X)


def pyod(make: Callable[[], Any], everything: bool) -> Scorer:
    """The same for a detector of PyOD, whose scores are high for outliers."""
    return lambda X, known: -make().fit(X if everything else X[known]).decision_function(X)


def local_outlier_factor(X: np.ndarray, known: np.ndarray) -> np.ndarray:
    return np.asarray(LocalOutlierFactor().fit(X).negative_outlier_factor_)


def rivals() -> dict[str, Scorer]:
    return {
        "PUOutlierDetector": lambda X, known: (
            PUOutlierDetector(contamination=CONTAMINATION).fit(X, known).score_samples(X)
        ),
        "  the same, contamination estimated": lambda X, known: PUOutlierDetector().fit(X, known).score_samples(X),
        "IsolationForest, known inliers": novelty(lambda: IsolationForest(random_state=0), False),
        "IsolationForest, all rows": novelty(lambda: IsolationForest(random_state=0), True),
        "LocalOutlierFactor, known inliers": novelty(lambda: LocalOutlierFactor(novelty=True), False),
        "LocalOutlierFactor, all rows": local_outlier_factor,
        "OneClassSVM, known inliers": novelty(OneClassSVM, False),
        "OneClassSVM, all rows": novelty(OneClassSVM, True),
        "ECOD (PyOD), known inliers": pyod(ECOD, False),
        "ECOD (PyOD), all rows": pyod(ECOD, True),
        "KNN (PyOD), known inliers": pyod(partial(KNN, method="mean"), False),
        "KNN (PyOD), all rows": pyod(partial(KNN, method="mean"), True),
        "KDE (PyOD), known inliers": pyod(KDE, False),
    }


def backgrounds() -> dict[str, Scorer]:
    def scorer(share: float) -> Scorer:
        detector = PUOutlierDetector(contamination=CONTAMINATION, background=share)
        return lambda X, known: detector.fit(X, known).score_samples(X)

    return {f"background={share:g}": scorer(share) for share in (0.0, 0.5, 0.7, 0.85, 0.95)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="number of the first draw")
    parser.add_argument("--known", type=int, default=50)
    parser.add_argument("--backgrounds", action="store_true")
    arguments = parser.parse_args()
    scorers = backgrounds() if arguments.backgrounds else rivals()
    draws = range(arguments.first, arguments.first + arguments.draws)
    results: dict[str, list[float]] = defaultdict(list)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in TABLES:
            cases = list(draws_of(name, arguments.known, draws))
            for method, scores in scorers.items():
                auc = [roc_auc_score(good[~known], scores(X, known)[~known]) for X, known, good in cases]
                results[method].append(float(np.mean(auc)))
    print(
        f"AUC on the unlabelled rows, {len(TABLES)} tables, {arguments.draws} draws, {arguments.known} known inliers"
    )
    ranks = np.argsort(np.argsort(-np.array(list(results.values())), axis=0), axis=0) + 1
    for (method, values), rank in zip(results.items(), ranks, strict=True):
        print(f"{method:38s} mean {np.mean(values):.3f}   mean rank {np.mean(rank):.1f}")


if __name__ == "__main__":
    main()

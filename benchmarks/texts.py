"""Several text columns in one table: python -m benchmarks.texts [--draws 10] [--lam 0.01]   (USMO_DATA set)

AUC of LinearPUSVC on the documents that are not known, for 5 and 20 known ones of three collections (title,
abstract and year). The true share of relevant documents is given.

separate           a vocabulary for each text column, each with rows of length 1
joint              one text per row, one vocabulary
both               separate and joint side by side
joint, pairs half  the same as joint, pairs of words with half the weight: what TableEncoder does

The next two lines are other rankings of the same matrix. The last ones have the prior that Consensus estimates from it,
mean over three draws, beside the true one.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

from benchmarks.labels import COLLECTIONS
from usmo import LinearPUSVC
from usmo.columns import TableEncoder
from usmo.columns.blocks import weight_beside
from usmo.priors import Consensus

DEFAULT = "joint, pairs half"
"""What TableEncoder does."""


def matrices(name: str) -> tuple[dict[str, Any], np.ndarray]:
    """The table encoded in each way, and which documents are relevant."""
    table = pl.read_csv(Path(os.environ["USMO_DATA"]) / "text" / f"{name}.csv.gz")
    relevant = (table["relevant"] == "yes").to_numpy()
    table = table.select("title", "abstract", "year")
    apart = sparse.hstack([encoded(table.select(column), 1.0) for column in ("title", "abstract")], format="csr")
    year = sparse.csr_matrix(TableEncoder().fit_transform(table.select("year")))
    joint = encoded(table, 1.0)
    separate = sparse.hstack([apart, weight_beside(apart, year) * year], format="csr")
    found = {
        "separate": separate,
        "joint": joint,
        "both": sparse.hstack([separate, joint], format="csr"),
        DEFAULT: encoded(table, 0.5),
        "the same, hashed": TableEncoder(text="hash").fit_transform(table),
    }
    return found, relevant


def encoded(table: Any, pair_weight: float) -> Any:
    """The text columns as one text, with this weight of pairs of words."""
    encoder = TableEncoder().fit(table)
    for schema in encoder.columns_:
        if schema["kind"] == "text":
            schema["pair_weight"] = pair_weight
    return encoder.transform(table)


def by_mean(X: Any, labels: np.ndarray, prior: float) -> np.ndarray:
    """Products with the mean of the known documents."""
    return np.asarray(X @ np.asarray(X[labels == 1].mean(axis=0)).ravel()).ravel()


def by_svc(X: Any, labels: np.ndarray, prior: float) -> np.ndarray:
    """Documents that are not known as negatives, balanced."""
    return LinearSVC(C=0.11, class_weight="balanced").fit(X, labels).decision_function(X)


def drawn(relevant: np.ndarray, known: int, draw: int) -> np.ndarray:
    """Labels with so many known documents."""
    labels = np.zeros(len(relevant), dtype=int)
    labels[np.random.default_rng(draw).choice(np.flatnonzero(relevant), known, replace=False)] = 1
    return labels


def auc(X: Any, relevant: np.ndarray, known: int, draws: int, score: Callable[..., np.ndarray]) -> float:
    """The mean AUC over draws of the known documents."""
    values = []
    for draw in range(draws):
        labels = drawn(relevant, known, draw)
        rest = labels == 0
        values.append(roc_auc_score(relevant[rest], score(X, labels, float(relevant[rest].mean()))[rest]))
    return float(np.mean(values))


def prior(X: Any, relevant: np.ndarray, known: int, draws: int = 3) -> str:
    """The mean estimate of the prior, the mean of its interval's ends, and the true share."""
    every = [drawn(relevant, known, draw) for draw in range(draws)]
    found = [Consensus().fit(X, labels) for labels in every]
    low, high = np.mean([each.interval_ for each in found], axis=0)
    truth = np.mean([relevant[labels == 0].mean() for labels in every])
    return f"{np.mean([each.prior_ for each in found]):.3f} ({low:.3f} to {high:.3f}), true {truth:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--lam", type=float, default=0.01)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = [matrices(name) for name in COLLECTIONS]

    def by_pu(X: Any, labels: np.ndarray, prior: float) -> np.ndarray:
        return LinearPUSVC(prior, lam=args.lam).fit(X, labels).decision_function(X)

    runs = [(way, way, by_pu) for way in tables[0][0]]
    runs += [("mean of the known", DEFAULT, by_mean), ("LinearSVC, balanced", DEFAULT, by_svc)]
    for known in (5, 20):
        print(f"{known} known documents, {args.draws} draws: AUC on {', '.join(COLLECTIONS)}, mean")
        for title, way, score in runs:
            means = [auc(found[way], relevant, known, args.draws, score) for found, relevant in tables]
            shown = "  ".join(f"{value:.3f}" for value in means)
            print(f"  {title:20s} {shown}  {np.mean(means):.4f}", flush=True)
        for name, (found, relevant) in zip(COLLECTIONS, tables, strict=True):
            print(f"  prior of {name:11s} {prior(found[DEFAULT], relevant, known)}", flush=True)


if __name__ == "__main__":
    main()

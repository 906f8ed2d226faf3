"""Approximate Gaussian kernels: python -m benchmarks.approximate [--rows 300000] [--landmarks 500] [--skip-interior]

A table of 10 columns whose positives are told by a product and a sum of columns, 1,000 of them labelled. PUSVC with
``approximation="nystroem"`` by both of its solvers against scikit-learn's Nystroem (as many landmarks, the same γ) with
LinearSVC and with SGDClassifier, both balanced, unlabelled rows taken as negative. All times include the choice of
landmarks and the features. AUC is that of the hidden classes on the unlabelled rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from usmo import PUSVC


def table(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, labels, and which rows are positive."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 10))
    truth = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n) > 1.0
    labels = np.zeros(n, dtype=int)
    labels[rng.choice(np.flatnonzero(truth), 1000, replace=False)] = 1
    return X, labels, truth


def measure(name: str, model: Any, X: np.ndarray, labels: np.ndarray, truth: np.ndarray) -> None:
    began = time.perf_counter()
    model.fit(X, labels)
    seconds = time.perf_counter() - began
    hidden = labels == 0
    auc = roc_auc_score(truth[hidden], model.decision_function(X[hidden]))
    gap = f", relative gap {model.certificate_.relative_gap:.1e}" if hasattr(model, "certificate_") else ""
    print(f"{name:38s} {seconds:8.1f} s   AUC {auc:.4f}{gap}", flush=True)


def main(rows: int, landmarks: int, skip_interior: bool) -> None:
    X, labels, truth = table(rows)
    prior, gamma = float(truth[labels == 0].mean()), 1.0 / X.shape[1]
    few = np.r_[np.flatnonzero(labels == 1)[:50], np.flatnonzero(labels == 0)[:500]]
    for lam in (5e-3, 1e-4):
        common = {"approximation": "nystroem", "n_components": landmarks, "gamma": gamma, "lam": lam}
        for solver in ("newton",) if skip_interior else ("newton", "interior-point"):
            model = PUSVC(prior, solver=solver, **common)
            PUSVC(prior, solver=solver, **{**common, "n_components": 20}).fit(X[few], labels[few])  # compiles
            measure(f"PUSVC {solver}, λ = {lam:g}", model, X, labels, truth)
    for name, linear in (
        ("LinearSVC", LinearSVC(class_weight="balanced", dual=False)),
        ("SGDClassifier", SGDClassifier(class_weight="balanced", random_state=0)),
    ):
        features = Nystroem(gamma=gamma, n_components=landmarks, random_state=0)
        measure(f"Nystroem + {name}", make_pipeline(features, linear), X, labels, truth)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--landmarks", type=int, default=500)
    parser.add_argument("--skip-interior", action="store_true", help="leave out the interior point")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    main(options.rows, options.landmarks, options.skip_interior)

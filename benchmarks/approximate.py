"""Approximate Gaussian kernels: python -m benchmarks.approximate [--rows 300000] [--landmarks 500] [--methods …]

A table of 10 columns whose positives are told by a product and a sum of columns, 1,000 of them labelled. PUSVC with
``approximation="nystroem"`` by both of its solvers, FALKON as in :mod:`benchmarks.falkon`, and scikit-learn's Nystroem
with LinearSVC and with SGDClassifier, both balanced, unlabelled rows taken as negative. All have the same γ and as many
landmarks. All times include the choice of landmarks and the features. AUC is that of the hidden classes on the
unlabelled rows. Memory is the peak of the process above that before the fit; every method has its own process.

"plain" has no class weights and lets PUSVC choose its solver, so that it also runs with older versions of the package:

    git worktree add ../older 5a7b6ef
    PYTHONPATH=../older/src python -m benchmarks.approximate --methods "plain, 0.005" "plain, 0.0001"
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import psutil
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from usmo import PUSVC

LAMBDAS = (5e-3, 1e-4)
_SCORED = 200_000
"""Unlabelled rows whose scores are compared."""


def table(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, labels, and which rows are positive."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 10))
    truth = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n) > 1.0
    labels = np.zeros(n, dtype=int)
    labels[rng.choice(np.flatnonzero(truth), 1000, replace=False)] = 1
    return X, labels, truth


def ours(solver: str, lam: float) -> Callable[[float, float, int], Any]:
    return lambda prior, gamma, m: PUSVC(
        prior, solver=solver, lam=lam, gamma=gamma, approximation="nystroem", n_components=m
    )


def plain(lam: float) -> Callable[[float, float, int], Any]:
    options = {"class_weight": None} if "class_weight" in PUSVC().get_params() else {}
    return lambda prior, gamma, m: PUSVC(
        prior, lam=lam, gamma=gamma, approximation="nystroem", n_components=m, **options
    )


def falkon(prior: float, lam: float, gamma: float, m: int) -> Any:
    from benchmarks.falkon import Falkon  # older versions of the package do not have what it needs

    return Falkon(prior, lam, gamma, m)


def theirs(linear: Any) -> Callable[[float, float, int], Any]:
    return lambda prior, gamma, m: make_pipeline(Nystroem(gamma=gamma, n_components=m, random_state=0), linear)


METHODS: dict[str, Callable[[float, float, int], Any]] = {
    **{f"newton, {lam:g}": ours("newton", lam) for lam in LAMBDAS},
    **{f"interior-point, {lam:g}": ours("interior-point", lam) for lam in LAMBDAS},
    **{f"plain, {lam:g}": plain(lam) for lam in LAMBDAS},
    **{f"falkon, {lam:g}": lambda prior, gamma, m, lam=lam: falkon(prior, lam, gamma, m) for lam in (1e-3, 1e-4)},
    "LinearSVC": theirs(LinearSVC(class_weight="balanced", dual=False)),
    "SGDClassifier": theirs(SGDClassifier(class_weight="balanced", random_state=0)),
}


def measure(name: str, rows: int, landmarks: int) -> None:
    """Fit by one method, after a fit of few rows that compiles."""
    X, labels, truth = table(rows)
    prior, gamma = float(truth[labels == 0].mean()), 1.0 / X.shape[1]
    few = np.r_[np.flatnonzero(labels == 1)[:50], np.flatnonzero(labels == 0)[:500]]
    METHODS[name](prior, gamma, 20).fit(X[few], labels[few])
    model = METHODS[name](prior, gamma, landmarks)
    before, began = psutil.Process().memory_info().rss, (time.perf_counter(), time.process_time())
    model.fit(X, labels)
    seconds, busy = time.perf_counter() - began[0], time.process_time() - began[1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    hidden = np.flatnonzero(labels == 0)[:_SCORED]
    auc = roc_auc_score(truth[hidden], model.decision_function(X[hidden]))
    gap = f"   relative gap {model.certificate_.relative_gap:.1e}" if hasattr(model, "certificate_") else ""
    memory = (peak - before) / 1e9
    print(
        f"{name:22s} {seconds:7.1f} s, of processors {busy:7.1f} s   {memory:5.1f} GB   AUC {auc:.4f}{gap}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--landmarks", type=int, default=500)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS, metavar="METHOD")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        warnings.simplefilter("ignore")
        measure(options.methods[0], options.rows, options.landmarks)
    else:
        common = ["--rows", str(options.rows), "--landmarks", str(options.landmarks), "--here"]
        for method in options.methods:
            subprocess.run(
                [sys.executable, "-m", "benchmarks.approximate", *common, "--methods", method], check=True
            )

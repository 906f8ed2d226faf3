"""Learned kernels, their parameters and their time: python -m benchmarks.forest COMMAND [--draws 2]   (USMO_DATA set)

    trees     the parameters of the trees, γ and λ
    choice    how often the held-out AUC of labelled against unlabelled rows picks a kernel within 0.005 of the best
    tiles     entries per second of leaf and rbf tiles, and the time of a fit of 10,000 rows against PU bagging
    large     fits of 100,000 to 1,000,000 rows × 10 columns with 100 trees

``benchmarks.quality`` compares them with other methods. ``trees`` and ``choice`` use the 20 tables of
``benchmarks.splits`` with the true prior. AUC and F1 are those of the unlabelled rows (U); F1 calls the share π of them
positive. The parameters of the trees and γ were chosen by draw 0, so ``choice`` begins at draw 2 by default.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.quality import measured
from benchmarks.rivals import tables
from benchmarks.splits import TABLES, dense_split
from usmo import PUSVC, PUSVCCV, path
from usmo.kernels import forest, leaf_matrix

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("as they are", {}),
    ("leaves of 1 row", {"_MIN_LEAF": 1}),
    ("leaves of 5 rows", {"_MIN_LEAF": 5}),
    ("a third of the columns", {"_COLUMNS": 0.33}),
    ("all columns", {"_COLUMNS": None}),
    ("draws of at least 64 rows", {"_LEAST_DRAW": 64}),
    ("draws of at least 256 rows", {"_LEAST_DRAW": 256}),
]
"""Constants of :mod:`usmo.kernels.forest` to try."""

LAMS = (1.0, 0.1, 0.02, 5e-3)


def trees(draws: range) -> None:
    """Mean AUC and F1 on U for each setting, kernel and λ."""
    own = {name: getattr(forest, name) for name in ("_MIN_LEAF", "_COLUMNS", "_LEAST_DRAW")}
    gammas = [("γ = 0.1/d", 0.1), ("γ = 0.3/d", 0.3), ("γ = 3/d", 3.0)]
    runs = [(text, kernel, changed, "scale") for text, changed in SETTINGS for kernel in ("forest", "forest+rbf")]
    runs += [(text, "forest+rbf", {}, factor) for text, factor in gammas]
    for text, kernel, changed, gamma in runs:
        for name, value in {**own, **changed}.items():
            setattr(forest, name, value)
        sums = np.zeros((len(LAMS), 2))
        for table in TABLES:
            for draw in draws:
                X, labels, prior, truth, _, _ = dense_split(table, draw)
                factor = gamma if isinstance(gamma, str) else gamma / X.shape[1]
                base = PUSVC(prior, kernel=kernel, gamma=factor, random_state=draw)
                models = path(base, X, labels, lams=LAMS)
                sums += [measured(truth, m.decision_function(X[labels == 0]), prior)[:2] for m in models]
        sums /= len(TABLES) * len(draws)
        cells = "  ".join(f"λ {lam:g}: {auc:.4f} {f1:.4f}" for lam, (auc, f1) in zip(LAMS, sums, strict=True))
        print(f"{kernel:11s} {text:30s} {cells}", flush=True)


CANDIDATES = ("forest+rbf", "forest", "rbf", "linear")


def choice(draws: range) -> None:
    """Kernels by their held-out AUC of P against U; the AUC of the hidden classes on U and on held-out rows."""
    rows = []
    for name in TABLES:
        for draw in draws:
            X, labels, prior, truth, test, test_truth = dense_split(name, draw)
            search = PUSVCCV(PUSVC(prior, random_state=draw), kernels=CANDIDATES, lams="auto", random_state=draw)
            picked = search.fit(X, labels).kernel_choice_.chosen
            models = [PUSVC(prior, kernel=kernel, random_state=draw).fit(X, labels) for kernel in CANDIDATES]
            on_u = [roc_auc_score(truth, model.decision_function(X[labels == 0])) for model in models]
            held = [roc_auc_score(test_truth, model.decision_function(test)) for model in models]
            rows.append((picked, on_u, held))
            print(f"{name:16s}{CANDIDATES[picked]:12s}" + " ".join(f"{auc:.3f}" for auc in on_u), flush=True)
    chosen = np.array([picked for picked, _, _ in rows])
    for text, aucs in (("U", [on_u for _, on_u, _ in rows]), ("held out", [held for _, _, held in rows])):
        values = np.array(aucs)
        own = values[np.arange(len(values)), chosen]
        near = np.mean(own >= values.max(axis=1) - 0.005)
        each = ", ".join(f"{k} {m:.4f}" for k, m in zip(CANDIDATES, values.mean(axis=0), strict=True))
        print(f"{text}: mean AUC of the choice {own.mean():.4f}, within 0.005 of the best {near:.0%}; {each}")


def large(draws: range) -> None:
    """Time, memory and certificate of forest kernels by number of rows; 1,000 labelled rows."""
    for n in (100_000, 300_000, 1_000_000):
        rng = np.random.default_rng(n)
        X = rng.normal(size=(n, 10)).astype(np.float32)
        truth = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n) > 1.0
        labels = np.zeros(n, dtype=int)
        labels[rng.choice(np.flatnonzero(truth), 1000, replace=False)] = 1
        prior = float(truth[labels == 0].mean())
        began = time.perf_counter()
        model = PUSVC(prior, kernel="forest", n_trees=100).fit(X, labels)
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        auc = roc_auc_score(truth[labels == 0], model.decision_function(X[labels == 0]))
        gap = model.certificate_.relative_gap
        print(
            f"{n:9,d} rows: {seconds:6.1f} s, peak {peak:.2f} GB, relative gap {gap:.1e}, AUC {auc:.3f}",
            flush=True,
        )


def tiles(draws: range) -> None:
    """Speed of tiles, and of fits of 10,000 unlabelled rows with 100 labelled ones."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_100, 10))
    X[:100] += 1.0
    labels = (np.arange(len(X)) < 100).astype(int)
    grown = forest.grow(
        X,
        (forest.Kind(np.arange(100), np.ones(100)), forest.Kind(np.arange(100, 10_100), np.ones(10_000))),
        300,
        0,
    )
    for name in ("forest", "forest+rbf", "rbf"):
        kernel = leaf_matrix.Kernel(name, 0.03)
        table = X if name == "rbf" else grown.table(X, columns=name == "forest+rbf")
        matrix = leaf_matrix.kernel_matrix(table, kernel).restrict(np.arange(len(X)), np.float32)
        out, best = np.empty((512, len(X)), dtype=np.float32), np.inf
        for _ in range(3 + len(draws)):
            began = time.perf_counter()
            matrix.write_rows(matrix.rows_at(np.arange(512)), out, np.arange(512))
            best = min(best, time.perf_counter() - began)
        began = time.perf_counter()
        model = PUSVC(0.3, kernel=name).fit(X, labels)
        fit = time.perf_counter() - began
        speed = f"{out.size / best / 1e9:.2f}·10⁹ entries per second"
        print(f"{name:11s} {speed}, a fit {fit:.2f} s, {model.kernel_rows_:.0f} kernel rows")
    began = time.perf_counter()
    tables.pu_bagging(X, labels, X[:10], 0)
    print(f"PU bagging of 300 trees {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    commands = {"trees": trees, "choice": choice, "tiles": tiles, "large": large}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=commands)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--first", type=int, help="first draw; 2, and 0 for trees")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    first = options.first if options.first is not None else 0 if options.command == "trees" else 2
    commands[options.command](range(first, first + options.draws))

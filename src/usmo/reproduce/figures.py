"""Time and F-measure on test rows against the number of unlabelled rows, and the passes of the paper's algorithm.

Setting: 100 labelled positives, λ = 0.01, the true prior, linear and Gaussian kernel (γ = "scale"), standardised
columns (MNIST: grey levels from 0 to 1). The F-measure is computed by the sign of f, the paper's rule, and with the
share π of the unlabelled rows called positive. A method stops after a fit that takes longer than ``patience``
(``PUSVC``: twice that), or where it cannot hold more rows. The dense QP takes about half a minute at 4,000 rows for
any class, so it goes that far for the first class of each table only. Poker hands beyond the 100,000 real rows are
drawn by ``make_poker_hands``, and marked as drawn.
"""

from __future__ import annotations

import csv
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from usmo.datasets import load, make_poker_hands
from usmo.estimators.pusvc import PUSVC
from usmo.estimators.ramp import RampPUSVC
from usmo.estimators.types import KernelName, Solver
from usmo.fitting.warm_up import compile_kernel_solvers, compile_linear_solver
from usmo.reproduce.cells import Row, f_measure
from usmo.reproduce.requirements import check_requirements
from usmo.reproduce.results import write_rows

LAMBDA, POSITIVES, TEST_ROWS = 1e-2, 100, 5000
SIZES = (500, 1000, 2000, 4000, 8000, 16_000, 32_000, 59_000, 100_000, 300_000, 1_000_000)
LIMITS = {"qp": 2000, "ramp": 8000, "usmo": 16_000}
"""Unlabelled rows up to which a method is run, because it holds the kernel matrix or is slow; others have no limit."""
FIRST_CLASS = {"qp": 4000}
"""Limits for the first class of a table."""
FIELDS = ("task", "kernel", "method", "n", "drawn", "seconds", "f_measure", "f_at_prior", "gap")
_TASKS = {
    "shuttle": range(1, 8),
    "mnist": range(10),
    "bank-marketing": (1,),
    "adult-a9a": (1,),
    "poker-hand": range(10),
}
QUICK = (("shuttle", 1), ("adult-a9a", 1))
"""Tasks of the quick run."""


def tasks() -> list[tuple[str, int]]:
    """All tasks: a table and its class that counts as positive."""
    return [(name, value) for name, values in _TASKS.items() for value in values]


def train_and_test(name: str) -> tuple[Any, np.ndarray, Any, np.ndarray, int]:
    """Training rows and classes, test rows and classes, and the number of training rows that are real, not drawn."""
    X, y = load(name)
    real = len(y)
    if name == "bank-marketing":  # no test set
        order = np.random.default_rng(0).permutation(real)
        X, y, Z, z = X[order[TEST_ROWS:]], y[order[TEST_ROWS:]], X[order[:TEST_ROWS]], y[order[:TEST_ROWS]]
        real = len(y)
    else:
        Z, z = load(name, subset="test")
    if name == "poker-hand":
        more, classes = make_poker_hands(SIZES[-1], random_state=0)
        X, y = np.vstack([X, more.astype(np.float64)]), np.concatenate([y, classes])
    if name == "mnist":
        X, Z = X / 255.0, Z / 255.0
    elif not sparse.issparse(X):
        mean, spread = X.mean(axis=0), X.std(axis=0)
        X, Z = (X - mean) / spread, (Z - mean) / spread
    return X, y, Z, z, real


def _fit(method: str, kernel: str, X: Any, y: np.ndarray, prior: float) -> tuple[Any, float]:
    """The fitted model and its relative gap."""
    name: KernelName = "linear" if kernel == "linear" else "rbf"
    if method == "ramp":
        return RampPUSVC(prior, lam=LAMBDA, kernel=name).fit(X, y), float("nan")
    solvers: dict[str, Solver] = {"qp": "qp", "usmo": "usmo", "fast": "auto" if name == "linear" else "blocks"}
    model = PUSVC(prior, lam=LAMBDA, kernel=name, solver=solvers[method]).fit(X, y)
    return model, float(model.certificate_.relative_gap)


def curve(name: str, value: int, patience: float, sizes: tuple[int, ...]) -> Iterator[Row]:
    """The points of one task, all kernels and methods."""
    X, y, Z, z, real = train_and_test(name)
    rng = np.random.default_rng(value)
    positive = np.flatnonzero(y == value)
    if len(positive) < 2:
        return
    labelled = rng.permutation(positive)[: min(POSITIVES, len(positive) // 2)]
    rest = np.setdiff1d(np.arange(len(y)), labelled)
    # real rows first: drawn ones are used only if these do not suffice
    rest = np.concatenate([rng.permutation(rest[rest < real]), rng.permutation(rest[rest >= real])])
    test = rng.permutation(len(z))[:TEST_ROWS]
    limits = {**LIMITS, **FIRST_CLASS} if value == _TASKS[name][0] else LIMITS
    for kernel in ("linear", "gaussian"):
        for method in ("fast", "usmo", "qp", "ramp"):
            for n in sizes:
                if n > len(rest) or n > limits.get(method, n):
                    break
                unlabelled = rest[:n]
                rows = np.concatenate([labelled, unlabelled])
                labels = (np.arange(len(rows)) < len(labelled)).astype(int)
                prior = float(np.clip(np.mean(y[unlabelled] == value), 0.5 / n, 1.0 - 0.5 / n))
                began = time.perf_counter()
                with warnings.catch_warnings():
                    # expected: a linear function is constant in twelve tasks (docs/reproduction.md)
                    warnings.filterwarnings("ignore", "the decision function is constant")
                    model, gap = _fit(method, kernel, X[rows], labels, prior)
                seconds = time.perf_counter() - began
                values = model.decision_function(Z[test])
                by_sign, at_prior = (f_measure(z[test] == value, values > t) for t in (-model.threshold_, 0.0))
                yield {
                    "task": f"{name} {value}", "kernel": kernel, "method": method, "n": n, "drawn": int(n > real),
                    "seconds": seconds, "f_measure": by_sign, "f_at_prior": at_prior, "gap": gap,
                }  # fmt: skip
                if seconds > (2.0 * patience if method == "fast" else patience):
                    break


def run(out: Path, *, patience: float = 10.0, quick: bool = False) -> list[Row]:
    """Compute the tasks missing in ``out/figures.csv`` and return all rows; each finished task is written at once."""
    chosen = list(QUICK) if quick else tasks()
    check_requirements([*(name for name, _ in chosen), "mnist"])  # passes() uses MNIST
    out.mkdir(parents=True, exist_ok=True)
    path = out / ("figures-quick.csv" if quick else "figures.csv")  # a quick run has other sizes
    rows = list(csv.DictReader(path.open())) if path.is_file() else []
    sizes = SIZES[:2] if quick else SIZES
    compile_kernel_solvers()
    compile_linear_solver()
    done = {row["task"] for row in rows}
    began = time.perf_counter()
    missing = [task for task in chosen if f"{task[0]} {task[1]}" not in done]
    for k, (name, value) in enumerate(missing, 1):
        rows += list(curve(name, value, patience, sizes))
        write_rows(path, FIELDS, rows)
        spent = time.perf_counter() - began
        print(f"usmo: {name} {value}, {k} of {len(missing)} tasks, {spent:.0f} s", file=sys.stderr)
    numbers = [{k: v if k in ("task", "kernel", "method") else float(v) for k, v in row.items()} for row in rows]
    wanted = {f"{name} {value}" for name, value in chosen}
    return [row for row in numbers if row["task"] in wanted]


def passes(sizes: tuple[int, ...] = (500, 1000, 2000, 4000, 6000)) -> list[dict[str, Any]]:
    """Runs of the paper's algorithm on MNIST 3, Gaussian kernel: number of rows, number of passes, history."""
    X, y, _, _, _ = train_and_test("mnist")
    rng = np.random.default_rng(0)
    labelled = rng.permutation(np.flatnonzero(y == 3))[:POSITIVES]
    rest = rng.permutation(np.setdiff1d(np.arange(len(y)), labelled))
    runs = []
    for n in sizes:
        rows = np.concatenate([labelled, rest[:n]])
        labels = (np.arange(len(rows)) < POSITIVES).astype(int)
        model = PUSVC(float(np.mean(y[rest[:n]] == 3)), lam=LAMBDA, solver="usmo").fit(X[rows], labels)
        runs.append({"n": n, "passes": len(model.history_), "history": model.history_})
    return runs

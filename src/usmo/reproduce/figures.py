"""Time and F-measure on test rows against the number of unlabelled rows, and the course of the paper's algorithm.

100 positives, λ = 0.01, the true prior; the F-measure by the sign of f, the paper's rule, and with the share π of
the unlabelled rows taken for positive; linear and Gaussian kernel (γ = "scale"), columns standardised (MNIST:
grey levels from 0 to 1). A method goes on to the next size until a fit takes longer than ``patience``, ours
twice as long, or holds more rows than it can. The dense QP takes about half a minute at 4,000 rows, whatever the
class; it goes so far with the first class of each table only. Poker hands beyond the 100,000 real rows are drawn
by ``make_poker_hands``, and marked so.
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
from usmo.fitting.kernel import compile_once
from usmo.fitting.linear import compile_linear_once
from usmo.reproduce.cells import f_measure
from usmo.reproduce.results import write_rows

LAMBDA, POSITIVES, TEST_ROWS = 1e-2, 100, 5000
SIZES = (500, 1000, 2000, 4000, 8000, 16_000, 32_000, 59_000, 100_000, 300_000, 1_000_000)
LIMITS = {"qp": 2000, "ramp": 8000, "usmo": 16_000}
"""Unlabelled rows up to which a method is tried; the others hold no kernel matrix and go on."""
FIRST_CLASS = {"qp": 4000}
"""The same with the first class of a table."""
FIELDS = ("task", "kernel", "method", "n", "drawn", "seconds", "f_measure", "f_at_prior", "gap")
_TASKS = {
    "shuttle": range(1, 8),
    "mnist": range(10),
    "bank-marketing": (1,),
    "adult-a9a": (1,),
    "poker-hand": range(10),
}
QUICK = (("shuttle", 1), ("adult-a9a", 1))


def tasks() -> list[tuple[str, int]]:
    """All tasks: a table and the class taken for positive."""
    return [(name, value) for name, values in _TASKS.items() for value in values]


def rows_of(name: str) -> tuple[Any, np.ndarray, Any, np.ndarray, int]:
    """Training rows, their classes, test rows, theirs, and how many of the training rows are real."""
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


def _fit(method: str, kernel: str, X: Any, known: np.ndarray, prior: float) -> tuple[Any, float]:
    from usmo import PUSVC
    from usmo.estimators.ramp import RampPUSVC

    name = "rbf" if kernel == "gaussian" else kernel
    if method == "ramp":
        return RampPUSVC(prior, lam=LAMBDA, kernel=name).fit(X, known), float("nan")
    solver = {"qp": "qp", "usmo": "usmo", "fast": "auto" if name == "linear" else "blocks"}[method]
    model = PUSVC(prior, lam=LAMBDA, kernel=name, solver=solver).fit(X, known)
    return model, float(model.certificate_.relative_gap)


def curve(name: str, value: int, patience: float, sizes: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """The points of one task, all kernels and methods."""
    X, y, Z, z, real = rows_of(name)
    rng = np.random.default_rng(value)
    positive = np.flatnonzero(y == value)
    if len(positive) < 2:
        return
    known_rows = rng.permutation(positive)[: min(POSITIVES, len(positive) // 2)]
    rest = np.setdiff1d(np.arange(len(y)), known_rows)
    # real rows first, so that drawn ones are used only where these do not suffice
    rest = np.concatenate([rng.permutation(rest[rest < real]), rng.permutation(rest[rest >= real])])
    some = rng.permutation(len(z))[:TEST_ROWS]
    limits = {**LIMITS, **FIRST_CLASS} if value == _TASKS[name][0] else LIMITS
    for kernel in ("linear", "gaussian"):
        for method in ("fast", "usmo", "qp", "ramp"):
            for n in sizes:
                if n > len(rest) or n > limits.get(method, n):
                    break
                unlabelled = rest[:n]
                rows = np.concatenate([known_rows, unlabelled])
                known = (np.arange(len(rows)) < len(known_rows)).astype(int)
                prior = float(np.clip(np.mean(y[unlabelled] == value), 0.5 / n, 1.0 - 0.5 / n))
                began = time.perf_counter()
                with warnings.catch_warnings():
                    # with the linear kernel in twelve tasks (docs/reproduction.md)
                    warnings.filterwarnings("ignore", "the decision function is constant")
                    model, gap = _fit(method, kernel, X[rows], known, prior)
                seconds = time.perf_counter() - began
                values = model.decision_function(Z[some])
                by_sign, at_prior = (f_measure(z[some] == value, values > t) for t in (-model.threshold_, 0.0))
                yield {
                    "task": f"{name} {value}", "kernel": kernel, "method": method, "n": n, "drawn": int(n > real),
                    "seconds": seconds, "f_measure": by_sign, "f_at_prior": at_prior, "gap": gap,
                }  # fmt: skip
                if seconds > (2.0 * patience if method == "fast" else patience):
                    break


def run(out: Path, *, patience: float = 10.0, quick: bool = False) -> list[dict[str, Any]]:
    """Compute the tasks missing in ``out/figures.csv``; each finished task is written at once."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / ("figures-quick.csv" if quick else "figures.csv")  # a quick run is no part of the full one
    rows = list(csv.DictReader(path.open())) if path.is_file() else []
    chosen = list(QUICK) if quick else tasks()
    sizes = SIZES[:2] if quick else SIZES
    compile_once()
    compile_linear_once()
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
    """The course of the paper's algorithm on MNIST 3, Gaussian kernel: its history and its passes against n."""
    from usmo import PUSVC

    X, y, _, _, _ = rows_of("mnist")
    rng = np.random.default_rng(0)
    known_rows = rng.permutation(np.flatnonzero(y == 3))[:POSITIVES]
    rest = rng.permutation(np.setdiff1d(np.arange(len(y)), known_rows))
    found = []
    for n in sizes:
        rows = np.concatenate([known_rows, rest[:n]])
        known = (np.arange(len(rows)) < POSITIVES).astype(int)
        model = PUSVC(float(np.mean(y[rest[:n]] == 3)), lam=LAMBDA, solver="usmo").fit(X[rows], known)
        found.append({"n": n, "passes": len(model.history_), "history": model.history_})
    return found

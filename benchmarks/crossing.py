"""Exact or approximate: python -m benchmarks.crossing [--rows 20000 50000 100000] [--columns 10 50 300] [--lam 1e-3]

Processor seconds of an exact Gaussian fit and of ``approximation="nystroem"`` with 500 landmarks, both with their
certificates, by rows and columns; the estimate that `verbose=1` and the warning of large tables use, in processor
seconds too; and AUC on the unlabelled rows. The tables are those of :mod:`benchmarks.approximate` with more columns,
which carry no signal.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from usmo import PUSVC
from usmo.fitting.estimate import expected_work
from usmo.fitting.warm_up import compile_kernel_solvers, compile_newton_solver

POSITIVES = 1000


def table(n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, labels, and which rows are positive."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d)).astype(np.float32)
    truth = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n) > 1.0
    labels = np.zeros(n, dtype=int)
    labels[rng.choice(np.flatnonzero(truth), POSITIVES, replace=False)] = 1
    return X, labels, truth


def measure(n: int, d: int, lam: float) -> None:
    X, labels, truth = table(n, d)
    hidden = np.flatnonzero(labels == 0)[:20_000]
    prior = float(truth[labels == 0].mean())

    def fit(**options: Any) -> tuple[float, float, PUSVC]:
        began = time.process_time()
        model = PUSVC(prior, lam=lam, **options).fit(X, labels)
        seconds = time.process_time() - began
        return seconds, float(roc_auc_score(truth[hidden], model.decision_function(X[hidden]))), model

    with threadpool_limits(1, user_api="blas"):
        began, work = time.process_time(), expected_work(X, n)
        assert work is not None
        # on a busy machine the estimate is too long by as much as wall time exceeds processor time
        estimate, spent = work.seconds, time.process_time() - began
        exact, auc, model = fit(solver="blocks")
        rough, rough_auc, _ = fit(approximation="nystroem")
    print(
        f"{n:8,d} × {d:3d}  exact {exact:6.1f} s, AUC {auc:.3f}, support {len(model.support_) / n:.2f} n, "
        f"estimate {estimate:6.1f} s (took {spent:.2f} s)   Nyström {rough:6.1f} s, AUC {rough_auc:.3f}   "
        f"ratio {exact / rough:5.1f}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 50_000, 100_000])
    parser.add_argument("--columns", type=int, nargs="+", default=[10, 50, 300])
    parser.add_argument("--lam", type=float, default=1e-3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    compile_kernel_solvers()
    compile_newton_solver()
    for columns in options.columns:
        for rows in options.rows:
            measure(rows, columns, options.lam)

"""Starting points for the block solver: python -m benchmarks.starts   (USMO_DATA set)

Kernel rows / n and time of solving (n = 10,000, τ = 1e-3, without the certificate) from each start; time relative to
the default start in the same run. The low-rank start first solves the problem on 300 Nyström features. Their 300
kernel rows are counted, rows of the linear kernel of the features are not.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.kernel_approximation import Nystroem

from benchmarks.fits import solve_blocks
from benchmarks.large import NAMES, problem
from usmo.core.arrays import Array
from usmo.core.problem import Problem
from usmo.fitting.warm_up import compile_kernel_solvers
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix
from usmo.solvers import starts

COMPONENTS = 300


def low_rank(task: Problem, matrix: KernelMatrix) -> Array:
    """Thresholds of the decision function of the problem on Nyström features."""
    features = Nystroem(gamma=matrix.kernel.gamma, n_components=COMPONENTS, random_state=0).fit_transform(matrix.X)
    linear = KernelMatrix(features.astype(np.float32), Kernel("linear"))
    return starts.from_scores(task, solve_blocks(task, linear, tol=0.1).G)


STARTS = {
    "subsample (default)": lambda task, matrix: None,
    "kernel mean of P": lambda task, matrix: starts.from_scores(
        task, matrix.product(task.c_rows, task.b_rows, task.b)
    ),
    "paper": starts.paper,
    "uniform": lambda task, matrix: starts.uniform(task),
    "low rank": low_rank,
}

if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    compile_kernel_solvers()
    print(f"{'table':8s} {'lam':>6s} {'nnz/n':>6s}", *(f"{name:>22s}" for name in STARTS))
    rows: dict[str, list[float]] = {name: [] for name in STARTS}
    times: dict[str, list[float]] = {name: [] for name in STARTS}
    for name in NAMES:
        for lam in (1e-3, 1e-5):
            task, matrix = problem(name, 10_000, lam)
            line, share = "", 0.0
            for start, make in STARTS.items():
                before, began = matrix.entries, time.perf_counter()
                first = make(task, matrix)
                extra = (matrix.entries - before) / task.n + (COMPONENTS if start == "low rank" else 0)
                solution = solve_blocks(task, matrix, first)
                times[start].append(time.perf_counter() - began)
                rows[start].append((solution.kernel_rows + extra) / task.n)
                share = np.count_nonzero(solution.sigma) / task.n
                relative = times[start][-1] / times["subsample (default)"][-1]
                line += f"   rows {rows[start][-1]:5.3f} t {relative:5.2f}"
            print(f"{name:8s} {lam:6g} {share:6.3f} {line}", flush=True)
    for start in STARTS:
        ratio = np.exp(np.mean(np.log(np.divide(times[start], times["subsample (default)"]))))
        print(f"{start:20s} rows/n {np.mean(rows[start]):.3f} on average, time {ratio:.2f} × that of the default")

"""Starting points for the block solver: python -m benchmarks.starts

Kernel rows / n and time of whole fits (n = 10,000, τ = 1e-3, without the certificate) from each start; time as a
ratio to the default in the same run. The low-rank start solves the problem on 300 Nyström features first; its
300 kernel rows are counted, its rows of the linear kernel between features are not.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.kernel_approximation import Nystroem

from benchmarks.large import NAMES, problem
from usmo.core.arrays import Array
from usmo.core.problem import PUProblem
from usmo.fitting.kernel import compile_once
from usmo.kernels.matrix import Kernel, KernelMatrix
from usmo.solvers import blocks
from usmo.solvers import starts as start

COMPONENTS = 300


def low_rank(task: PUProblem, matrix: KernelMatrix) -> Array:
    features = Nystroem(gamma=matrix.kernel.gamma, n_components=COMPONENTS, random_state=0).fit_transform(matrix.X)
    linear = KernelMatrix(features.astype(np.float32), Kernel("linear"))
    found = blocks.solve(task, linear, tol=0.1)
    return start.from_scores(task, found.G)


STARTS = {
    "subsample (default)": lambda task, matrix: None,
    "kernel mean of P": lambda task, matrix: start.from_scores(
        task, matrix.product(task.unlabelled, task.positives, task.c1)
    ),
    "paper": start.paper,
    "uniform": lambda task, matrix: start.uniform(task),
    "low rank": low_rank,
}

if __name__ == "__main__":
    compile_once()
    print(f"{'table':8s} {'lam':>6s} {'nnz/n':>6s}", *(f"{name:>22s}" for name in STARTS))
    rows: dict[str, list[float]] = {name: [] for name in STARTS}
    times: dict[str, list[float]] = {name: [] for name in STARTS}
    for name in NAMES:
        for lam in (1e-3, 1e-5):
            task, matrix = problem(name, 10_000, lam)
            line, share = "", 0.0
            for kind, make in STARTS.items():
                before, began = matrix.entries, time.perf_counter()
                first = make(task, matrix)
                extra = (matrix.entries - before) / task.n + (COMPONENTS if kind == "low rank" else 0)
                solution = blocks.solve(task, matrix, first)
                times[kind].append(time.perf_counter() - began)
                rows[kind].append((solution.kernel_rows + extra) / task.n)
                share = np.count_nonzero(solution.sigma) / task.n
                relative = times[kind][-1] / times["subsample (default)"][-1]
                line += f"   rows {rows[kind][-1]:5.3f} t {relative:5.2f}"
            print(f"{name:8s} {lam:6g} {share:6.3f} {line}", flush=True)
    for kind in STARTS:
        ratio = np.exp(np.mean(np.log(np.divide(times[kind], times["subsample (default)"]))))
        print(f"{kind:20s} rows/n {np.mean(rows[kind]):.3f} on average, time {ratio:.2f} × the default's")

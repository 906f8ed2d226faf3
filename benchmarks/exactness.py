"""A solver against the QP library on the paper's 12 small tables × 2 kernels × 4 λ.

    python -m benchmarks.exactness [--solver blocks]

For tol = 1e-4, which the promises are about, and tol = 1e-6: relative excess of the dual objective over that of the QP
library, KKT violation, relative duality gap, steps, kernel rows. The last line tells whether the promises are kept.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from benchmarks.fits import fit
from usmo.core.labels import pu_problem
from usmo.core.problem import Problem
from usmo.datasets import SMALL, load, make_pu
from usmo.fitting.certify import certify, check_kernel
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix
from usmo.solvers import qp

LAMBDAS = (1e-4, 1e-3, 1e-2, 1e-1)


def paper_problem(name: str, kernel: str, lam: float, seed: int = 0) -> tuple[Problem, KernelMatrix]:
    """The paper's setting: a fifth of the positives labelled, π the share of positives among the rest."""
    X, y = load(name)
    labels, prior = make_pu(y, fraction=0.2, random_state=seed)
    problem = pu_problem(prior, lam, np.flatnonzero(labels == 1), np.flatnonzero(labels == 0))
    return problem, KernelMatrix(X, Kernel(kernel, gamma=0.5))


def objective(problem: Problem, matrix: KernelMatrix, sigma: np.ndarray) -> float:
    """F(σ), from kernel values computed anew."""
    rows = problem.c_rows
    q = matrix.product(rows, problem.b_rows, problem.b)
    return problem.dual_objective(sigma, q, q - matrix.product(rows, rows, sigma))


def main(names: list[str], tolerances: list[float], solver: str) -> int:
    worst = {tol: dict.fromkeys(("excess", "kkt", "gap", "steps", "rows", "seconds"), 0.0) for tol in tolerances}
    qp_gap, qp_seconds = 0.0, 0.0
    print(f"{'table':15s} {'kernel':6s} {'lam':>6s} {'n':>5s} {'qp gap':>8s}", end="")
    for tol in tolerances:
        print(f" | tol {tol:g}: {'excess':>8s} {'kkt':>8s} {'gap':>8s} {'steps':>7s} {'rows/n':>6s}", end="")
    print()
    for name in names:
        for kernel in ("linear", "rbf"):
            for lam in LAMBDAS:
                problem, matrix = paper_problem(name, kernel, lam)
                began = time.perf_counter()
                reference = qp.solve(problem, matrix)
                qp_seconds += time.perf_counter() - began
                best = objective(problem, matrix, reference.sigma)
                psd = check_kernel(problem, matrix)
                gap = certify(problem, matrix, reference, psd).certificate.relative_gap
                qp_gap = max(qp_gap, gap)
                print(f"{name:15s} {kernel:6s} {lam:6g} {problem.n:5d} {gap:8.1e}", end="")
                for tol in tolerances:
                    began = time.perf_counter()
                    solution, certificate = fit(problem, matrix, solver=solver, tol=tol)
                    seconds = time.perf_counter() - began
                    excess = (objective(problem, matrix, solution.sigma) - best) / abs(best)
                    over = (certificate.kkt_violation - 1e-9 * float(np.abs(solution.G).max())) / tol
                    row = worst[tol]
                    row["excess"] = max(row["excess"], excess)
                    row["kkt"] = max(row["kkt"], over)
                    row["gap"] = max(row["gap"], certificate.relative_gap)
                    row["steps"] += solution.iterations
                    row["rows"] += solution.kernel_rows / problem.n
                    row["seconds"] += seconds
                    print(
                        f" | {'':9s}{excess:8.1e} {certificate.kkt_violation:8.1e} {certificate.relative_gap:8.1e} "
                        f"{solution.iterations:7d} {solution.kernel_rows / problem.n:6.2f}",
                        end="",
                    )
                print(flush=True)
    print(f"\nsolver {solver}", end="")
    problems = len(names) * 2 * len(LAMBDAS)
    print(f"\n{problems} problems; largest relative gap of the QP library {qp_gap:.1e}")
    for tol, row in worst.items():
        print(
            f"tol {tol:g}: largest excess {row['excess']:.1e}, largest KKT violation / tol {row['kkt']:.3f}, "
            f"largest relative gap {row['gap']:.1e}, steps {row['steps']:.0f}, rows/n "
            f"{row['rows'] / problems:.2f} on average, time {row['seconds'] / qp_seconds:.4f} of that of the QP library"
        )
    row = worst[tolerances[0]]
    kept = row["excess"] <= 1e-6 and row["kkt"] <= 1 and row["gap"] <= 1e-5
    print("promises at the first tol (excess ≤ 1e-6, KKT ≤ tol, gap ≤ 1e-5):", "kept" if kept else "BROKEN")
    return 0 if kept else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=list(SMALL), choices=SMALL)
    parser.add_argument("--tol", nargs="+", type=float, default=[1e-4, 1e-6])
    parser.add_argument("--solver", default="usmo", choices=["usmo", "blocks"])
    arguments = parser.parse_args()
    sys.exit(main(arguments.tables, arguments.tol, arguments.solver))

"""Clarabel against PIQP on the dense QP: python -m benchmarks.oracle   (needs pip install piqp)

The same problem in the same variables, with a tolerance of 1e-10 for both: time, iterations and the duality gap of the
result, without a crossover.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy import sparse

from benchmarks.exactness import paper_problem

Answer = tuple[np.ndarray, float, int]


def by_clarabel(K: np.ndarray, q: np.ndarray, total: float) -> Answer:
    import clarabel

    n = len(q)
    eye, zero = sparse.identity(n, format="csc"), sparse.csc_matrix((n, n))
    P = sparse.block_diag([sparse.csc_matrix(np.triu(K)), zero], format="csc")
    row = sparse.csc_matrix(np.concatenate([np.ones(n), np.zeros(n)]))
    parts = [row, *(sparse.hstack(p) for p in ([-eye, -eye], [eye, -eye], [-eye, zero], [eye, zero]))]
    b = np.concatenate([[total], np.zeros(n), np.ones(n), np.zeros(n), np.ones(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.direct_solve_method = False, "faer"
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-10
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(4 * n)]
    A = sparse.vstack(parts, format="csc")
    result = clarabel.DefaultSolver(P, np.concatenate([-q, np.ones(n)]), A, b, cones, settings).solve()
    return np.asarray(result.x)[:n], -float(result.z[0]), int(result.iterations)


def by_piqp(K: np.ndarray, q: np.ndarray, total: float) -> Answer:
    import piqp

    n = len(q)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    solver.settings.check_duality_gap = True
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = 1e-10
    # the split σ = a + b leaves bounds only, which PIQP's dense back end handles without general inequalities
    P, c = np.block([[K, K], [K, K]]), np.concatenate([-q - 1.0, -q + 1.0])
    box = np.zeros(2 * n), np.full(2 * n, 0.5)
    solver.setup(P, c, np.ones((1, 2 * n)), np.array([total]), None, None, None, *box)
    solver.solve()
    x = solver.result.x
    return x[:n] + x[n:], -float(solver.result.y[0]), int(solver.result.info.iter)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    rivals: dict[str, Callable[[np.ndarray, np.ndarray, float], Answer]] = {
        "clarabel": by_clarabel,
        "piqp": by_piqp,
    }
    print(f"{'table':12s} {'kernel':6s} {'lam':>6s} {'n':>5s}", *(f"{r:>28s}" for r in rivals))
    for name in ("heart", "australian", "isolet", "spectf", "krvskp"):
        for kernel in ("linear", "rbf"):
            for lam in (1e-4, 1e-1):
                problem, matrix = paper_problem(name, kernel, lam)
                rows, c2 = problem.c_rows, problem.c[0]
                K, q = matrix.block(rows, rows), matrix.product(rows, problem.b_rows, problem.b)
                line = f"{name:12s} {kernel:6s} {lam:6g} {problem.n:5d}"
                for solve in rivals.values():
                    began = time.perf_counter()
                    share, beta, iterations = solve(c2 * K, q, problem.total / c2)
                    seconds = time.perf_counter() - began
                    sigma = problem.repair(share * c2)
                    G = q - K @ sigma
                    relative = problem.gap(sigma, beta, G) / abs(problem.dual_objective(sigma, q, G))
                    line += f" {seconds:8.2f} s {iterations:3d} it gap {relative:8.1e}"
                print(line, flush=True)

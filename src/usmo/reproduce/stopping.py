"""The published stopping test against the complete one, on the 96 problems of the tables.

A pair of rows violates the optimality conditions if raising σ of one and lowering σ of the other by the same amount
lowers the objective. There are four kinds of pairs: the raised row below h or not, the lowered row above h or not.
The paper's compact test leaves out one: the raised row at or above h, the lowered one at or below. This module takes
steps on the worst pair that a test considers, from the paper's start, until no such pair exceeds τ.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from usmo.core.problem import Problem
from usmo.datasets import SMALL
from usmo.fitting.kernel import fit_kernel
from usmo.fitting.specification import Specification
from usmo.kernels.matrix import KernelMatrix
from usmo.reproduce.cells import KERNELS, LAMBDAS, Row, cell_problem
from usmo.reproduce.results import write_rows
from usmo.solvers import starts
from usmo.solvers.pair import pair_step, slope_dn, slope_up
from usmo.system.compilation import compiled

TAU = 1e-3
FIELDS = ("kernel", "dataset", "lambda", "n", "steps", "violation", "missing_pair", "excess", "changed")

_MOST_STEPS = 3_000_000
"""Limit on the steps of one problem; the 96 take at most 1,700."""


@compiled
def _steps(sigma, G, K, c2, tau, complete, most):  # type: ignore[no-untyped-def]
    """Steps on the worst pair until none exceeds tau; changes sigma and G, returns the number of steps."""
    n = len(sigma)
    for step in range(most):
        # i: row to raise, below h (low) or not (high); j: row to lower, above h (high) or not (low)
        i_low, i_high, j_low, j_high = -1, -1, -1, -1
        up_low, up_high, dn_low, dn_high = np.inf, np.inf, -np.inf, -np.inf
        for u in range(n):
            up, dn = slope_up(sigma[u], c2[u], G[u]), slope_dn(sigma[u], c2[u], G[u])
            if sigma[u] < 0.5 * c2[u]:
                if up < up_low:
                    i_low, up_low = u, up
            elif up < up_high:
                i_high, up_high = u, up
            if sigma[u] > 0.5 * c2[u]:
                if dn > dn_high:
                    j_high, dn_high = u, dn
            elif dn > dn_low:
                j_low, dn_low = u, dn
        i, j, worst = i_low, j_high, dn_high - up_low
        if dn_low - up_low > worst:
            i, j, worst = i_low, j_low, dn_low - up_low
        if dn_high - up_high > worst:
            i, j, worst = i_high, j_high, dn_high - up_high
        if complete and dn_low - up_high > worst:
            i, j, worst = i_high, j_low, dn_low - up_high
        if worst <= tau:
            return step
        eta = K[i, i] + K[j, j] - 2.0 * K[i, j]
        si, sj, _ = pair_step(-worst, eta, sigma[i], sigma[j], c2[i], c2[j])
        di, dj = si - sigma[i], sj - sigma[j]
        sigma[i], sigma[j] = si, sj
        for u in range(n):
            G[u] -= di * K[i, u] + dj * K[j, u]
    return most


def stopped_at(problem: Problem, matrix: KernelMatrix, *, complete: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """σ, G and the number of steps where the published or the complete test ends."""
    rows = problem.c_rows
    K = np.ascontiguousarray(matrix.block(rows, rows))
    q = matrix.product(rows, problem.b_rows, problem.b)
    sigma = starts.paper(problem, matrix)
    G = q - K @ sigma
    steps = _steps(sigma, G, K, problem.c, TAU, complete, _MOST_STEPS)
    return sigma, q - K @ sigma, steps


def run(out: Path, *, names: tuple[str, ...] = SMALL) -> list[Row]:
    """Measure how far from optimal the published test stops, on the first draw of every cell; write stopping.csv."""
    out.mkdir(parents=True, exist_ok=True)
    rows = [_shortfall(name, kernel, lam) for name in names for kernel in KERNELS for lam in LAMBDAS]
    write_rows(out / "stopping.csv", FIELDS, rows)
    return rows


def _shortfall(name: str, kernel: str, lam: float) -> Row:
    """The point where the published test stops, compared with the optimum."""
    problem, matrix, _ = cell_problem(name, kernel, lam, 0)
    sigma, G, steps = stopped_at(problem, matrix, complete=False)
    h = 0.5 * problem.c
    raised, lowered = (sigma >= h) & (sigma < problem.c), (sigma > 0) & (sigma <= h)
    missing = float(G[raised].max(initial=-np.inf)) - float(G[lowered].min(initial=np.inf)) - 2.0
    best = fit_kernel(problem, matrix, Specification(solver="blocks", tol=1e-6)).solution
    q = matrix.product(problem.c_rows, problem.b_rows, problem.b)
    objective, least = (problem.dual_objective(s, q, g) for s, g in ((sigma, G), (best.sigma, best.G)))
    f, exact = G + problem.bias(sigma, G), best.G + best.beta
    return {
        "kernel": kernel,
        "dataset": name,
        "lambda": lam,
        "n": problem.n,
        "steps": steps,
        "violation": problem.kkt_violation(sigma, G),
        "missing_pair": max(0.0, missing),
        "excess": (objective - least) / abs(least),
        "changed": float(np.mean((f > 0) != (exact > 0))),
    }


def summary(rows: list[Row]) -> dict[str, float]:
    """The numbers that docs/reproduction.md quotes."""
    short = [row for row in rows if row["violation"] > 2.0 * TAU]
    whole = [row for row in short if row["missing_pair"] >= 0.999 * row["violation"]]
    excess = np.array([max(0.0, row["excess"]) for row in rows])
    changed = np.array([row["changed"] for row in rows])
    return {
        "problems": len(rows),
        "short": len(short),
        "missing pair alone": len(whole),
        "largest violation": max((row["violation"] for row in rows), default=0.0),
        "median excess": float(np.median(excess)),
        "largest excess": float(excess.max(initial=0.0)),
        "problems with changed predictions": int(np.count_nonzero(changed)),
        "largest share changed": float(changed.max(initial=0.0)),
    }

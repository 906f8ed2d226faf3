"""The published stopping test against the complete one, on the 96 problems of the tables.

A pair of rows violates the optimality conditions when raising σ of one and lowering σ of the other by as much
lowers the objective. Of the four kinds of pairs (the raised row below h or not, the lowered row above h or not)
the paper's compact test leaves out one: the raised row at or above h, the lowered one at or below. Steps are made
here on the worst pair of the kinds that a test knows, from the paper's start, until it sees none above τ.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from usmo.datasets import SMALL
from usmo.reproduce.cells import KERNELS, LAMBDAS, cell_problem
from usmo.reproduce.results import write_rows
from usmo.solvers import starts
from usmo.solvers.pair import pair_step, slope_dn, slope_up
from usmo.system.compilation import compiled

TAU = 1e-3
FIELDS = ("kernel", "dataset", "lambda", "n", "steps", "violation", "missing_pair", "excess", "changed")

_MOST_STEPS = 3_000_000


@compiled
def _steps(sigma, G, K, c2, tau, complete, most):  # type: ignore[no-untyped-def]
    n = len(sigma)
    for step in range(most):
        # best raised row below h, and at or above; best lowered row above h, and at or below
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


def stopped_at(
    problem: Any, matrix: Any, *, complete: bool, tau: float = TAU
) -> tuple[np.ndarray, np.ndarray, int]:
    """σ, G and steps where the published or the complete test ends."""
    rows = problem.unlabelled
    K = np.ascontiguousarray(matrix.block(rows, rows))
    q = matrix.product(rows, problem.positives, problem.c1)
    sigma = starts.paper(problem, matrix)
    G = q - K @ sigma
    steps = _steps(sigma, G, K, problem.c2, tau, complete, _MOST_STEPS)
    return sigma, q - K @ sigma, steps


def run(out: Path, *, names: tuple[str, ...] = SMALL) -> list[dict[str, Any]]:
    """How far from optimal the published test stops, on the first draw of every cell; written to stopping.csv."""
    from usmo.fitting.kernel import train

    out.mkdir(parents=True, exist_ok=True)
    found = []
    for name in names:
        for kernel in KERNELS:
            for lam in LAMBDAS:
                problem, matrix, _ = cell_problem(name, kernel, lam, 0)
                sigma, G, steps = stopped_at(problem, matrix, complete=False)
                violation = problem.kkt_violation(sigma, G)
                at_h = sigma == 0.5 * problem.c2
                missing = float(G[sigma >= 0.5 * problem.c2].max(initial=-np.inf))
                missing -= float(G[at_h | ((sigma > 0) & (sigma < 0.5 * problem.c2))].min(initial=np.inf)) + 2.0
                best, _ = train(problem, matrix, solver="blocks", tol=1e-6)
                q = matrix.product(problem.unlabelled, problem.positives, problem.c1)
                objective, least = (problem.dual_objective(s, q, g) for s, g in ((sigma, G), (best.sigma, best.G)))
                f, exact = G + problem.bias(sigma, G), best.G + best.beta
                found.append(
                    {
                        "kernel": kernel,
                        "dataset": name,
                        "lambda": lam,
                        "n": problem.n,
                        "steps": steps,
                        "violation": violation,
                        "missing_pair": max(0.0, missing),
                        "excess": (objective - least) / abs(least),
                        "changed": float(np.mean((f > 0) != (exact > 0))),
                    }
                )
    write_rows(out / "stopping.csv", FIELDS, found)
    return found


def summary(found: list[dict[str, Any]]) -> dict[str, float]:
    """The figures that the text quotes."""
    short = [row for row in found if row["violation"] > 2.0 * TAU]
    whole = [row for row in short if row["missing_pair"] >= 0.999 * row["violation"]]
    excess = np.array([max(0.0, row["excess"]) for row in found])
    changed = np.array([row["changed"] for row in found])
    return {
        "problems": len(found),
        "short": len(short),
        "missing pair alone": len(whole),
        "largest violation": max((row["violation"] for row in found), default=0.0),
        "median excess": float(np.median(excess)),
        "largest excess": float(excess.max(initial=0.0)),
        "problems with changed predictions": int(np.count_nonzero(changed)),
        "largest share changed": float(changed.max(initial=0.0)),
    }

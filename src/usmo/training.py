"""From a problem to a certified solution: choose the start, run the solver, judge it, resume if it falls short."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from usmo import start as starts
from usmo.kernels import Kernel, KernelMatrix
from usmo.problem import Array, Certificate, PUProblem
from usmo.solution import PassRecord, Solution

_RESUMES = 3
"""How often a solution whose fresh violation exceeds the tolerance is taken up again."""

_ROUNDING = 1e-9
"""Share of max|G| by which the fresh violation may exceed the tolerance: rounding of the evaluation itself."""


def train(
    problem: PUProblem,
    kernel: KernelMatrix,
    *,
    solver: str = "auto",
    start: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = -1,
    cache_size: float = 200.0,
    progress: Callable[[PassRecord], None] | None = None,
) -> tuple[Solution, Certificate]:
    """Solve and certify. ``start`` is a feasible σ; the paper's start is used without one."""
    used = np.union1d(problem.positives, problem.unlabelled)
    if not np.isfinite(kernel.diag(used)).all():
        raise ValueError("the kernel overflows on these rows: scale the columns of X, or lower gamma or degree")
    if solver == "qp":
        from usmo.solvers import qp

        solution = qp.solve(problem, kernel, max_iter=max_iter)
        return solution, certify(problem, kernel, solution)

    _compile()
    from usmo.solvers import usmo

    sigma = starts.paper(problem, kernel) if start is None else start
    solution = usmo.solve(
        problem, kernel, sigma, tol=tol, max_iter=max_iter, cache_size=cache_size, progress=progress
    )
    certificate = certify(problem, kernel, solution)
    for _ in range(_RESUMES):
        allowed = tol + _ROUNDING * float(np.abs(solution.G).max())
        if solution.status != "optimal" or certificate.kkt_violation <= allowed:
            return solution, certificate
        # the values the solver kept up to date have drifted: go on from fresh ones
        solution = usmo.solve(
            problem, kernel, solution.sigma, tol=tol, cache_size=cache_size, progress=progress
        ).continued_from(solution)
        certificate = certify(problem, kernel, solution)
    return replace(solution, status="precision"), certificate


def certify(problem: PUProblem, kernel: KernelMatrix, solution: Solution) -> Certificate:
    """The certificate of a solution, from decision values computed afresh on every row in tiles."""
    alpha = problem.table_coefficients(solution.sigma, len(kernel))
    support = np.flatnonzero(alpha)
    used = np.union1d(problem.positives, problem.unlabelled)
    values = np.zeros(len(kernel))
    values[used] = kernel.product(used, support, alpha[support])
    g_p, g_u = values[problem.positives], values[problem.unlabelled]
    psd = kernel.looks_psd(used)
    return problem.certificate(solution.sigma, solution.beta, g_p, g_u, convex=psd)


@cache
def _compile() -> None:
    """Compile the solver, or load it from Numba's cache, on a problem that needs passes of both kinds."""
    from usmo.solvers import usmo
    from usmo.solvers._jit import announced_compilation

    toy = KernelMatrix(np.arange(20.0)[:, None], Kernel("rbf"))
    problem = PUProblem.from_prior(0.5, 1e-3, np.arange(5), np.arange(5, 20))
    with announced_compilation():
        usmo.solve(problem, toy, starts.uniform(problem))

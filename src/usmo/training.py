"""From a problem to a certified solution: choose the start, run the solver, judge it, resume if it falls short."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache

import numpy as np

from usmo import start as starts
from usmo.kernels import Kernel, KernelMatrix
from usmo.problem import Array, Certificate, PUProblem
from usmo.solution import Solution
from usmo.solvers.limits import Limits, Progress

_RESUMES = 3
"""How often a solution whose fresh violation exceeds the tolerance is taken up again."""

_ROUNDING = 1e-9
"""Share of max|G| by which the fresh violation may exceed the tolerance: rounding of the evaluation itself."""

_MOST_CACHE, _CACHE_SHARE = 1000.0, 0.25
"""The block solver's row cache by default: this share of the free memory, at most this many megabytes."""

_USMO_CACHE = 200.0


def train(
    problem: PUProblem,
    kernel: KernelMatrix,
    *,
    solver: str = "auto",
    start: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = -1,
    max_time: float | None = None,
    cache_size: float | None = None,
    progress: Progress | None = None,
) -> tuple[Solution, Certificate]:
    """Solve and certify. ``start`` is a feasible σ; without one the solver's own start is used."""
    used = np.union1d(problem.positives, problem.unlabelled)
    if not np.isfinite(kernel.diag(used)).all():
        raise ValueError("the kernel overflows on these rows: scale the columns of X, or lower gamma or degree")
    if solver == "qp":
        from usmo.solvers import qp

        solution = qp.solve(problem, kernel, max_iter=max_iter)
        return solution, _certificate(problem, kernel, solution, fresh_values(problem, kernel, solution))

    _compile()
    limits = Limits(max_iter, max_time)

    def run(start: Array | None, G: Array | None, done: int, attempt: int) -> Solution:
        from usmo.solvers import blocks, usmo

        steps = max_iter if max_iter < 0 else max_iter - done
        time_left = None if max_time is None else max(0.0, max_time - limits.seconds)
        if solver == "usmo":
            return usmo.solve(
                problem, kernel, starts.paper(problem, kernel) if start is None else start,
                tol=tol, max_iter=steps, max_time=time_left, progress=progress,
                cache_size=_USMO_CACHE if cache_size is None else cache_size,
            )  # fmt: skip
        megabytes = _default_cache() if cache_size is None else cache_size
        # the first correction is small enough for the float type of the first run, later ones are not
        space = blocks.Workspace.of(problem, kernel, np.float64, megabytes) if attempt > 1 else None
        return blocks.solve(
            problem, kernel, start, G=G, workspace=space, cache_size=megabytes,
            tol=tol, max_iter=steps, max_time=time_left, progress=progress,
        )  # fmt: skip

    solution, attempt = run(start, None, 0, 0), 0
    while True:
        values = fresh_values(problem, kernel, solution)
        certificate = _certificate(problem, kernel, solution, values)
        if solution.status not in ("optimal", "precision"):
            return solution, certificate
        reached = certificate.kkt_violation <= tol + _ROUNDING * float(np.abs(values[problem.unlabelled]).max())
        if reached or attempt == _RESUMES:
            return replace(solution, status="optimal" if reached else "precision"), certificate
        # what the solver kept up to date has drifted: go on from the fresh values
        attempt += 1
        again = run(solution.sigma, values[problem.unlabelled], solution.iterations, attempt)
        solution = again.continued_from(solution)


def fresh_values(problem: PUProblem, kernel: KernelMatrix, solution: Solution) -> Array:
    """Kα on every row in use, computed afresh in float64 in tiles."""
    alpha = problem.table_coefficients(solution.sigma, len(kernel))
    support = np.flatnonzero(alpha)
    used = np.union1d(problem.positives, problem.unlabelled)
    values = np.zeros(len(kernel))
    values[used] = kernel.product(used, support, alpha[support])
    return values


def certify(problem: PUProblem, kernel: KernelMatrix, solution: Solution) -> Certificate:
    """The certificate of a solution, from decision values computed afresh."""
    return _certificate(problem, kernel, solution, fresh_values(problem, kernel, solution))


def _certificate(problem: PUProblem, kernel: KernelMatrix, solution: Solution, values: Array) -> Certificate:
    psd = kernel.looks_psd(np.union1d(problem.positives, problem.unlabelled))
    g_p, g_u = values[problem.positives], values[problem.unlabelled]
    return problem.certificate(solution.sigma, solution.beta, g_p, g_u, convex=psd)


def _default_cache() -> float:
    """Megabytes of the row cache if the user names none."""
    try:
        with open("/proc/meminfo") as stream:
            fields = dict(line.split(":", 1) for line in stream)
        free = int(fields["MemAvailable"].split()[0]) / 1024
    except (OSError, KeyError, ValueError):
        names = os.sysconf_names if hasattr(os, "sysconf") else {}
        free = (
            os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**20 if "SC_AVPHYS_PAGES" in names else 0
        )
    return max(50.0, min(_MOST_CACHE, _CACHE_SHARE * free)) if free else _USMO_CACHE


@cache
def _compile() -> None:
    """Compile the solvers, or load them from Numba's cache, on a problem that needs passes of both kinds."""
    from usmo._jit import announced_compilation

    toy = KernelMatrix(np.arange(20.0)[:, None], Kernel("rbf"))
    problem = PUProblem.from_prior(0.5, 1e-3, np.arange(5), np.arange(5, 20))
    with announced_compilation():
        from usmo import tiles
        from usmo.solvers import blocks, usmo

        usmo.solve(problem, toy, starts.uniform(problem))
        for dtype in (np.float32, np.float64):
            blocks.solve(problem, toy, workspace=blocks.Workspace.of(problem, toy, dtype, 1.0))
            rows = np.zeros((1, 1), dtype=dtype)
            tiles.rbf_block(rows, rows, rows[0], rows[0], 1.0)

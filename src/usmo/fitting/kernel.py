"""From a problem to a certified solution: choose the start, run the solver, judge it, resume if it falls short."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from usmo.core.arrays import Array
from usmo.core.problem import Certificate, PUProblem
from usmo.core.solution import Solution
from usmo.fitting.certify import checked, is_reached, judged
from usmo.fitting.checkpoint import Checkpoint, fingerprint
from usmo.fitting.linear import is_narrow_linear, suits_interior_point, train_linear
from usmo.kernels.matrix import Kernel, KernelMatrix
from usmo.kernels.row_blocks import ArrayFeatures
from usmo.solvers import starts
from usmo.solvers.stopping import Limits, Progress

_RESUMES = 3
"""How often a solution whose fresh violation exceeds the tolerance is taken up again."""

MOST_CACHE, CACHE_SHARE = 400.0, 0.25
"""The block solver's row cache by default: this share of the free memory, at most this many megabytes."""

_USMO_CACHE = 200.0

Known = tuple[Array, Array]
"""Some σ and q - Kσ at it."""

_QP_GAP = 1e-6
"""Relative gap above which the QP library's answer is reported as short of precision."""


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
    checkpoint: tuple[str | os.PathLike[str], float] | None = None,
) -> tuple[Solution, Certificate]:
    """Solve and certify. ``start`` is a feasible σ; without one the solver's own start is used.

    ``checkpoint`` names a file and the seconds between two writings of it ("blocks" only).
    """
    if checkpoint is not None and solver not in ("auto", "blocks"):
        raise ValueError(f"checkpoint works with solver='blocks' only, got solver={solver!r}")
    if solver == "interior-point" and kernel.kernel.name != "linear":
        raise ValueError(f"solver='interior-point' needs kernel='linear', got kernel={kernel.kernel.name!r}")
    by_columns = partial(train_linear, problem, ArrayFeatures(kernel.X), tol=tol, progress=progress)
    free = solver == "auto" and checkpoint is None
    if solver == "interior-point" or (free and suits_interior_point(problem, kernel)):
        fit = by_columns(start=start, max_iter=max_iter, max_time=max_time)
        return fit.solution, fit.certificate
    psd = checked(problem, kernel)
    file = None if checkpoint is None else Checkpoint(*checkpoint, fingerprint(problem, kernel), problem.n)
    known = None if file is None else file.load()
    if solver == "qp":
        if not psd:
            raise ValueError("solver='qp' needs a positive semidefinite kernel; 'blocks' and 'usmo' do not")
        from usmo.solvers import qp

        by_qp, certificate = judged(problem, kernel, qp.solve(problem, kernel, max_iter=max_iter), psd)
        if by_qp.status == "optimal" and certificate.relative_gap > _QP_GAP:
            by_qp = replace(by_qp, status="precision")
        return by_qp, certificate

    compile_once()
    from usmo.solvers import blocks, usmo

    megabytes = default_cache() if cache_size is None else cache_size

    def run(sigma: Array | None, known: Known | None, attempt: int, steps: int, left: float | None) -> Solution:
        if solver == "usmo":
            return usmo.solve(
                problem, kernel, starts.paper(problem, kernel) if sigma is None else sigma,
                tol=tol, max_iter=steps, max_time=left, progress=progress,
                cache_size=_USMO_CACHE if cache_size is None else cache_size,
            )  # fmt: skip
        # the first correction is small enough for the float type of the first run, later ones are not
        space = blocks.Workspace.of(problem, kernel, np.float64, megabytes) if attempt > 1 else None
        return blocks.solve(
            problem, kernel, sigma, known=known, workspace=space, cache_size=megabytes, tol=tol, max_iter=steps,
            max_time=left, progress=progress, save=None if file is None else file.save,
        )  # fmt: skip

    begin, at = (start, None) if known is None else (known[2], (known[0], known[1]))
    found = refined(
        run, lambda solution: judged(problem, kernel, solution, psd), begin, at, tol, max_iter, max_time
    )
    if file is not None:
        file.done()
    if free and found[0].status == "precision" and is_narrow_linear(problem, kernel):
        # columns far from zero, which the interior point centres
        left = None if max_time is None else max(1e-3, max_time - found[0].history[-1].seconds)
        fit = by_columns(start=found[0].sigma, max_iter=max_iter, max_time=left)
        return fit.solution.continued_from(found[0]), fit.certificate
    return found


def refined(
    run: Callable[[Array | None, Known | None, int, int, float | None], Solution],
    judge: Callable[[Solution], tuple[Solution, Certificate]],
    start: Array | None,
    known: Known | None,
    tol: float,
    max_iter: int,
    max_time: float | None,
) -> tuple[Solution, Certificate]:
    """Solve, judge by values computed afresh, and go on from these where what the solver kept has drifted.

    ``run`` gets a start, some σ with its G, how often it was called before, and the steps and seconds left.
    """
    limits = Limits(max_iter, max_time)
    solution: Solution | None = None
    attempt = 0
    while True:
        steps = max_iter if max_iter < 0 or solution is None else max_iter - solution.iterations
        left = None if max_time is None else max(0.0, max_time - limits.seconds)
        found = run(start, known, attempt, steps, left)
        solution = found if solution is None else found.continued_from(solution)
        solution, certificate = judge(solution)
        reached = is_reached(certificate, float(np.abs(solution.G).max()), tol)
        if solution.status in ("optimal", "precision") and not reached and attempt < _RESUMES:
            attempt += 1
            start, known = solution.sigma, (solution.sigma, solution.G)
            continue
        if solution.status in ("optimal", "precision"):
            solution = replace(solution, status="optimal" if reached else "precision")
        return solution, certificate


def default_cache() -> float:
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
    return max(50.0, min(MOST_CACHE, CACHE_SHARE * free)) if free else _USMO_CACHE


@cache
def compile_once() -> None:
    """Compile the solvers, or load them from Numba's cache, on a problem that needs passes of both kinds."""
    from usmo.system.compilation import announced_compilation

    toy = KernelMatrix(np.arange(20.0)[:, None], Kernel("rbf"))
    problem = PUProblem.from_prior(0.5, 1e-3, np.arange(5), np.arange(5, 20))
    with announced_compilation():
        from usmo.kernels import tiles
        from usmo.solvers import blocks, usmo

        usmo.solve(problem, toy, starts.uniform(problem))
        for dtype in (np.float32, np.float64):
            blocks.solve(problem, toy, workspace=blocks.Workspace.of(problem, toy, dtype, 1.0))
            rows = np.zeros((1, 1), dtype=dtype)
            tiles.rbf_block(rows, rows, rows[0], rows[0], 1.0)
            tiles.rbf_sums(partial(_one_row, rows), 1, rows, rows[0], 1.0, rows)


def _one_row(rows: Any, part: slice) -> tuple[Any, Any]:
    return rows, rows[0]

"""Fit with a kernel: choose the solver, solve, certify, and refine if the certificate falls short."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array
from usmo.core.problem import Problem
from usmo.core.solution import EvaluatedPoint, Solution
from usmo.fitting import graded
from usmo.fitting.certify import GAP_SHARE, Certified, better, check_kernel, meets_tolerance
from usmo.fitting.checkpoint import Checkpoint, problem_digest
from usmo.fitting.estimate import expected_work
from usmo.fitting.linear import certify_solution, fit_linear, fits_interior_point
from usmo.fitting.newton import fit_newton, suits_newton
from usmo.fitting.specification import Specification
from usmo.fitting.warm_up import compile_kernel_solvers
from usmo.kernels.kept import KeptRows
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.row_blocks import ArrayFeatures
from usmo.kernels.threads import single_blas
from usmo.solvers import blocks, qp, starts, usmo
from usmo.solvers.stopping import Limits, Progress, Save
from usmo.system.memory import free_bytes
from usmo.system.work import expecting, watched

_REFINEMENTS = 3
"""How often a solution whose certificate exceeds the tolerance is solved further."""

MOST_CACHE, CACHE_SHARE, LEAST_CACHE = 400.0, 0.25, 50.0
"""Default row cache of the block solver: this share of the free memory, at most and at least so many megabytes."""

_USMO_CACHE = 200.0
"""Megabytes of the row cache of the paper's algorithm, and of the block solver if free memory is unknown."""

_QP_GAP = 1e-6
"""Relative gap above which the result of the QP library has the status "precision", whatever the tolerance is."""

COLUMN_SOLVERS = ("interior-point", "newton")
"""Solvers of the linear kernel, which work on the columns."""

_LONG = 50_000
"""Rows from which a fit may take long enough to say so."""

_TIGHTER = 0.1
"""Factor on the tolerance of the solver if the gap is too large."""

_GAP_BELOW = 0.5
"""Share of the allowed gap at which the block solver stops: its G is rounded, that of the certificate is not."""

_B_ROWS = 1000
"""Rows with b ≠ 0 from which the size of the objective is estimated."""

_STEPS_PER_ROW = 1000
"""Two-row steps per unlabelled row after which the dense solver takes over. Most fits take fewer than 100."""


def fit_kernel(
    problem: Problem,
    kernel: KernelMatrix,
    spec: Specification,
    *,
    start: Array | None = None,
    progress: Progress | None = None,
) -> Certified:
    """Solve and certify one problem. ``start`` is a feasible σ; without one the solver computes its own start.

    A fit that falls short of the tolerance is tried again without its start, then by other solvers.
    """
    solver = choose_solver(kernel, spec)
    psd = solver in COLUMN_SOLVERS or check_kernel(problem, kernel)
    certified = _by(solver, problem, kernel, spec, psd, start, progress)
    if _falls_short(certified) and start is not None:
        certified = better(certified, _by(solver, problem, kernel, _rest(spec, certified), psd, None, progress))
    if _falls_short(certified) and solver == "blocks" and fits_interior_point(problem, kernel):
        # columns far from zero: the interior point centres them
        again = _by_columns(problem, kernel, _rest(spec, certified), certified.solution.sigma, progress)
        again = again._replace(solution=again.solution.continued_from(certified.solution))
        certified = better(certified, again)
    if _falls_short(certified) and psd and graded.can_finish(problem):
        certified = better(certified, graded.finish(problem, kernel, _rest(spec, certified), certified.solution))
    return certified


def _falls_short(certified: Certified) -> bool:
    return certified.solution.status == "precision"


def _rest(spec: Specification, certified: Certified) -> Specification:
    """The specification with the time that is left, and without a checkpoint."""
    spent = certified.solution.history[-1].seconds if certified.solution.history else 0.0
    left = None if spec.max_time is None else max(1e-3, spec.max_time - spent)
    return replace(spec, max_time=left, checkpoint=None)


def _by(
    solver: str, problem: Problem, kernel: KernelMatrix, spec: Specification, psd: bool, start: Array | None,
    progress: Progress | None,
) -> Certified:  # fmt: skip
    """Solve and certify by one solver."""
    if solver in COLUMN_SOLVERS:
        return _by_columns(problem, kernel, spec, start, progress, solver)
    if solver == "qp":
        return _by_qp(problem, kernel, spec, psd)
    compile_kernel_solvers()
    solve = _by_usmo if solver == "usmo" else _by_blocks
    return solve(problem, kernel, spec, psd, start, progress)


def effort(problem: Problem, psd: bool) -> int | None:
    """Two-row steps after which another solver takes over, if one can."""
    return _STEPS_PER_ROW * problem.n if psd and graded.can_finish(problem) else None


def choose_solver(kernel: KernelMatrix, spec: Specification) -> str:
    """The solver to use: the one that is asked for, or for "auto" the faster one for this kernel and table."""
    name = kernel.kernel.name
    if spec.checkpoint is not None and spec.solver not in ("auto", "blocks"):
        raise ValueError(f"checkpoint works with solver='blocks' only, got solver={spec.solver!r}")
    if spec.solver in COLUMN_SOLVERS and name != "linear":
        raise ValueError(f"solver={spec.solver!r} needs kernel='linear', got kernel={name!r}")
    if spec.solver != "auto":
        return spec.solver
    if spec.checkpoint is not None or name != "linear":
        return "blocks"
    return "newton" if suits_newton(sparse.issparse(kernel.X), kernel.X.shape[1]) else "interior-point"


def _by_columns(
    problem: Problem, kernel: KernelMatrix, spec: Specification, start: Array | None, progress: Progress | None,
    solver: str = "interior-point",
) -> Certified:  # fmt: skip
    if solver == "newton":
        return fit_newton(problem, kernel.X, spec, start=start, progress=progress).certified
    return fit_linear(problem, ArrayFeatures(kernel.X), spec, start=start, progress=progress).certified


def _by_qp(problem: Problem, kernel: KernelMatrix, spec: Specification, psd: bool) -> Certified:
    if not psd:
        raise ValueError("solver='qp' needs a positive semidefinite kernel; 'blocks' and 'usmo' do not")
    certified = certify_solution(problem, kernel, qp.solve(problem, kernel, max_iter=spec.max_iter), psd)
    met = meets_tolerance(certified.certificate, certified.net_violation, spec.tol)
    exact = abs(certified.certificate.relative_gap) <= _QP_GAP
    if certified.solution.status == "optimal" and not (met and exact):
        return certified._replace(solution=replace(certified.solution, status="precision"))
    return certified


def _by_usmo(
    problem: Problem, kernel: KernelMatrix, spec: Specification, psd: bool, start: Array | None,
    progress: Progress | None,
) -> Certified:  # fmt: skip
    cache_size = _USMO_CACHE if spec.cache_size is None else spec.cache_size

    def solve(attempt: Attempt) -> Solution:
        begin = starts.paper(problem, kernel) if attempt.start is None else attempt.start
        return usmo.solve(
            problem, kernel, begin, tol=attempt.tol, max_iter=attempt.max_iter, max_time=attempt.max_time,
            cache_size=cache_size, effort=effort(problem, psd), progress=progress,
        )  # fmt: skip

    return solve_and_refine(solve, lambda s: certify_solution(problem, kernel, s, psd), spec, start)


def _by_blocks(
    problem: Problem, kernel: KernelMatrix, spec: Specification, psd: bool, start: Array | None,
    progress: Progress | None,
) -> Certified:  # fmt: skip
    cache_size = default_cache() if spec.cache_size is None else spec.cache_size
    gap = _GAP_BELOW * GAP_SHARE * spec.tol, _b_part(problem, kernel)
    kept: KeptRows | None = None

    def solve(attempt: Attempt, save: Save | None = None) -> Solution:
        nonlocal kept
        kept = None  # frees the cache of the run before
        # the first correction is small enough for the float type of the first run, later ones are not
        dtype = np.float64 if attempt.number > 1 else blocks.choose_float_type(problem, kernel, spec.tol)
        rows = blocks.local_rows(problem, kernel, dtype, cache_size)
        solution = blocks.solve(
            problem, rows, attempt.start, point=attempt.point, tol=attempt.tol, gap=gap, max_iter=attempt.max_iter,
            max_time=attempt.max_time, effort=effort(problem, psd), progress=progress, save=save,
        )  # fmt: skip
        kept = rows.kept
        return solution

    def certify(solution: Solution) -> Certified:
        return certify_solution(problem, kernel, solution, psd, kept)

    # a thread of BLAS that has finished spins for milliseconds: it would take a core from the threads over tiles
    with single_blas(), _expected(problem, kernel):
        if spec.checkpoint is None:
            return solve_and_refine(solve, certify, spec, start)
        digest = problem_digest(problem, kernel)
        checkpoint = Checkpoint(spec.checkpoint, spec.checkpoint_seconds, digest, problem.n)
        with checkpoint.file:
            point, start = checkpoint.load() or (None, start)
            return solve_and_refine(partial(solve, save=checkpoint.save), certify, spec, start, point)


def _b_part(problem: Problem, kernel: KernelMatrix) -> float:
    """½bᵀKb. If b has many rows, it is estimated from some: it only says how large the objective is."""
    step = -(-problem.p // _B_ROWS)
    rows, b = problem.b_rows[::step], problem.b[::step]
    b = b * (problem.total / float(b.sum()))
    return 0.5 * float(b @ kernel.product(rows, rows, b))


def _expected(problem: Problem, kernel: KernelMatrix) -> AbstractContextManager[None]:
    """A block whose work is reported to whoever watches, if the fit is a long one."""
    if problem.n < _LONG or kernel.kernel.name != "rbf" or not watched():
        return nullcontext()
    work = expected_work(kernel.X, problem.n)
    return nullcontext() if work is None else expecting(work)


@dataclass(frozen=True)
class Attempt:
    """One call of a solver: start, tolerance, number of earlier calls, and the steps and seconds that are left."""

    start: Array | None
    point: EvaluatedPoint | None
    tol: float
    number: int
    max_iter: int
    max_time: float | None


def solve_and_refine(
    solve: Callable[[Attempt], Solution],
    certify: Callable[[Solution], Certified],
    spec: Specification,
    start: Array | None,
    point: EvaluatedPoint | None = None,
) -> Certified:
    """Solve and certify; if the certificate exceeds the tolerance, solve further from the certified values.

    The solver updates G step by step, so its values drift. The certificate's are computed anew. If the violation is met
    but the gap is not, the solver gets a smaller tolerance.
    """
    limits = Limits(spec.max_iter, spec.max_time)
    solution: Solution | None = None
    number, tol = 0, spec.tol
    while True:
        steps = spec.max_iter if spec.max_iter < 0 or solution is None else spec.max_iter - solution.iterations
        latest = solve(Attempt(start, point, tol, number, steps, limits.seconds_left))
        solution = latest if solution is None else latest.continued_from(solution)
        certified = certify(solution)
        solution, net_violation = certified.solution, certified.net_violation
        met = meets_tolerance(certified.certificate, net_violation, spec.tol)
        ended = solution.status in ("optimal", "precision")
        if ended and not met and number < _REFINEMENTS:
            number += 1
            tol = _TIGHTER * tol if net_violation <= spec.tol else tol
            start, point = solution.sigma, EvaluatedPoint(solution.sigma, solution.G)
            continue
        if ended:
            solution = replace(solution, status="optimal" if met else "precision")
        return certified._replace(solution=solution)


def default_cache() -> float:
    """Megabytes of the row cache if the user sets none."""
    free = free_bytes() / 2**20
    return max(LEAST_CACHE, min(MOST_CACHE, CACHE_SHARE * free)) if free else _USMO_CACHE

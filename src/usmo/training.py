"""From a problem to a certified solution: choose the start, run the solver, judge it, resume if it falls short."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import sparse

from usmo import start as starts
from usmo.checkpoint import Checkpoint
from usmo.features import ArrayFeatures, Blocks, Features, column_means, largest_row
from usmo.kernels import Kernel, KernelMatrix
from usmo.problem import Array, Certificate, PUProblem
from usmo.solution import Solution
from usmo.solvers.limits import Limits, Progress

_RESUMES = 3
"""How often a solution whose fresh violation exceeds the tolerance is taken up again."""

_ROUNDING = 1e-9
"""Share of max|G| by which the fresh violation may exceed the tolerance: rounding of the evaluation itself."""

_MOST_CACHE, _CACHE_SHARE = 400.0, 0.25
"""The block solver's row cache by default: this share of the free memory, at most this many megabytes."""

_USMO_CACHE = 200.0

_LARGEST = 1e290
"""Bound on the sums of kernel values that occur, short of where float64 overflows."""

_LARGEST_LINEAR = 1e140
"""The same for the linear solver, which squares them."""

_GAP_SHARE = 1e-3
"""The linear solver's relative gap, in units of the tolerance on the violation."""

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
    if solver == "auto" and checkpoint is None and is_narrow_linear(problem, kernel):
        solver = "interior-point"
    if solver == "interior-point":
        if kernel.kernel.name != "linear":
            raise ValueError(f"solver='interior-point' needs kernel='linear', got kernel={kernel.kernel.name!r}")
        checked(problem, kernel)
        fit = train_linear(
            problem, ArrayFeatures(kernel.X), start=start, tol=tol, max_iter=max_iter, max_time=max_time,
            progress=progress,
        )  # fmt: skip
        return fit.solution, fit.certificate
    psd = checked(problem, kernel)
    file = None if checkpoint is None else Checkpoint(*checkpoint, problem, kernel)
    known = None if file is None else file.load()
    if solver == "qp":
        if not psd:
            raise ValueError("solver='qp' needs a positive semidefinite kernel; 'blocks' and 'usmo' do not")
        from usmo.solvers import qp

        by_qp, certificate = _judged(problem, kernel, qp.solve(problem, kernel, max_iter=max_iter), psd)
        if by_qp.status == "optimal" and certificate.relative_gap > _QP_GAP:
            by_qp = replace(by_qp, status="precision")
        return by_qp, certificate

    compile_once()
    from usmo.solvers import blocks, usmo

    limits = Limits(max_iter, max_time)
    sigma = start if known is None else known[2]
    G_known = None if known is None else (known[0], known[1])
    solution: Solution | None = None
    attempt = 0
    while True:
        steps = max_iter if max_iter < 0 or solution is None else max_iter - solution.iterations
        left = None if max_time is None else max(0.0, max_time - limits.seconds)
        if solver == "usmo":
            found = usmo.solve(
                problem, kernel, starts.paper(problem, kernel) if sigma is None else sigma,
                tol=tol, max_iter=steps, max_time=left, progress=progress,
                cache_size=_USMO_CACHE if cache_size is None else cache_size,
            )  # fmt: skip
        else:
            megabytes = default_cache() if cache_size is None else cache_size
            # the first correction is small enough for the float type of the first run, later ones are not
            space = blocks.Workspace.of(problem, kernel, np.float64, megabytes) if attempt > 1 else None
            found = blocks.solve(
                problem, kernel, sigma, known=G_known, workspace=space, cache_size=megabytes,
                tol=tol, max_iter=steps, max_time=left, progress=progress,
                save=None if file is None else file.save,
            )  # fmt: skip
        solution = found if solution is None else found.continued_from(solution)
        solution, certificate = _judged(problem, kernel, solution, psd)
        reached = is_reached(certificate, solution, tol)
        if solution.status in ("optimal", "precision") and not reached and attempt < _RESUMES:
            # what the solver kept up to date has drifted: go on from the fresh values
            attempt += 1
            sigma, G_known = solution.sigma, (solution.sigma, solution.G)
            continue
        if file is not None:
            file.done()
        if solution.status in ("optimal", "precision"):
            solution = replace(solution, status="optimal" if reached else "precision")
        return solution, certificate


@dataclass(frozen=True)
class LinearFit:
    """A solution for K = XXᵀ with the weights of the columns; ``solution.beta`` is their intercept."""

    solution: Solution
    certificate: Certificate
    coef: Array


def is_narrow_linear(problem: PUProblem, kernel: KernelMatrix) -> bool:
    """Whether the kernel is linear and one side of the table small enough for the interior point."""
    from usmo.solvers.linear import WIDEST

    if kernel.kernel.name != "linear":
        return False
    return min(kernel.X.shape[1], problem.n + problem.p) <= WIDEST


def train_linear(
    problem: PUProblem,
    features: Features,
    *,
    start: Array | tuple[Array, float] | None = None,
    tol: float = 1e-3,
    max_iter: int = -1,
    max_time: float | None = None,
    progress: Progress | None = None,
) -> LinearFit:
    """Solve and certify K = XXᵀ by passes over row blocks.

    ``start`` is σ, or the weights and the intercept of a model for a problem nearby. Columns are centred on the
    way: Σα = 0, so the solution is the same, but nothing large cancels.
    """
    compile_linear_once()
    from usmo.solvers import linear

    centre = column_means(features)
    table = Blocks(features, centre=centre)
    if not largest_row(table) * problem.total * problem.n < _LARGEST_LINEAR:
        raise ValueError(
            "the products of these rows are too large for float64: scale the columns of X, or raise lam"
        )
    shift = np.zeros(table.r) if centre is None else centre
    if isinstance(start, np.ndarray):
        coef = table.weighted_sum(problem.table_coefficients(start, table.n))
        start = coef, problem.bias(start, table.dot(coef)[problem.unlabelled]) - float(coef @ shift)
    rotated = table.r > problem.n + problem.p or table.r > linear.WIDEST
    if rotated:
        task, columns, middle, start = *_rotated(problem, features, centre), None, None
    else:
        task, columns, middle = problem, features, centre
        start = None if start is None else (start[0], start[1] + float(start[0] @ shift))
    solution, _ = linear.solve(
        task, columns, middle, start, tol=tol, gap_tol=_GAP_SHARE * tol, max_iter=max_iter, max_time=max_time,
        progress=progress,
    )  # fmt: skip
    coef = table.weighted_sum(problem.table_coefficients(solution.sigma, table.n))
    solution, certificate = with_fresh_values(problem, solution, table.dot(coef), True)
    if solution.status == "optimal" and not is_reached(certificate, solution, tol):
        solution = replace(solution, status="precision")
    moved = float(coef @ shift)
    solution = replace(solution, beta=solution.beta - moved, G=solution.G + moved)
    return LinearFit(solution, certificate, coef)


def _rotated(problem: PUProblem, features: Features, centre: Array | None) -> tuple[PUProblem, Features]:
    """The same problem where columns outnumber rows: as many columns as rows, with the same products of rows."""
    from usmo.solvers import linear

    used = np.union1d(problem.positives, problem.unlabelled)
    if len(used) > linear.WIDEST:
        raise ValueError(
            f"the interior point needs at most {linear.WIDEST} columns or rows, got {len(used)} rows and "
            f"{features.shape[1]} columns: use PUSVC(kernel='linear', solver='blocks')"
        )
    X = features.take(used)
    if centre is not None:
        X = np.asarray(X, dtype=np.float64) - centre
    product = X @ X.T
    values, vectors = np.linalg.eigh(product.toarray() if sparse.issparse(product) else product)
    F = vectors * np.sqrt(np.maximum(values, 0.0))
    positives, unlabelled = (np.searchsorted(used, rows) for rows in (problem.positives, problem.unlabelled))
    small = replace(problem, positives=positives, unlabelled=unlabelled)
    return small, ArrayFeatures(F[:, values > 1e-14 * values[-1]] if values[-1] > 0 else F[:, :1])


@cache
def compile_linear_once() -> None:
    """Compile the row loops of the linear solver, or load them from Numba's cache."""
    from usmo._jit import announced_compilation

    with announced_compilation():
        from usmo.solvers import interior

        interior.warm_up()


def is_reached(certificate: Certificate, solution: Solution, tol: float) -> bool:
    """Whether the fresh violation is within the tolerance, up to the rounding of its own evaluation."""
    return certificate.kkt_violation <= tol + _ROUNDING * float(np.abs(solution.G).max())


def checked(problem: PUProblem, kernel: KernelMatrix) -> bool:
    """Whether the kernel is positive semidefinite, as far as a sample tells; an error if it is unusable."""
    used = np.union1d(problem.positives, problem.unlabelled)
    largest = float(np.abs(kernel.diag(used)).max())
    if not largest * problem.total * len(used) < _LARGEST:
        raise ValueError(
            "the kernel overflows on these rows: scale the columns of X, raise lam, or lower gamma or degree"
        )
    return kernel.is_psd(used)


def _judged(
    problem: PUProblem, kernel: KernelMatrix, solution: Solution, psd: bool
) -> tuple[Solution, Certificate]:
    """The solution with G and β from decision values computed afresh in float64, and its certificate."""
    alpha = problem.table_coefficients(solution.sigma, len(kernel))[:, None]
    values = fresh_values(problem, kernel, alpha)[:, 0]
    return with_fresh_values(problem, solution, values, psd)


def with_fresh_values(
    problem: PUProblem, solution: Solution, values: Array, psd: bool
) -> tuple[Solution, Certificate]:
    """G, β and the certificate of a solution from Kα on every row of the table."""
    G = values[problem.unlabelled]
    # an interior point's β is its own multiplier, and better than an average over rows a hair off their bounds
    beta = solution.beta
    average = problem.bias(solution.sigma, G)
    # where a whole interval of β is as good, it is its midpoint, whatever rounding says
    rounding = 1e-12 * problem.total * (1.0 + float(np.abs(G).max()))
    if problem.gap(solution.sigma, average, G) <= problem.gap(solution.sigma, beta, G) + rounding:
        beta = average
    certificate = problem.certificate(solution.sigma, beta, values[problem.positives], G, convex=psd)
    return replace(solution, G=G, beta=beta), certificate


def fresh_values(problem: PUProblem, kernel: KernelMatrix, alpha: Array) -> Array:
    """Kα on every row in use, for each column of α, in float64 and in tiles."""
    support = np.flatnonzero(alpha.any(axis=1))
    used = np.union1d(problem.positives, problem.unlabelled)
    values = np.zeros(alpha.shape)
    values[used] = kernel.product(used, support, alpha[support])
    return values


def certify(problem: PUProblem, kernel: KernelMatrix, solution: Solution) -> Certificate:
    """The certificate of a solution, from decision values computed afresh."""
    return _judged(problem, kernel, solution, checked(problem, kernel))[1]


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
    return max(50.0, min(_MOST_CACHE, _CACHE_SHARE * free)) if free else _USMO_CACHE


@cache
def compile_once() -> None:
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
            tiles.rbf_sums(partial(_one_row, rows), 1, rows, rows[0], 1.0, rows)


def _one_row(rows: Any, part: slice) -> tuple[Any, Any]:
    return rows, rows[0]

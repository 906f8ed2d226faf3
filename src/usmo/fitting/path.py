"""The regularisation path: the solutions for many λ and priors, each started from the last.

The kernel matrix depends on neither, so the rows computed for one solution serve the next. Going from λ to λ'
multiplies c1, c2, σ and G alike by λ/λ', so the last solution is feasible for the next problem and its G is
known without a kernel row; a new prior changes only the sum of σ. All solutions are certified by one product.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import clone

from usmo.core.problem import Certificate, PUProblem
from usmo.core.solution import Solution
from usmo.fitting.certify import checked, fresh_values, is_reached, with_fresh_values
from usmo.fitting.kernel import compile_once, default_cache, train
from usmo.fitting.linear import LinearFit, suits_interior_point, train_linear
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.row_blocks import ArrayFeatures, Features


def path(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    lams: Iterable[float],
    priors: Iterable[float] | None = None,
    sample_weight: Any = None,
) -> list[Any]:
    """Fitted copies of ``estimator`` for every prior and every λ, in the order given (λ fastest).

    Parameters
    ----------
    estimator : PUSVC or LinearPUSVC
        Its other parameters hold for all; the solver is the block solver, for linear models the interior point.
        It is not changed.
    lams : sequence of float
        Values of λ; from large to small is the cheapest order.
    priors : sequence of float, optional
        Class priors; without them the estimator's own ``prior`` (estimated once if it says so).

    Examples
    --------
    >>> import numpy as np
    >>> from usmo import PUSVC, path
    >>> X = np.r_[np.linspace(1, 2, 20), np.linspace(-2, 2, 80)][:, None]
    >>> y = np.arange(100) < 20
    >>> models = path(PUSVC(prior=0.4), X, y, lams=[0.1, 0.01])
    >>> [model.lam for model in models]
    [0.1, 0.01]
    """
    lams = [float(lam) for lam in lams]
    models = [clone(estimator).set_params(lam=lam) for lam in lams] or [clone(estimator)]
    if getattr(estimator, "approximation", None) is not None:
        raise ValueError(f"path fits the exact kernel; got approximation={estimator.approximation!r}")
    for model in models:
        model._validate_params()
    table, known, kernel = models[0]._prepare(X, y, sample_weight)
    grid = [(prior, lam) for prior in ([known["prior_"]] if priors is None else list(priors)) for lam in lams]
    for prior, _ in grid:
        clone(estimator).set_params(prior=prior)._validate_params()
    problems = [table.problem(prior, lam, estimator.scenario) for prior, lam in grid]
    answers = models[0]._train_path(table, problems, kernel)
    found = []
    for (prior, lam), problem, (solution, certificate) in zip(grid, problems, answers, strict=True):
        model = clone(estimator).set_params(lam=lam)
        names = {name: value for name, value in vars(models[0]).items() if name.endswith("_in_")}
        model.__dict__.update(names)
        found.append(
            model._accept(
                table, problem, kernel, solution, certificate, {**known, "prior_": float(prior), "lam_": lam}
            )
        )
    return found


def train_path(
    problems: list[PUProblem], kernel: KernelMatrix, *, tol: float = 1e-3, cache_size: float | None = None
) -> list[tuple[Solution, Certificate]]:
    """Solve and certify problems that differ in λ and π only, each from the solution of the one before."""
    if not problems:
        return []
    if suits_interior_point(problems[0], kernel):
        return [
            (fit.solution, fit.certificate)
            for fit in train_linear_path(problems, ArrayFeatures(kernel.X), tol=tol)
        ]
    psd = checked(hardest := max(problems, key=lambda problem: float(problem.c2.max())), kernel)
    compile_once()
    from usmo.solvers import blocks

    megabytes = default_cache() if cache_size is None else cache_size
    space = blocks.Workspace.of(hardest, kernel, blocks.precision(hardest, kernel, tol), megabytes)
    solutions: list[Solution] = []
    for k, problem in enumerate(problems):
        start, known = None, None
        if k > 0:
            last, before = solutions[-1], problems[k - 1]
            scale = float(problem.c2[0] / before.c2[0])
            sigma = last.sigma * scale
            K_sigma = (space.mean * before.total - last.G) * scale
            known = sigma, space.mean * problem.total - K_sigma
            start = problem.repair(sigma, np.argsort(known[1], kind="stable"))
        solutions.append(blocks.solve(problem, kernel, start, known=known, tol=tol, workspace=space))

    columns = [p.table_coefficients(s.sigma, len(kernel)) for p, s in zip(problems, solutions, strict=True)]
    values = fresh_values(hardest, kernel, np.stack(columns, axis=1))
    answers = []
    for k, (problem, solution) in enumerate(zip(problems, solutions, strict=True)):
        solution, certificate = with_fresh_values(problem, solution, values[:, k], psd)
        if not is_reached(certificate, float(np.abs(solution.G).max()), tol):
            again, certificate = train(problem, kernel, start=solution.sigma, tol=tol, cache_size=megabytes)
            solution = again.continued_from(solution)
        answers.append((solution, certificate))
    return answers


def train_linear_path(problems: list[PUProblem], features: Features, *, tol: float = 1e-3) -> list[LinearFit]:
    """Solve and certify problems with K = XXᵀ, each from the decision function of the one before."""
    fits: list[LinearFit] = []
    for problem in problems:
        start = (fits[-1].coef, fits[-1].solution.beta) if fits else None
        fits.append(train_linear(problem, features, start=start, tol=tol))
    return fits

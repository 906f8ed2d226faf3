"""What a solution is worth: decision values computed afresh in float64, and the certificate from them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from usmo.kernels import KernelMatrix
from usmo.problem import Array, Certificate, PUProblem
from usmo.solution import Solution

_ROUNDING = 1e-9
"""Share of max|G| by which the fresh violation may exceed the tolerance: rounding of the evaluation itself."""

_LARGEST = 1e290
"""Bound on the sums of kernel values that occur, short of where float64 overflows."""


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


def judged(
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
    return judged(problem, kernel, solution, checked(problem, kernel))[1]

"""What a solution is worth: decision values computed afresh in float64, and the certificate from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from usmo.core.arrays import Array
from usmo.core.problem import Certificate, PUProblem, bias_of
from usmo.core.shards import Found, Here, Team
from usmo.core.solution import Solution
from usmo.kernels.matrix import KernelMatrix

_ROUNDING = 1e-9
"""Share of max|G| by which the fresh violation may exceed the tolerance: rounding of the evaluation itself."""

_LARGEST = 1e290
"""Bound on the sums of kernel values that occur, short of where float64 overflows."""


def is_reached(certificate: Certificate, largest: float, tol: float) -> bool:
    """Whether the fresh violation is within the tolerance, up to the rounding of values as large as max|G|."""
    return certificate.kkt_violation <= tol + _ROUNDING * largest


def checked(problem: PUProblem, kernel: KernelMatrix) -> bool:
    """Whether the kernel is positive semidefinite, as far as a sample tells; an error if it is unusable."""
    used = np.union1d(problem.positives, problem.unlabelled)
    refuse_overflow(float(np.abs(kernel.diag(used)).max()), problem.total, len(used))
    return kernel.is_psd(used)


def refuse_overflow(largest: float, total: float, rows: int) -> None:
    """An error if sums of kernel values do not fit float64; ``largest`` is the largest k(x, x)."""
    if not largest * total * rows < _LARGEST:
        raise ValueError(
            "the kernel overflows on these rows: scale the columns of X, raise lam, or lower gamma or degree"
        )


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
    rows = Judged(problem, solution.sigma, values[problem.positives], G)
    beta, certificate = verdict(Here(rows), solution.beta, problem.total, psd)
    return replace(solution, G=G, beta=beta), certificate


@dataclass
class Judged:
    """A shard of the rows of a solution: σ, and Kα computed afresh on its part of P and U."""

    problem: PUProblem
    sigma: Array
    g_p: Array
    g_u: Array


def verdict(team: Team, beta: float, total: float, psd: bool) -> tuple[float, Certificate]:
    """β and the certificate from shards that are :class:`Judged`; ``beta`` is the solver's, ``total`` is Σc1.

    An interior point's β is its own multiplier, and better than an average over rows a hair off their bounds.
    Where a whole interval of β is as good, it is its midpoint, whatever rounding says.
    """
    found = team.total(_biased)
    average = bias_of(Found(found.sums, found.highs[:2]))
    rounding = 1e-12 * total * (1.0 + found.highs[2])
    own, mean = (team.total(_certified, value) for value in (beta, average))
    proofs = Certificate.of(own, beta, total, psd), Certificate.of(mean, average, total, psd)
    return (average, proofs[1]) if proofs[1].gap <= proofs[0].gap + rounding else (beta, proofs[0])


def _biased(rows: Judged) -> Found:
    found = rows.problem.bias_parts(rows.sigma, rows.g_u)
    return Found(found.sums, (*found.highs, float(np.abs(rows.g_u).max(initial=0.0))))


def _certified(rows: Judged, beta: float) -> Found:
    return rows.problem.certificate_parts(rows.sigma, beta, rows.g_p, rows.g_u)


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

"""Certify a solution: compute decision values anew in float64, and the certificate from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from usmo.core.arrays import Array
from usmo.core.certificate import Certificate
from usmo.core.dual import bias
from usmo.core.problem import PUProblem
from usmo.core.shards import LocalShards, Partial, Shards
from usmo.core.solution import Solution
from usmo.kernels.matrix import KernelMatrix

_ROUNDING = 1e-9
"""Share of max|G| by which the violation may exceed the tolerance: rounding of its own evaluation."""

_BETA_ROUNDING = 1e-12
"""Relative difference of two gaps that counts as rounding when β is chosen."""

_LARGEST = 1e290
"""Bound on sums of kernel values, below the overflow of float64."""


class Certified(NamedTuple):
    """A solution and its certificate."""

    solution: Solution
    certificate: Certificate


def meets_tolerance(certificate: Certificate, largest: float, tol: float) -> bool:
    """Whether the violation is within the tolerance, up to the rounding of decision values as large as ``largest``."""
    return certificate.kkt_violation <= tol + _ROUNDING * largest


def check_kernel(problem: PUProblem, kernel: KernelMatrix) -> bool:
    """Whether a sample of the kernel matrix is positive semidefinite; an error if the kernel overflows."""
    used = problem.rows
    refuse_overflow(float(np.abs(kernel.diag(used)).max()), problem.total, len(used))
    return kernel.is_psd(used)


def refuse_overflow(largest: float, total: float, rows: int) -> None:
    """Raise an error if sums of kernel values do not fit float64; ``largest`` is the largest k(x, x)."""
    if not largest * total * rows < _LARGEST:
        raise ValueError(
            "the kernel overflows on these rows: scale the columns of X, raise lam, or lower gamma or degree"
        )


def certify(problem: PUProblem, kernel: KernelMatrix, solution: Solution, psd: bool) -> Certified:
    """The solution with G and β from decision values computed anew, and its certificate."""
    alpha = problem.table_coefficients(solution.sigma, len(kernel))[:, None]
    values = decision_values(problem, kernel, alpha)[:, 0]
    return certify_values(problem, solution, values, psd)


def decision_values(problem: PUProblem, kernel: KernelMatrix, alpha: Array) -> Array:
    """Kα on every row in use, for each column of α, in float64."""
    support = np.flatnonzero(alpha.any(axis=1))
    values = np.zeros(alpha.shape)
    values[problem.rows] = kernel.product(problem.rows, support, alpha[support])
    return values


def certify_values(problem: PUProblem, solution: Solution, values: Array, psd: bool) -> Certified:
    """The same from Kα on every row of the table."""
    G = values[problem.unlabelled]
    shard = CertificateShard(problem, solution.sigma, values[problem.positives], G)
    beta, certificate = certify_shards(LocalShards(shard), solution.beta, problem.total, psd)
    return Certified(replace(solution, G=G, beta=beta), certificate)


@dataclass
class CertificateShard:
    """σ of some rows, and Kα computed anew on their part of P and U."""

    problem: PUProblem
    sigma: Array
    g_p: Array
    g_u: Array


def certify_shards(shards: Shards, beta: float, total: float, psd: bool) -> tuple[float, Certificate]:
    """β and the certificate of all rows; shards have the attributes of :class:`CertificateShard`.

    Two values of β are compared: the solver's, and the average over the non-bound rows. The multiplier of an interior
    point is better than an average over rows slightly off their bounds. Where a whole interval of β is as good, the
    average is its midpoint and is taken.
    """
    parts = shards.merge(_bias_parts)
    average = bias(Partial(parts.sums, parts.maxima[:2]))
    rounding = _BETA_ROUNDING * total * (1.0 + parts.maxima[2])
    own = Certificate.of(shards.merge(_certificate_parts, beta), beta, total, psd)
    mean = Certificate.of(shards.merge(_certificate_parts, average), average, total, psd)
    return (average, mean) if mean.gap <= own.gap + rounding else (beta, own)


def _bias_parts(shard: CertificateShard) -> Partial:
    parts = shard.problem.at(shard.sigma).bias_parts(shard.g_u)
    return Partial(parts.sums, (*parts.maxima, float(np.abs(shard.g_u).max(initial=0.0))))


def _certificate_parts(shard: CertificateShard, beta: float) -> Partial:
    return shard.problem.certificate_parts(shard.sigma, beta, shard.g_p, shard.g_u)

"""Certify a solution: compute decision values anew, and the certificate from them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from usmo.core.arrays import Array
from usmo.core.certificate import Certificate
from usmo.core.dual import bias, violations
from usmo.core.problem import Problem
from usmo.core.shards import LocalShards, Partial, Shards
from usmo.core.solution import Solution
from usmo.fitting.decision_values import Values, bounded_values, exact_values
from usmo.kernels.kept import KeptRows
from usmo.kernels.matrix import KernelMatrix

GAP_SHARE = 0.1
"""The relative gap that a fit must reach, in units of the tolerance on the violation."""

_GAP_ROUNDING = 1e-9
"""Relative gap below which the violation may exceed the tolerance: the objective cannot be improved in float64."""

_BETA_ROUNDING = 1e-12
"""Relative difference of two gaps that counts as rounding when β is chosen."""

_LARGEST = 1e290
"""Bound on sums of kernel values, below the overflow of float64."""


class Certified(NamedTuple):
    """A solution, its certificate, and the violation beyond the rounding of each row's own f.

    ``coef`` are the weights of the columns that the certificate holds for, if the kernel is linear.
    """

    solution: Solution
    certificate: Certificate
    net_violation: float
    coef: Array | None = None


def meets_tolerance(certificate: Certificate, net_violation: float, tol: float) -> bool:
    """Whether violation and gap are within the tolerance, as far as float64 can tell."""
    gap = abs(certificate.relative_gap)  # a gap below zero is rounding, too
    return gap <= GAP_SHARE * tol and (net_violation <= tol or gap <= _GAP_ROUNDING)


def better(one: Certified, other: Certified) -> Certified:
    """The certified solution with the smaller gap; the first if they are equal."""
    return other if abs(other.certificate.relative_gap) < abs(one.certificate.relative_gap) else one


def check_kernel(problem: Problem, kernel: KernelMatrix) -> bool:
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


def certify(
    problem: Problem, kernel: KernelMatrix, solution: Solution, psd: bool, kept: KeptRows | None = None
) -> Certified:
    """The solution with G and β from decision values computed anew, and its certificate.

    ``kept`` are kernel rows of ``problem.c_rows`` in memory, if there are any.
    """
    values = bounded_values(problem, kernel, solution, kept)
    if values is None:
        alpha = problem.table_coefficients(solution.sigma, len(kernel))
        values = Values(exact_values(problem.rows, kernel, alpha[:, None])[:, 0])
    return certify_values(problem, solution, values, psd)


def certify_values(problem: Problem, solution: Solution, values: Values, psd: bool) -> Certified:
    """The same from Kα on every row of the table."""
    G = values.f[problem.c_rows]
    error = None if values.error is None else values.error[problem.c_rows]
    shard = CertificateShard(problem, solution.sigma, values.f[problem.b_rows], G, error=error)
    beta, certificate, net = certify_shards(
        LocalShards(shard),
        solution.beta,
        problem.total,
        psd,
        "float64" if error is None else "float32 with bounds",
    )
    return Certified(replace(solution, G=G, beta=beta), certificate, net)


@dataclass
class CertificateShard:
    """σ of some rows, and Kα computed anew on their ``b_rows`` and ``c_rows``.

    ``error`` bounds the error of ``g_c`` where it is computed in float32.
    """

    problem: Problem
    sigma: Array
    g_b: Array
    g_c: Array
    error: Array | None = field(default=None, kw_only=True)


def certify_shards(
    shards: Shards, beta: float, total: float, psd: bool, precision: str = "float64"
) -> tuple[float, Certificate, float]:
    """β, the certificate and the net violation; shards have the attributes of :class:`CertificateShard`.

    Two values of β are compared: the solver's, and that of :func:`usmo.core.dual.bias`. The solver's is better after an
    interior point, whose rows are slightly off their bounds. If both gaps are equal up to rounding, the second is used.
    """
    conditions = shards.merge(_optimality)
    violation, net_violation = violations(conditions)
    average = bias(conditions)
    rounding = _BETA_ROUNDING * total * (1.0 + conditions.maxima[-1])
    own, mean = (
        Certificate.of(shards.merge(_objective_parts, value), violation, value, total, psd, precision)
        for value in (beta, average)
    )
    if mean.gap <= own.gap + rounding:
        return average, mean, net_violation
    return beta, own, net_violation


def _optimality(shard: CertificateShard) -> Partial:
    return shard.problem.at(shard.sigma).optimality(shard.g_c)


def _objective_parts(shard: CertificateShard, beta: float) -> Partial:
    return shard.problem.objective_parts(shard.sigma, beta, shard.g_b, shard.g_c, shard.error)

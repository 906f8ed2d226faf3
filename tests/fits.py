"""Fits with options as keywords, for tests that vary them."""

import numpy as np

from usmo.core.certificate import Certificate
from usmo.fitting.certify import certify, check_kernel
from usmo.fitting.kernel import fit_kernel
from usmo.fitting.linear import fit_linear
from usmo.fitting.specification import Specification
from usmo.solvers import blocks


def train(problem, matrix, *, start=None, progress=None, **options):
    """A solution and its certificate by ``fit_kernel``."""
    certified = fit_kernel(
        problem, matrix, Specification(matrix.kernel, **options), start=start, progress=progress
    )
    return certified.solution, certified.certificate


def train_linear(problem, features, *, start=None, progress=None, **options):
    """A fit of the linear solver."""
    return fit_linear(problem, features, Specification(**options), start=start, progress=progress)


def solve_blocks(problem, matrix, start=None, *, dtype=None, cache_size=1000.0, tol=1e-3, **options):
    """A solution of the block solver on rows of its own."""
    dtype = blocks.choose_float_type(problem, matrix, tol) if dtype is None else np.dtype(dtype)
    rows = blocks.local_rows(problem, matrix, dtype, cache_size)
    return blocks.solve(problem, rows, start, tol=tol, **options)


def certificate_at(problem, sigma, beta, g):
    """The certificate of σ and β from decision values without β on every row of the table."""
    parts = problem.objective_parts(sigma, beta, g[problem.b_rows], g[problem.c_rows])
    violation = problem.kkt_violation(sigma, g[problem.c_rows])
    return Certificate.of(parts, violation, beta, problem.total, convex=True)


def certificate_of(problem, matrix, solution):
    """The certificate of a solution, from decision values computed anew."""
    return certify(problem, matrix, solution, check_kernel(problem, matrix)).certificate

"""Both iterative solvers reach the optimum of the QP library, on the paper's tables and on random problems."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fits import train
from tests.oracles import dual, needs_data, optimum, paper_problem, random_problem
from usmo.datasets import SMALL
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix

SOLVERS = ["usmo", "blocks"]
KERNELS = [Kernel("linear"), Kernel("rbf", gamma=0.5), Kernel("poly", gamma=0.5, degree=2, coef0=1.0)]


def cases():
    """A third of the grid of 12 tables × 2 kernels × 4 λ, in which every table, kernel and λ occurs."""
    every = [
        (name, kernel, lam) for name in SMALL for kernel in ("linear", "rbf") for lam in (1e-4, 1e-3, 1e-2, 1e-1)
    ]
    kept = [case for k, case in enumerate(every) if k % 3 == (k // 8) % 3]
    return [pytest.param(*case, id="-".join(map(str, case))) for case in kept if case[0] != "krvskp"]


@needs_data
@pytest.mark.parametrize(("name", "kernel", "lam"), cases())
def test_reach_the_optimum_of_the_qp_library_on_the_papers_tables(name, kernel, lam):
    problem, matrix = paper_problem(name, kernel, lam)
    best = optimum(problem, matrix)
    for solver in SOLVERS:
        solution, certificate = train(problem, matrix, solver=solver, tol=1e-4)
        assert solution.status == "optimal"
        assert (dual(problem, matrix, solution.sigma) - best) / abs(best) <= 1e-6
        assert certificate.kkt_violation <= 1e-4 + 1e-9 * np.abs(solution.G).max()
        assert -1e-12 <= certificate.relative_gap <= 1e-5
        assert certificate.equality_residual <= 1e-12


@settings(max_examples=60)
@given(
    st.integers(0, 10_000),
    st.integers(2, 40),
    st.integers(1, 6),
    st.floats(0.02, 0.98),
    st.sampled_from([1e-4, 1e-2, 1.0]),
    st.sampled_from(KERNELS),
    st.booleans(),
    st.booleans(),
)
def test_reach_the_optimum_on_random_problems(seed, n, p, prior, lam, kernel, weighted, repeated):
    weight = np.random.default_rng(seed).exponential(size=n + p) + 0.01 if weighted else None
    problem, matrix = random_problem(seed, n=n, p=p, prior=prior, lam=lam, kernel=kernel, weight=weight)
    if repeated:
        matrix.X[p + n // 2 :] = matrix.X[p : p + n - n // 2]
        matrix = KernelMatrix(matrix.X, kernel)
    best = optimum(problem, matrix)
    for solver in SOLVERS:
        solution, certificate = train(problem, matrix, solver=solver, tol=1e-6)
        assert solution.status == "optimal"
        assert dual(problem, matrix, solution.sigma) - best <= 1e-6 * abs(best) + 1e-9
        assert certificate.kkt_violation <= 1e-6 + 1e-9 * np.abs(solution.G).max()

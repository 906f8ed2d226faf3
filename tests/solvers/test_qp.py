"""The dense QP against closed forms, brute force and a minimisation of the primal."""

import sys

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.fits import certificate_at
from tests.oracles import dual, fresh_G, random_problem
from usmo import PUSVC
from usmo.core.labels import pu_problem
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix
from usmo.solvers import qp


def test_one_row_has_one_feasible_point():
    problem, matrix = random_problem(0, n=1, p=2, prior=0.3)
    assert qp.solve(problem, matrix).sigma[0] == pytest.approx(problem.total)


def test_two_rows_solved_by_hand():
    """Rows at ±1, a positive at 1, linear kernel: f = wx + β separates with w > 0."""
    X = np.array([[1.0], [1.0], [-1.0]])
    problem = pu_problem(0.5, 1.0, np.array([0]), np.array([1, 2]))
    matrix = KernelMatrix(X, Kernel("linear"))
    solution = qp.solve(problem, matrix)
    # σ1 + σ2 = ¼, c2 = ¼, h = ⅛: F = ½(σ1-σ2)² - ¼(σ1-σ2) - Σmin, lowest at σ1-σ2 = 0
    grid = np.linspace(0, 0.25, 100_001)
    values = 0.5 * (2 * grid - 0.25) ** 2 - 0.25 * (2 * grid - 0.25) - 2 * np.minimum(grid, 0.25 - grid)
    assert dual(problem, matrix, solution.sigma) == pytest.approx(values.min(), abs=1e-9)
    np.testing.assert_allclose(solution.sigma[0], grid[values.argmin()], atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_no_feasible_direction_lowers_the_objective(seed):
    problem, matrix = random_problem(seed, n=8, p=3)
    solution = qp.solve(problem, matrix)
    best = dual(problem, matrix, solution.sigma)
    rng = np.random.default_rng(seed)
    for _ in range(300):
        other = problem.repair(rng.random(8) * problem.c, rng.permutation(8))
        for t in (1.0, 0.1, 1e-3):
            assert dual(problem, matrix, (1 - t) * solution.sigma + t * other) >= best - 1e-10 * abs(best)


@pytest.mark.parametrize("seed", range(3))
def test_primal_minimised_directly_gives_the_same_value(seed):
    """The primal in (α, β), smoothed, by a quasi-Newton method that does not use the dual."""
    problem, matrix = random_problem(seed, n=10, p=3, lam=0.1)
    rows = np.arange(13)
    K = matrix.block(rows, rows)
    solution = qp.solve(problem, matrix)
    g = K @ problem.table_coefficients(solution.sigma, 13)
    proof = certificate_at(problem, solution.sigma, solution.beta, g)

    def primal(x, smooth):
        f = K @ x[:-1] + x[-1]
        u = f[problem.c_rows]
        # max(0, u, (1+u)/2) is the integral of a step at -1 and one at 1, each of height ½
        rise = 0.5 * smooth * (np.logaddexp(0, (u + 1) / smooth) + np.logaddexp(0, (u - 1) / smooth))
        return -problem.b @ f[problem.b_rows] + problem.c @ rise + 0.5 * x[:-1] @ K @ x[:-1]

    x = np.zeros(14)
    for smooth in (1.0, 0.1, 0.01, 1e-3):
        x = minimize(primal, x, args=(smooth,), method="BFGS", options={"gtol": 1e-9}).x
    assert primal(x, 1e-5) == pytest.approx(proof.primal, rel=1e-3)
    assert primal(x, 1e-5) >= proof.dual - 1e-4


def test_relative_gap_of_solution_and_beta_is_at_most_1e9():
    for seed in range(5):
        problem, matrix = random_problem(seed, n=60, p=10, lam=1e-3)
        solution = qp.solve(problem, matrix)
        G = fresh_G(problem, matrix, solution.sigma)
        assert problem.gap(solution.sigma, solution.beta, G) <= 1e-9 * abs(dual(problem, matrix, solution.sigma))


def test_missing_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r"solver='qp' needs Clarabel: pip install \"usmo-learn\[qp\]\""):
        PUSVC(0.5, solver="qp").fit([[0.0], [1.0], [2.0]], [0, 0, 1])

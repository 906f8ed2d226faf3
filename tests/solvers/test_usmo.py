"""The paper's algorithm: the lemmas on its steps, the record of its passes, its row cache."""

import itertools

import numpy as np
import pytest

from tests.fits import train
from tests.oracles import dual, fresh_G, random_problem, shortfall
from usmo.core.labels import pu_problem
from usmo.core.problem import Problem
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix
from usmo.solvers import starts, usmo

KERNELS = [Kernel("linear"), Kernel("rbf", gamma=0.5), Kernel("poly", gamma=0.5, degree=2, coef0=1.0)]


@pytest.mark.parametrize("make", [starts.uniform, lambda problem: starts.previous(problem, np.zeros(problem.n))])
def test_optimum_does_not_depend_on_the_start(make):
    problem, matrix = random_problem(3, n=60, p=8, lam=1e-3)
    solution = usmo.solve(problem, matrix, make(problem), tol=1e-6)
    assert shortfall(problem, matrix, solution.sigma) <= 1e-8


def test_solver_leaves_a_start_with_two_rows_at_h_and_f_ten_apart():
    """The published stopping test would stop at this start; the complete one leads to the optimum."""
    X = np.array([[5.0], [1.0], [-1.0]])
    problem = pu_problem(0.5, 0.25, np.array([0]), np.array([1, 2]))
    matrix = KernelMatrix(X, Kernel("linear"))
    middle = 0.5 * problem.c
    G = fresh_G(problem, matrix, middle)
    assert abs(G[0] - G[1]) == pytest.approx(10.0)
    solution = usmo.solve(problem, matrix, middle, tol=1e-6)
    assert solution.iterations > 0
    assert shortfall(problem, matrix, solution.sigma) <= 1e-9


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_step_lowers_the_objective_as_lemma_2_proves(kernel):
    """One step at a time, F falls by at least τ/(2√2)·‖Δσ‖."""
    tau = 1e-3
    problem, matrix = random_problem(5, n=40, p=5, lam=1e-3, kernel=kernel)
    sigma = starts.paper(problem, matrix)
    value = dual(problem, matrix, sigma)
    for limit in range(1, 60):
        solution = usmo.solve(problem, matrix, starts.paper(problem, matrix), tol=tau, max_iter=limit)
        new = dual(problem, matrix, solution.sigma)
        fall = tau / (2 * np.sqrt(2)) * np.linalg.norm(solution.sigma - sigma)
        assert value - new >= fall * (0.25 - 1e-6)  # non-bound passes go to a quarter of τ
        assert solution.iterations <= limit
        sigma, value = solution.sigma, new


def test_constraints_hold_to_rounding_after_100000_steps(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 40)) * np.logspace(0, -3, 40)
    X[20:] += np.where(rng.random((580, 1)) < 0.5, 0.3, -0.3)
    problem = pu_problem(0.5, 1e-6, np.arange(20), np.arange(20, 600))
    matrix = KernelMatrix(X, Kernel("linear"))
    first = starts.paper(problem, matrix)
    # without the repair at the end, which would hide the rounding errors of the steps
    monkeypatch.setattr(Problem, "repair", lambda self, sigma, order=None: sigma)
    solution = usmo.solve(problem, matrix, first, tol=1e-9, max_iter=150_000)
    assert solution.iterations > 100_000
    assert (solution.sigma >= 0).all()
    assert (solution.sigma <= problem.c).all()
    assert abs(float(problem.imbalance(solution.sigma))) <= 1e-13 * problem.total
    drift = np.abs(solution.G - fresh_G(problem, matrix, solution.sigma)).max()
    assert drift <= 1e-11 * np.abs(matrix.product(problem.c_rows, problem.b_rows, problem.b)).max()


def test_integer_weights_equal_repeated_rows():
    weight = np.array([1.0, 2.0, 3.0] * 12)
    problem, matrix = random_problem(1, n=30, p=6, lam=1e-3, weight=weight)
    index = np.repeat(np.arange(36), weight.astype(int))
    again = pu_problem(0.4, 1e-3, np.flatnonzero(index < 6), np.flatnonzero(index >= 6))
    repeated = KernelMatrix(matrix.X[index], matrix.kernel)
    one = train(problem, matrix, solver="usmo", tol=1e-8)[1]
    two = train(again, repeated, solver="usmo", tol=1e-8)[1]
    assert one.primal == pytest.approx(two.primal, rel=1e-9)
    assert one.dual == pytest.approx(two.dual, rel=1e-9)


def test_permuting_the_rows_changes_nothing():
    problem, matrix = random_problem(2, n=50, p=6, lam=1e-3)
    order = np.random.default_rng(0).permutation(56)
    place = np.argsort(order)
    moved = pu_problem(0.4, 1e-3, place[problem.b_rows], place[problem.c_rows])
    one = train(problem, matrix, solver="usmo", tol=1e-9)[0]
    two = train(moved, KernelMatrix(matrix.X[order], matrix.kernel), solver="usmo", tol=1e-9)[0]
    np.testing.assert_allclose(one.G + one.beta, two.G + two.beta, atol=1e-6)
    assert one.beta == pytest.approx(two.beta, abs=1e-6)


def test_small_cache_gives_the_same_solution_with_more_kernel_rows():
    problem, matrix = random_problem(4, n=300, p=20, d=6, lam=1e-4)
    ample = usmo.solve(problem, matrix, starts.paper(problem, matrix), tol=1e-5)
    # four kernel rows of 300: the non-bound rows exceed the cache, so only their non-bound columns are cached
    tight = usmo.solve(problem, matrix, starts.paper(problem, matrix), tol=1e-5, cache_size=4 * 300 * 8 / 2**20)
    assert tight.status == ample.status == "optimal"
    np.testing.assert_allclose(tight.G, ample.G, atol=1e-3)
    assert tight.kernel_rows > ample.kernel_rows


def test_history_records_every_pass():
    problem, matrix = random_problem(6, n=100, p=10, lam=1e-3)
    reported = []
    solution = usmo.solve(
        problem,
        matrix,
        starts.paper(problem, matrix),
        tol=1e-5,
        progress=lambda record, sigma: reported.append(record),
    )
    assert tuple(reported) == solution.history
    assert [record.kind for record in solution.history[:3]] == ["start", "whole", "nonbound"]
    assert solution.history[-1].kind == "whole"
    objectives = [record.objective for record in solution.history]
    assert all(b <= a + 1e-9 * abs(a) for a, b in itertools.pairwise(objectives))
    assert objectives[-1] == pytest.approx(dual(problem, matrix, solution.sigma), rel=1e-9)
    assert solution.history[-1].steps == solution.iterations
    assert solution.history[-1].kernel_rows == solution.kernel_rows


def test_kernel_rows_counts_the_entries_of_the_matrix():
    problem, matrix = random_problem(6, n=100, p=10, lam=1e-3)
    before = matrix.entries
    solution = usmo.solve(problem, matrix, starts.uniform(problem), tol=1e-5)
    assert solution.kernel_rows == (matrix.entries - before) / 100

"""The block solver: kernel rows, cache, starts and float types. Its optimum: tests/fitting/test_exactness.py."""

import numpy as np
import pytest

from tests.fits import certificate_of, solve_blocks
from tests.oracles import random_problem, shortfall
from usmo.core.labels import pu_problem
from usmo.core.solution import EvaluatedPoint
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix
from usmo.solvers import blocks, starts


@pytest.fixture(scope="module")
def large():
    """5,000 rows: the solver starts from a subsample, and not all rows are in the support."""
    return random_problem(0, n=5000, p=50, d=6, prior=0.2, lam=1e-3, kernel=Kernel("rbf", gamma=0.2))


def test_kernel_rows_are_near_the_number_of_nonzero_sigma(large):
    solution = solve_blocks(*large)
    assert solution.status == "optimal"
    share = np.count_nonzero(solution.sigma) / 5000
    assert share < solution.kernel_rows / 5000 < share + 0.25


def test_kernel_rows_counts_every_entry_once(large):
    problem, matrix = large
    sizes = []

    def counting(name, size):
        outer = getattr(KernelMatrix, name)

        def run(self, first, *others):
            sizes.append(size(self, first, *others))
            return outer(self, first, *others)

        return run

    with pytest.MonkeyPatch.context() as patch:
        for name in ("write_rows", "product_with"):
            patch.setattr(
                KernelMatrix, name, counting(name, lambda self, sources, *_: sources.rows.shape[0] * len(self))
            )
        patch.setattr(
            KernelMatrix, "product", counting("product", lambda self, rows, cols, v: len(rows) * len(cols))
        )
        solution = solve_blocks(problem, matrix)
    assert solution.kernel_rows * problem.n == pytest.approx(sum(sizes))


def test_objective_falls_along_the_history_which_ends_at_the_tolerance(large):
    problem, matrix = large
    reported = []
    solution = solve_blocks(problem, matrix, tol=1e-4, progress=lambda record, sigma: reported.append(record))
    assert tuple(reported) == solution.history
    objectives = np.array([record.objective for record in solution.history])
    assert (np.diff(objectives) <= 1e-6 * np.abs(objectives[1:])).all()
    assert solution.history[-1].violation <= 1e-4
    assert solution.iterations == len(solution.history) - 1


def test_small_cache_gives_the_same_solution_with_more_kernel_rows(large):
    problem, matrix = large
    ample, tight = (solve_blocks(problem, matrix, tol=1e-4, cache_size=size) for size in (1000.0, 1e-3))
    assert tight.status == ample.status == "optimal"
    np.testing.assert_allclose(tight.G + tight.beta, ample.G + ample.beta, atol=1e-3)
    # at most three times as many: the cache holds a block at least, and most rows are needed once
    assert ample.kernel_rows <= tight.kernel_rows < 3 * ample.kernel_rows


@pytest.mark.parametrize("start", ["uniform", "paper", "zero shares"])
def test_any_feasible_start_leads_to_the_optimum(start):
    problem, matrix = random_problem(2, n=300, p=20, d=4, lam=1e-3)
    sigma = {
        "uniform": lambda: starts.uniform(problem),
        "paper": lambda: starts.paper(problem, matrix),
        "zero shares": lambda: starts.previous(problem, np.zeros(problem.n)),
    }[start]()
    assert shortfall(problem, matrix, solve_blocks(problem, matrix, sigma, tol=1e-5).sigma) <= 1e-7


def test_start_whose_G_is_given_needs_no_kernel_rows(large):
    problem, matrix = large
    first = solve_blocks(problem, matrix, tol=1e-4)
    rows = blocks.local_rows(problem, matrix, np.float32, 100.0)
    again = blocks.solve(problem, rows, first.sigma, point=EvaluatedPoint(first.sigma, first.G), tol=1e-4)
    assert again.iterations == 0
    assert again.kernel_rows == problem.p  # only q is computed


def test_float64_is_chosen_where_float32_cannot_resolve_the_tolerance(large):
    problem, matrix = large
    assert blocks.choose_float_type(problem, matrix, 1e-3) == np.float32
    assert blocks.choose_float_type(problem, matrix, 1e-9) == np.float64
    called = KernelMatrix(matrix.X, Kernel(lambda A, B: A @ B.T))
    assert blocks.choose_float_type(problem, called, 1.0) == np.float64
    loose = pu_problem(0.4, 1e-9, problem.b_rows, problem.c_rows)
    assert blocks.choose_float_type(loose, matrix, 1e-3) == np.float64
    huge = KernelMatrix(1e6 * matrix.X, Kernel("poly", gamma=1.0, degree=4))  # float32 overflows
    assert blocks.choose_float_type(problem, huge, 1e3) == np.float64


def test_a_few_rows_far_out_do_not_make_kernel_rows_float64(large):
    problem, matrix = large
    X = matrix.X.copy()
    X[:: len(X) // 100] *= 30.0
    far = KernelMatrix(X, matrix.kernel)
    assert blocks.choose_float_type(problem, far, 1e-3) == np.float32
    solution = solve_blocks(problem, far)
    assert certificate_of(problem, far, solution).kkt_violation <= 1e-3


def test_rounds_go_on_until_the_duality_gap_is_met(large):
    problem, matrix = large
    b_part = 0.5 * float(problem.b @ matrix.product(problem.b_rows, problem.b_rows, problem.b))
    for goal in (1e-4, 1e-6):
        solution = solve_blocks(problem, matrix, tol=0.5, dtype=np.float64, gap=(goal, b_part))
        assert solution.status == "optimal"
        assert certificate_of(problem, matrix, solution).relative_gap == pytest.approx(0.0, abs=1.01 * goal)
    without = solve_blocks(problem, matrix, tol=0.5, dtype=np.float64)
    assert certificate_of(problem, matrix, without).relative_gap > 1e-4


def test_a_gap_out_of_reach_ends_at_the_rounding_of_float64(large):
    solution = solve_blocks(*large, dtype=np.float64, gap=(1e-30, 0.0))
    assert solution.status in ("optimal", "precision")
    assert solution.history[-1].violation < 1e-9


def test_stop_from_progress_ends_the_fit(large):
    solution = solve_blocks(*large, tol=1e-6, progress=lambda record, sigma: record.kind == "block")
    assert solution.status == "stopped"
    assert solution.iterations == 1

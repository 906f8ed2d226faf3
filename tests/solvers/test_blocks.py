"""The block solver: its account, cache, starts and float types. Its optimum is tested in test_exactness."""

import numpy as np
import pytest

from tests.oracles import dual, fresh_G, random_problem, shortfall
from usmo.core.problem import PUProblem
from usmo.fitting import kernel as training
from usmo.fitting.kernel import train
from usmo.kernels.matrix import Kernel, KernelMatrix
from usmo.solvers import blocks
from usmo.solvers import starts as start
from usmo.solvers.row_cache import RowCache


@pytest.fixture(scope="module")
def large():
    """5,000 rows: the subsample start is used, and the support is a part of them."""
    return random_problem(0, n=5000, p=50, d=6, prior=0.2, lam=1e-3, kernel=Kernel("rbf", gamma=0.2))


def test_kernel_rows_are_near_the_number_of_nonzero_sigma(large):
    solution = blocks.solve(*large)
    assert solution.status == "optimal"
    share = np.count_nonzero(solution.sigma) / 5000
    assert share < solution.kernel_rows / 5000 < share + 0.25


def test_account_counts_every_entry_once(large):
    problem, matrix = large
    sizes = []

    def counting(name, size):
        outer = getattr(KernelMatrix, name)

        def run(self, first, *others):
            sizes.append(size(self, first, *others))
            return outer(self, first, *others)

        return run

    with pytest.MonkeyPatch.context() as patch:
        for name in ("write_given", "product_with"):
            patch.setattr(
                KernelMatrix, name, counting(name, lambda self, given, *_: given.rows.shape[0] * len(self))
            )
        patch.setattr(
            KernelMatrix, "product", counting("product", lambda self, rows, cols, v: len(rows) * len(cols))
        )
        solution = blocks.solve(problem, matrix)
    assert solution.kernel_rows * problem.n == pytest.approx(sum(sizes))


def test_history_falls_and_ends_at_the_tolerance(large):
    problem, matrix = large
    heard = []
    solution = blocks.solve(problem, matrix, tol=1e-4, progress=lambda record, sigma: heard.append(record))
    assert tuple(heard) == solution.history
    objectives = np.array([record.objective for record in solution.history])
    assert (np.diff(objectives) <= 1e-6 * np.abs(objectives[1:])).all()
    assert solution.history[-1].violation <= 1e-4
    assert solution.iterations == len(solution.history) - 1


def test_small_cache_costs_rows_but_not_the_answer(large):
    problem, matrix = large
    ample, tight = (blocks.solve(problem, matrix, tol=1e-4, cache_size=size) for size in (1000.0, 1e-3))
    assert tight.status == ample.status == "optimal"
    np.testing.assert_allclose(tight.G + tight.beta, ample.G + ample.beta, atol=1e-3)
    # no cliff: the cache holds a block at least, and most rows are needed once
    assert ample.kernel_rows <= tight.kernel_rows < 3 * ample.kernel_rows


@pytest.mark.parametrize("begin", ["uniform", "paper", "zero shares"])
def test_any_feasible_start_leads_to_the_optimum(begin):
    problem, matrix = random_problem(2, n=300, p=20, d=4, lam=1e-3)
    sigma = {
        "uniform": lambda: start.uniform(problem),
        "paper": lambda: start.paper(problem, matrix),
        "zero shares": lambda: start.previous(problem, np.zeros(problem.n)),
    }[begin]()
    assert shortfall(problem, matrix, blocks.solve(problem, matrix, sigma, tol=1e-5).sigma) <= 1e-7


def test_known_values_save_the_kernel_rows_of_the_start(large):
    problem, matrix = large
    first = blocks.solve(problem, matrix, tol=1e-4)
    space = blocks.Workspace.of(problem, matrix, np.float32, 100.0)
    G = first.G
    again = blocks.solve(problem, matrix, first.sigma, known=(first.sigma, G), tol=1e-4, workspace=space)
    assert again.iterations == 0
    assert again.kernel_rows == problem.p  # q only


def test_float64_is_chosen_where_float32_cannot_hold_the_tolerance(large):
    problem, matrix = large
    assert blocks.precision(problem, matrix, 1e-3) == np.float32
    assert blocks.precision(problem, matrix, 1e-9) == np.float64
    called = KernelMatrix(matrix.X, Kernel(lambda A, B: A @ B.T))
    assert blocks.precision(problem, called, 1.0) == np.float64
    loose = PUProblem.from_prior(0.4, 1e-9, problem.positives, problem.unlabelled)
    assert blocks.precision(loose, matrix, 1e-3) == np.float64


def test_fit_forced_to_float32_below_its_rounding_is_refined_to_the_tolerance(monkeypatch):
    """Float32 rows with τ far below their rounding: the fresh values show it, and the fit goes on from them."""
    problem, matrix = random_problem(3, n=800, p=30, d=5, lam=1e-5)
    training.compile_once()
    monkeypatch.setattr(blocks, "precision", lambda *_: np.float32)
    kinds, honest = [], blocks.solve

    def noting(*args, **options):
        found = honest(*args, **options)
        kinds.append(options["workspace"])
        return found

    monkeypatch.setattr(blocks, "solve", noting)
    solution, proof = train(problem, matrix, tol=1e-7)
    assert len(kinds) > 1
    assert solution.status == "optimal"
    assert proof.kkt_violation <= 1e-7 + 1e-9 * np.abs(solution.G).max()
    assert shortfall(problem, matrix, solution.sigma) <= 1e-9
    assert solution.iterations == sum(record.kind == "block" for record in solution.history)


def test_cache_evicts_the_least_recently_used_and_keeps_what_is_asked_for():
    asked = []

    def rows(which, out, slots):
        asked.append(which.tolist())
        out[slots] = which[:, None]

    cache = RowCache(rows, members=10, width=3, budget=4 * 3 * 8)
    assert cache.capacity == 4
    cache.fetch(np.array([1, 2, 3]))
    cache.fetch(np.array([1, 4]))
    cache.fetch(np.array([5, 1, 6]))  # 2 and 3 are the oldest
    assert asked == [[1, 2, 3], [4], [5, 6]]
    assert [k for k in range(10) if cache.slot[k] >= 0] == [1, 4, 5, 6]
    for k in (1, 4, 5, 6):
        np.testing.assert_array_equal(cache.buffer[cache.slot[k]], [k, k, k])


def test_thresholded_scores_are_feasible_and_exact_for_the_optimal_decision_function():
    problem, matrix = random_problem(5, n=400, p=20, lam=1e-2)
    best, _ = train(problem, matrix, tol=1e-8)
    sigma = start.from_scores(problem, fresh_G(problem, matrix, best.sigma) + 17.0)
    assert abs(problem.residual(sigma)) <= 1e-12 * problem.total
    bound = ~problem.nonbound(best.sigma)
    assert np.mean(sigma[bound] == best.sigma[bound]) > 0.95
    assert dual(problem, matrix, sigma) < dual(problem, matrix, start.uniform(problem))


def test_stop_from_progress_ends_the_fit(large):
    solution = blocks.solve(*large, tol=1e-6, progress=lambda record, sigma: record.kind == "block")
    assert solution.status == "stopped"
    assert solution.iterations == 1

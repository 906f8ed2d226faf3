"""The block solver over several shards: the same solution for the same kernel rows, and little is sent."""

import pickle
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from tests.oracles import random_problem, random_table, shortfall
from usmo.core import shards
from usmo.core.problem import PUProblem
from usmo.core.shards import Each, Here
from usmo.kernels import matrix as kernels
from usmo.kernels import tiles
from usmo.kernels.matrix import Given, Kernel, KernelMatrix, row_sums
from usmo.solvers import block_shards as columns
from usmo.solvers import blocks
from usmo.solvers import pair_steps as smo
from usmo.solvers import starts as start
from usmo.solvers.block_shards import Columns, columns_of

N, D = 3000, 7
SIZES = [1500, 100, 1400]
RBF = Kernel("rbf", gamma=0.1)
TABLES = {
    "rbf dense": (RBF, False),
    "rbf CSR": (RBF, True),
    "linear": (Kernel("linear"), False),
    "linear CSR": (Kernel("linear"), True),
    "poly": (Kernel("poly", gamma=0.1, degree=2, coef0=1.0), False),
    "poly CSR": (Kernel("poly", gamma=0.1, degree=2, coef0=1.0), True),
    "callable": (Kernel(lambda A, B: np.tanh(0.02 * A @ B.T) + A @ B.T), False),
}
ROUNDED = {"linear CSR", "poly CSR", "callable"}
"""Tables for which one shard takes other rows too, up to 6 of 1,200, if X is multiplied by 1 ± 1e-15."""


def task(kernel, is_sparse=False, weighted=False, n=N, lam=1e-3):
    X, y = random_table(0, n, 40, D, 0.3)
    rng = np.random.default_rng(1)
    if is_sparse:
        kept = rng.random(X.shape) < 0.3
        kept[:, 0] = True  # no two rows are the same
        X = sparse.csr_matrix(X * kept)
    weight = rng.uniform(0.3, 1.0, len(y)) if weighted else None
    problem = PUProblem.from_prior(0.3, lam, np.flatnonzero(y == 1), np.flatnonzero(y == 0), weight)
    return problem, KernelMatrix(X, kernel)


def spread_over(problem, matrix, sizes, dtype=np.float64, cache_size=1000.0, team=Here):
    """A workspace over shards made from raw rows, as a cluster makes them."""
    rows, n, ends = matrix.X[problem.unlabelled], problem.n, np.cumsum(sizes)
    parts = [rows[end - size : end] for size, end in zip(sizes, ends, strict=True)]
    sums = [row_sums(part, matrix.kernel, n) for part in parts]
    centre = None if sums[0] is None else sum(sums) / n
    positives, share = matrix.X[problem.positives], problem.c1 / problem.total
    pieces = [
        columns_of(part, matrix.kernel, dtype, n, centre, end - len_, positives, share)
        for part, len_, end in zip(parts, sizes, ends, strict=True)
    ]
    return blocks.Workspace.over(team(*pieces), sizes, dtype, cache_size, n * problem.p)


def both(problem, matrix, sizes=SIZES, team=Here, **options):
    one = blocks.Workspace.of(problem, matrix, np.float64, 1000.0)
    many = spread_over(problem, matrix, sizes, team=team)
    return [blocks.solve(problem, None, workspace=space, tol=1e-4, **options) for space in (one, many)]


def agree(one, many, rounded=False):
    """``rounded``: the last digits decide which rows are taken on the way, so that τ is all that holds."""
    assert one.status == many.status == "optimal"
    np.testing.assert_array_equal(one.sigma > 0.0, many.sigma > 0.0)
    if rounded:
        assert many.kernel_rows == pytest.approx(one.kernel_rows, rel=0.01)
    else:
        assert many.kernel_rows == one.kernel_rows
        assert many.iterations == one.iterations
    last, expected, close = many.history[-1], one.history[-1], 1e-3 if rounded else 1e-6
    assert last.objective == pytest.approx(expected.objective, rel=1e-9)
    assert last.nonbound == expected.nonbound
    assert last.beta == pytest.approx(expected.beta, abs=close)
    assert many.beta == pytest.approx(one.beta, abs=close)
    np.testing.assert_allclose(many.G, one.G, atol=close)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("table", TABLES)
def test_three_shards_give_what_one_gives(table, weighted):
    assert SIZES[1] < blocks.BLOCK // 2
    agree(*both(*task(*TABLES[table], weighted=weighted)), rounded=table in ROUNDED)


def test_sparse_rows_that_are_too_many_to_be_held_dense(monkeypatch):
    problem, matrix = task(RBF, is_sparse=True)
    dense = blocks.solve(problem, matrix, tol=1e-4)
    monkeypatch.setattr(
        kernels, "_DENSE_COPY", N * D // 2
    )  # the subsample is held dense, in all shards or in none
    one, many = both(problem, matrix)
    agree(one, many)
    np.testing.assert_allclose(many.G, dense.G, atol=1e-2)


@pytest.mark.parametrize("how", ["start", "known"])
def test_starts_and_known_values(how):
    problem, matrix = task(RBF, weighted=True)
    first = blocks.solve(problem, matrix, tol=0.1)
    known = (first.sigma, first.G) if how == "known" else None
    begin = first.sigma if how == "known" else start.uniform(problem)
    one, many = both(problem, matrix, start=begin, known=known)
    agree(one, many)
    assert (one.kernel_rows < 0.5 * N) == (how == "known")


def test_shards_of_single_rows_of_which_none_is_in_the_subsample():
    problem, matrix = task(RBF)
    sample = np.random.default_rng(N).permutation(N)[: N // 4]
    alone = int(np.setdiff1d(np.arange(1000, N), sample)[0])
    agree(*both(problem, matrix, sizes=[alone, 1, N - alone - 1]))
    few = random_problem(1, n=12, p=4)
    many = blocks.solve(few[0], None, workspace=spread_over(*few, [1] * 12), tol=1e-6)
    assert shortfall(*few, many.sigma) <= 1e-7


def test_float32_shards_and_a_small_cache_reach_the_tolerance():
    problem, matrix = task(RBF)
    best = blocks.solve(problem, matrix, tol=1e-4)
    space = spread_over(problem, matrix, SIZES, np.float32, cache_size=1.0)
    assert space.slots.capacity == blocks.BLOCK  # a megabyte in all shards together would be 87 rows
    found = blocks.solve(problem, None, workspace=space, tol=1e-3)
    assert found.status == "optimal"
    np.testing.assert_allclose(found.G + found.beta, best.G + best.beta, atol=1e-2)


def test_workspace_knows_its_mean_and_serves_many_lambdas():
    problem, matrix = task(RBF)
    space = spread_over(problem, matrix, SIZES)
    local = blocks.Workspace.of(problem, matrix, np.float64, 1000.0)
    np.testing.assert_allclose(space.mean, local.mean, rtol=1e-12)
    for lam in (1e-2, 1e-3):
        at = PUProblem.from_prior(0.3, lam, problem.positives, problem.unlabelled)
        agree(*(blocks.solve(at, None, workspace=here, tol=1e-4) for here in (local, space)))


def test_state_saved_on_the_way_belongs_together():
    problem, matrix = task(RBF)
    K = matrix.block(problem.unlabelled, problem.unlabelled)
    q = matrix.product(problem.unlabelled, problem.positives, problem.c1)
    errors = []

    def save(sigma, get_G, target):
        errors.append(np.abs(get_G() - (q - K @ sigma)).max())

    blocks.solve(problem, None, workspace=spread_over(problem, matrix, SIZES), tol=1e-4, save=save)
    assert len(errors) > 3
    assert max(errors) < 1e-9


class Post(Here):
    """Shards to which everything goes by post, and comes back read-only; keeps the account of what was sent."""

    def __init__(self, *pieces):
        super().__init__(*pieces)
        self.fetched, self.sent, self.largest, self.calls = [], [], 0, []

    def gather(self, work, *args):
        depth = 0
        while work is shards._inside:
            work, args, depth = args[1], args[2:], depth + 1
        self.calls.append(work.__name__)
        answers = []
        for k, shard in enumerate(self.shards):
            mine = [arg[k] if isinstance(arg, Each) else arg for arg in args]
            for _ in range(depth):
                shard = shard.below
            for arg in mine:
                if isinstance(arg, Given):
                    self.sent.append((depth, arg.rows.shape[0]))
            answer = self.posted(partial(work, shard), self.posted(None, work, *mine)[1:])
            if work is columns.rows_of:
                self.fetched.append((depth, answer.rows.shape[0]))
            answers.append(answer)
        return answers

    def posted(self, work, args, *more):
        """What arrives of the arguments; of the answer to them, if there is work."""
        value = (args, *more) if work is None else work(*args)
        buffers = []
        text = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        rows = [part for part in (value if isinstance(value, tuple) else ()) if isinstance(part, Given)]
        given = 0 if isinstance(value, Given) else len(pickle.dumps(rows))
        if not isinstance(value, Given):
            for part in value if isinstance(value, (tuple, list)) else [value]:
                wide = getattr(part, "ndim", 0) == 2 and part.shape[1] == D
                assert not wide, "rows of the table are sent as something else"
            size = len(text) + sum(buffer.raw().nbytes for buffer in buffers)
            self.largest = max(self.largest, size - given)
        return pickle.loads(text, buffers=[bytes(buffer) for buffer in buffers])


@pytest.mark.parametrize("is_sparse", [False, True])
def test_only_rows_whose_kernel_rows_are_computed_are_sent(is_sparse, monkeypatch):
    if is_sparse:
        monkeypatch.setattr(kernels, "_DENSE_COPY", 0)
    problem, matrix = task(RBF, is_sparse)
    posts = []

    def team(*pieces):
        posts.append(Post(*pieces))
        return posts[-1]

    one, many = both(problem, matrix, team=team)
    agree(one, many)
    (post,) = posts
    sizes = {0: N, 1: N // 4}
    entries = sum(rows * sizes[depth] for depth, rows in post.fetched)
    assert many.kernel_rows * N == problem.p * N + entries
    # to each shard once
    assert sum(rows for _, rows in post.sent) == len(SIZES) * sum(rows for _, rows in post.fetched)
    # else: the columns of a block, or some numbers for each row
    assert post.largest < 8 * blocks.BLOCK**2 + 4 * 8 * N
    # the shards have counted the same entries, but for those of the subsample, whose shards are gone
    assert sum(shard.matrix.entries for shard in post.shards) == sum(
        rows * N for depth, rows in post.fetched if depth == 0
    )
    assert all(shard.below is None for shard in post.shards)


def test_round_is_three_calls():
    problem, matrix = task(RBF)
    space = spread_over(problem, matrix, SIZES, team=Post)
    found = blocks.solve(problem, None, start.uniform(problem), workspace=space, tol=1e-4)
    calls = space.team.calls[:-1]  # the last fetches G
    first = calls.index("advance")
    assert calls[first + 1 :].count("advance") == found.iterations
    assert set(calls[first + 1 :]) <= {"rows_of", "block_of", "advance"}
    assert len(calls[first + 1 :]) <= 3 * found.iterations


def test_precomputed_kernel_needs_its_table_in_one_place():
    problem, matrix = random_problem(2, n=20, p=4)
    K = KernelMatrix(matrix.block(np.arange(24), np.arange(24)), Kernel("precomputed"))
    pieces = [
        Columns(K.restrict(problem.unlabelled[part], np.float64), np.ones(10), part.start)
        for part in (slice(0, 10), slice(10, 20))
    ]
    with pytest.raises(ValueError, match="a precomputed kernel has no rows to hand out"):
        blocks.Workspace.over(Here(*pieces), [10, 10], np.float64, 1.0, 0)


def test_solver_needs_a_kernel_matrix_or_a_workspace():
    problem, _ = random_problem(0)
    with pytest.raises(ValueError, match="either a kernel matrix or a workspace"):
        blocks.solve(problem, None)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_comes_read_only_has_nothing_compiled_again(dtype):
    problem, matrix = task(RBF)
    loops = [tiles._subtract_rows, tiles._write32, tiles._write64, tiles._finish32, tiles._finish64]
    loops += [tiles._add_rows32, smo.steps_on_set]
    counts = []
    for team in (Here, Post):
        blocks.solve(problem, None, workspace=spread_over(problem, matrix, SIZES, dtype, team=team))
        counts.append([len(loop.signatures) for loop in loops])
    assert counts[0] == counts[1]

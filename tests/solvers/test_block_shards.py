"""The block solver over several shards: the same solution from the same kernel rows, and what is sent to shards."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from tests.fits import solve_blocks
from tests.oracles import random_problem, random_table, shortfall
from usmo.core import shards
from usmo.core.labels import pu_problem
from usmo.core.shards import LocalShards, PerShard
from usmo.core.solution import EvaluatedPoint
from usmo.kernels import matrix as matrix_module
from usmo.kernels import tiles
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix, SourceRows, row_sums
from usmo.solvers import blocks, pair_steps, starts
from usmo.solvers.block_rows import BlockRows
from usmo.solvers.block_shards import BlockShard

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
"""Tables for which rounding decides which rows enter a block: up to 6 of 1,200 change with X·(1 ± 1e-15)."""


def problem_with(kernel, is_sparse=False, weighted=False, n=N, lam=1e-3):
    X, y = random_table(0, n, 40, D, 0.3)
    rng = np.random.default_rng(1)
    if is_sparse:
        kept = rng.random(X.shape) < 0.3
        kept[:, 0] = True  # no two rows are the same
        X = sparse.csr_matrix(X * kept)
    weight = rng.uniform(0.3, 1.0, len(y)) if weighted else None
    problem = pu_problem(0.3, lam, np.flatnonzero(y == 1), np.flatnonzero(y == 0), weight)
    return problem, KernelMatrix(X, kernel)


def rows_in_shards(problem, matrix, sizes, dtype=np.float64, cache_size=1000.0, kind=LocalShards):
    """Block rows over shards made from raw rows, as a cluster makes them."""
    rows, n, ends = matrix.X[problem.c_rows], problem.n, np.cumsum(sizes)
    parts = [rows[end - size : end] for size, end in zip(sizes, ends, strict=True)]
    sums = [row_sums(part, matrix.kernel, n) for part in parts]
    centre = None if sums[0] is None else sum(sums) / n
    P_rows, share = matrix.X[problem.b_rows], problem.b / problem.total
    block_shards = [
        BlockShard.of_rows(part, matrix.kernel, dtype, n, centre, end - size, P_rows, share)
        for part, size, end in zip(parts, sizes, ends, strict=True)
    ]
    return BlockRows(kind(*block_shards), sizes, dtype, cache_size, n * problem.p, least=blocks.BLOCK)


def solve_both(problem, matrix, sizes=SIZES, kind=LocalShards, start=None, **options):
    """Solutions over one shard and over several."""
    one = blocks.local_rows(problem, matrix, np.float64, 1000.0)
    many = rows_in_shards(problem, matrix, sizes, kind=kind)
    return [blocks.solve(problem, rows, start, tol=1e-4, **options) for rows in (one, many)]


def assert_agree(one, many, rounded=False):
    """``rounded``: rounding decides which rows enter a block, so the solutions agree to τ only."""
    assert one.status == many.status == "optimal"
    np.testing.assert_array_equal(one.sigma > 0.0, many.sigma > 0.0)
    if rounded:
        assert many.kernel_rows == pytest.approx(one.kernel_rows, rel=0.01)
    else:
        assert many.kernel_rows == one.kernel_rows
        assert many.iterations == one.iterations
    last, expected, close = many.history[-1], one.history[-1], 1e-3 if rounded else 1e-4
    assert last.objective == pytest.approx(expected.objective, rel=1e-9)
    assert abs(last.nonbound - expected.nonbound) <= 2  # rows within rounding of a bound
    assert last.beta == pytest.approx(expected.beta, abs=close)
    assert many.beta == pytest.approx(one.beta, abs=close)
    np.testing.assert_allclose(many.G, one.G, atol=close)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("table", TABLES)
def test_three_shards_give_the_solution_of_one(table, weighted):
    assert SIZES[1] < blocks.BLOCK // 2
    assert_agree(*solve_both(*problem_with(*TABLES[table], weighted=weighted)), rounded=table in ROUNDED)


def test_sparse_tables_too_large_to_be_held_dense(monkeypatch):
    problem, matrix = problem_with(RBF, is_sparse=True)
    dense = solve_blocks(problem, matrix, tol=1e-4)
    # the subsample still fits, so all shards hold it dense
    monkeypatch.setattr(matrix_module, "_DENSE_COPY", N * D // 2)
    one, many = solve_both(problem, matrix)
    assert_agree(one, many)
    np.testing.assert_allclose(many.G, dense.G, atol=1e-2)


@pytest.mark.parametrize("evaluated", [False, True])
def test_starts_with_and_without_their_G(evaluated):
    problem, matrix = problem_with(RBF, weighted=True)
    first = solve_blocks(problem, matrix, tol=0.1)
    point = EvaluatedPoint(first.sigma, first.G) if evaluated else None
    start = first.sigma if evaluated else starts.uniform(problem)
    one, many = solve_both(problem, matrix, start=start, point=point)
    assert_agree(one, many)
    assert (one.kernel_rows < 0.5 * N) == evaluated


def test_shards_of_single_rows_with_none_of_them_in_the_subsample():
    problem, matrix = problem_with(RBF)
    sample = np.random.default_rng(N).permutation(N)[: N // 4]
    alone = int(np.setdiff1d(np.arange(1000, N), sample)[0])
    assert_agree(*solve_both(problem, matrix, sizes=[alone, 1, N - alone - 1]))
    few = random_problem(1, n=12, p=4)
    many = blocks.solve(few[0], rows_in_shards(*few, [1] * 12), tol=1e-6)
    assert shortfall(*few, many.sigma) <= 1e-7


def test_float32_shards_and_a_small_cache_reach_the_tolerance():
    problem, matrix = problem_with(RBF)
    best = solve_blocks(problem, matrix, tol=1e-4)
    rows = rows_in_shards(problem, matrix, SIZES, np.float32, cache_size=1.0)
    assert rows.slots.capacity == blocks.BLOCK  # a megabyte in all shards together would be 87 rows
    solution = blocks.solve(problem, rows, tol=1e-3)
    assert solution.status == "optimal"
    np.testing.assert_allclose(solution.G + solution.beta, best.G + best.beta, atol=1e-2)


def test_rows_in_shards_have_the_same_mean_and_serve_several_lambdas():
    problem, matrix = problem_with(RBF)
    many = rows_in_shards(problem, matrix, SIZES)
    local = blocks.local_rows(problem, matrix, np.float64, 1000.0)
    np.testing.assert_allclose(many.mean, local.mean, rtol=1e-12)
    for lam in (1e-2, 1e-3):
        other = pu_problem(0.3, lam, problem.b_rows, problem.c_rows)
        assert_agree(*(blocks.solve(other, rows, tol=1e-4) for rows in (local, many)))


def test_saved_G_belongs_to_the_saved_sigma():
    problem, matrix = problem_with(RBF)
    K = matrix.block(problem.c_rows, problem.c_rows)
    q = matrix.product(problem.c_rows, problem.b_rows, problem.b)
    errors = []

    def save(sigma, get_G, target, panels):
        errors.append(np.abs(get_G() - (q - K @ sigma)).max())

    blocks.solve(problem, rows_in_shards(problem, matrix, SIZES), tol=1e-4, save=save)
    assert len(errors) > 3
    assert max(errors) < 1e-9


class PickledShards(LocalShards):
    """Shards to which arguments and from which results go pickled, and arrive read-only; records what was sent."""

    def __init__(self, *block_shards):
        super().__init__(*block_shards)
        self.gathered, self.sent, self.largest, self.calls = [], [], 0, []

    def gather(self, function, *args):
        depth = 0
        while function is shards._call_on_attribute:
            function, args, depth = args[1], args[2:], depth + 1
        self.calls.append(function.__name__)
        answers = []
        for k, shard in enumerate(self.shards):
            own = [arg[k] if isinstance(arg, PerShard) else arg for arg in args]
            for _ in range(depth):
                shard = shard.subsample
            for arg in own:
                if isinstance(arg, SourceRows):
                    self.sent.append((depth, arg.rows.shape[0]))
            _, *received = self.transfer((function, *own))
            answer = self.transfer(function(shard, *received))
            if function is BlockShard.rows_at:
                self.gathered.append((depth, answer.rows.shape[0]))
            answers.append(answer)
        return answers

    def transfer(self, value):
        """The value after pickling. ``largest`` is the size of the largest one without rows of the table."""
        buffers = []
        text = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        if not isinstance(value, SourceRows):
            items = value if isinstance(value, (tuple, list)) else [value]
            # a part of a kernel block may have as many columns, but no negative value
            wide = [item for item in items if getattr(item, "ndim", 0) == 2 and item.shape[1] == D]
            assert not any(item.min() < 0 for item in wide), (
                "rows of the table are sent in another form than SourceRows"
            )
            rows = [item for item in items if isinstance(item, SourceRows)] if isinstance(value, tuple) else []
            size = len(text) + sum(buffer.raw().nbytes for buffer in buffers)
            self.largest = max(self.largest, size - len(pickle.dumps(rows)))
        return pickle.loads(text, buffers=[bytes(buffer) for buffer in buffers])


@pytest.mark.parametrize("is_sparse", [False, True])
def test_only_rows_whose_kernel_rows_are_computed_are_sent(is_sparse, monkeypatch):
    if is_sparse:
        monkeypatch.setattr(matrix_module, "_DENSE_COPY", 0)
    problem, matrix = problem_with(RBF, is_sparse)
    made = []

    def pickled(*block_shards):
        made.append(PickledShards(*block_shards))
        return made[-1]

    one, many = solve_both(problem, matrix, kind=pickled)
    assert_agree(one, many)
    (transfers,) = made
    sizes = {0: N, 1: N // blocks._SAMPLE_SHARES[0][1]}
    entries = sum(rows * sizes[depth] for depth, rows in transfers.gathered)
    assert many.kernel_rows * N == problem.p * N + entries
    # every gathered row goes to each shard once
    assert sum(rows for _, rows in transfers.sent) == len(SIZES) * sum(rows for _, rows in transfers.gathered)
    # anything else is at most the columns of a block, or some numbers for each row
    assert transfers.largest < 8 * blocks.BLOCK**2 + 4 * 8 * N
    # the shards counted the same entries; those of the subsample are gone with its shards
    assert sum(shard.matrix.entries for shard in transfers.shards) == sum(
        rows * N for depth, rows in transfers.gathered if depth == 0
    )
    assert all(shard.subsample is None for shard in transfers.shards)


def test_round_is_at_most_three_calls():
    problem, matrix = problem_with(RBF)
    rows = rows_in_shards(problem, matrix, SIZES, kind=PickledShards)
    solution = blocks.solve(problem, rows, starts.uniform(problem), tol=1e-4)
    calls = rows.shards.calls[:-1]  # the last call gets G
    first = calls.index("advance")
    assert calls[first + 1 :].count("advance") == solution.iterations
    assert set(calls[first + 1 :]) <= {"rows_at", "block", "advance"}
    assert len(calls[first + 1 :]) <= 3 * solution.iterations


def test_precomputed_kernel_needs_its_table_in_one_shard():
    problem, matrix = random_problem(2, n=20, p=4)
    K = KernelMatrix(matrix.block(np.arange(24), np.arange(24)), Kernel("precomputed"))
    block_shards = [
        BlockShard(K.restrict(problem.c_rows[part], np.float64), np.ones(10), part.start)
        for part in (slice(0, 10), slice(10, 20))
    ]
    with pytest.raises(ValueError, match="a precomputed kernel needs its whole table in one shard"):
        BlockRows(LocalShards(*block_shards), [10, 10], np.float64, 1.0, 0, least=blocks.BLOCK)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_read_only_arguments_compile_no_loop_again(dtype):
    problem, matrix = problem_with(RBF)
    loops = [tiles._add_weighted, tiles._write32, tiles._write64, tiles._finish32, tiles._finish64]
    loops.append(pair_steps.steps_on_set)
    counts = []
    for kind in (LocalShards, PickledShards):
        blocks.solve(problem, rows_in_shards(problem, matrix, SIZES, dtype, kind=kind))
        counts.append([len(loop.dispatcher().signatures) for loop in loops])
    assert counts[0] == counts[1]
    assert counts[0][0] > 0  # the loops have run

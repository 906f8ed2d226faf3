"""The Newton solver over several shards: the optimum of one process, and little comes back from a shard."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.oracles import plain_optimum
from tests.solvers.clouds import random_task
from tests.solvers.shards import PickledShards
from usmo.core.problem import Problem
from usmo.core.shards import LocalShards, PerShard
from usmo.fitting.warm_up import compile_newton_solver
from usmo.solvers import newton
from usmo.solvers.newton_products import rows_of
from usmo.solvers.newton_shard_rows import ShardedDuals
from usmo.solvers.newton_shards import NewtonShard
from usmo.solvers.shard_quantile import next_above, quantile

compile_newton_solver()


def sharded(X, b, c, ends, gathered, shards=LocalShards, centre=None):
    """Rows in shards that end at these rows."""
    rows = [np.flatnonzero(b), np.flatnonzero(c)]
    problem = Problem(*rows, b[rows[0]], c[rows[1]])
    parts = [NewtonShard(rows_of(X[low:high], centre), problem.part(low, high)) for low, high in pairwise(ends)]
    return ShardedDuals(shards(*parts), centre, gathered), parts


def primal_and_dual(X, b, c, sigma, beta):
    """Both objectives of (σ, β), by NumPy."""
    w = X.T @ (b - sigma)
    f = X @ w + beta
    loss = c @ np.maximum(0, np.maximum(f, (1 + f) / 2)) - b @ f
    return loss + 0.5 * w @ w, np.minimum(sigma, c - sigma).sum() - 0.5 * w @ w


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("gathered", [np.inf, 100.0], ids=["all gathered", "few gathered"])
@pytest.mark.parametrize("first", [0, 30])
def test_optimum_is_that_of_an_independent_solver(first, gathered, container):
    """Odd problems in up to four shards, some without a row that counts."""
    for seed in range(first, first + 30):
        X, b, c = random_task(seed)
        ends = np.unique(np.r_[0, np.random.default_rng(seed).integers(0, len(b) + 1, 3), len(b)])
        duals, parts = sharded(container(X), b, c, ends, gathered)
        result = newton.solve_duals(duals, tol=1e-6, gap_tol=1e-9)
        duals.settle()
        sigma = np.concatenate([part.best for part in parts])
        assert (sigma >= 0).all()
        assert (sigma <= c).all()
        assert sigma.sum() == pytest.approx(b.sum(), rel=1e-12)
        primal, dual = primal_and_dual(X, b, c, sigma, result.beta)
        K, rows = X @ X.T, c > 0
        _, low = plain_optimum(K[np.ix_(rows, rows)], K[rows] @ b, c[rows], b.sum())
        best = -low - 0.5 * b @ K @ b
        assert best - dual <= 1e-8 * max(1.0, abs(best))
        assert primal - dual <= 1e-8 * max(1.0, abs(primal))


@pytest.mark.parametrize("order", ["random", "sorted"])
@pytest.mark.parametrize("gathered", [0.0, 20_000.0, np.inf])
def test_shards_agree_with_one_process(order, gathered):
    """Also if no row may be gathered, and if rows of one kind lie together in a shard."""
    rng = np.random.default_rng(0)
    X = sparse.random(3000, 2000, density=0.01, format="csr", random_state=0)
    score = X @ np.where(rng.random(2000) < 0.1, 5.0, 0.0)
    if order == "sorted":
        X = X[np.argsort(score)]
    c = np.full(3000, 50.0 / 3000)
    b = np.where(np.arange(3000) < 100, 0.1, 0.0)
    one = newton.solve(rows_of(X), b, c)
    duals, parts = sharded(X, b, c, [0, 100, 101, 1500, 3000], gathered, PickledShards)
    result = newton.solve_duals(duals)
    assert result.status == "optimal"
    sigma = np.concatenate([part.best for part in parts])
    primal, dual = primal_and_dual(X, b, c, sigma, result.beta)
    assert primal - dual <= 1e-6 * abs(primal)
    # ‖w - w'‖² is at most the sum of the gaps
    assert np.linalg.norm(result.w - one.w) <= np.sqrt(4e-6 * abs(primal))
    most = duals.shards.most
    columns = 8 * 2000 + 500
    assert max(size for name, size in most.items() if name not in ("hand_over", "_numbers")) <= columns
    if gathered == 0.0:
        assert most.get("hand_over", 0) == 0


def test_centred_dense_rows_agree_with_one_process():
    X, b, c = np.random.default_rng(0).normal(size=(400, 30)) + 2.0, np.zeros(400), np.full(400, 0.05)
    b[:20] = 0.2
    centre = X.mean(axis=0)
    one = newton.solve(rows_of(X, centre), b, c, tol=1e-6, gap_tol=1e-10)
    for gathered in (3000.0, np.inf):
        duals, _ = sharded(X, b, c, [0, 150, 400], gathered, centre=centre)
        result = newton.solve_duals(duals, tol=1e-6, gap_tol=1e-10)
        np.testing.assert_allclose(result.w, one.w, atol=1e-6)


def test_a_start_near_the_solution_saves_products():
    X = sparse.random(3000, 2000, density=0.01, format="csr", random_state=0)
    c, b = np.full(3000, 50.0 / 3000), np.where(np.arange(3000) < 100, 0.1, 0.0)
    duals, _ = sharded(X, b, c, [0, 1500, 3000], 20_000.0)
    cold = newton.solve_duals(duals)
    again, _ = sharded(X, b, c, [0, 1500, 3000], 20_000.0)
    warm = newton.solve_duals(again, w=cold.w, beta=cold.beta)
    assert warm.status == "optimal"
    assert warm.products < cold.products


@pytest.mark.parametrize("gathered", [np.inf, 100.0], ids=["all gathered", "few gathered"])
def test_a_start_without_its_intercept_ends_at_the_optimum(gathered):
    """The rows that are gathered for the start go back before others are chosen."""
    for seed in range(30):
        X, b, c = random_task(seed)
        ends = [0, len(b) // 3, len(b)]
        start = np.clip(c * np.random.default_rng(seed).random(len(b)), 0.0, c)
        duals, parts = sharded(X, b, c, ends, gathered)
        result = newton.solve_duals(duals, sigma=PerShard(np.split(start, ends[1:-1])), tol=1e-6, gap_tol=1e-9)
        duals.settle()
        sigma = np.concatenate([part.best for part in parts])
        assert sigma.sum() == pytest.approx(b.sum(), rel=1e-12)
        primal, dual = primal_and_dual(X, b, c, sigma, result.beta)
        assert primal - dual <= 1e-8 * max(1.0, abs(primal))


def _levels(shard):
    return shard


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(-20, 20), max_size=30), min_size=1, max_size=4),
    st.floats(0.01, 0.99), st.sampled_from([1.0, 1e-9, 1e9]), st.floats(-5, 5),
)  # fmt: skip
def test_the_quantile_of_shards_is_that_of_all_numbers(numbers, share, scale, guess):
    """Against sorting; equal numbers are frequent."""
    shards = [(scale * np.array(part, float), 1.0 + np.abs(np.array(part, float)) % 3) for part in numbers]
    every, weight = (np.concatenate([part[k] for part in shards]) for k in range(2))
    found = quantile(LocalShards(*shards), _levels, share * weight.sum(), scale * guess)
    if not len(every):
        assert found is None
        return
    order = np.argsort(every, kind="stable")
    k = min(np.searchsorted(np.cumsum(weight[order]), share * weight.sum()), len(every) - 1)
    value = every[order][k]
    assert found.value == value
    assert found.below == pytest.approx(weight[every < value].sum())
    assert found.at == pytest.approx(weight[every == value].sum())
    assert next_above(LocalShards(*shards), _levels, value) == every[every > value].min(initial=np.inf)


def test_many_numbers_are_narrowed_before_they_are_gathered(monkeypatch):
    monkeypatch.setattr("usmo.solvers.shard_quantile._FEW", 50)
    rng = np.random.default_rng(0)
    parts = [(rng.normal(size=5000), rng.random(5000)) for _ in range(3)]
    shards = PickledShards(*parts)
    every, weight = (np.concatenate([part[k] for part in parts]) for k in range(2))
    found = quantile(shards, _levels, 0.3 * weight.sum(), 7.0)
    order = np.argsort(every)
    assert found.value == every[order][np.searchsorted(np.cumsum(weight[order]), 0.3 * weight.sum())]
    assert shards.most["_numbers"] < 16 * 50 + 1000
    assert len(pickle.dumps(found)) < 1000

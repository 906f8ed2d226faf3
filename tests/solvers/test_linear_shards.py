"""The linear solver over several shards: the same model as from one table, and little comes back from a shard."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from tests.fits import certificate_at, train_linear
from tests.solvers.clouds import clouds
from tests.solvers.shards import PickledShards
from usmo.core.dual import ROUNDING
from usmo.core.labels import pu_problem
from usmo.core.problem import Problem
from usmo.core.shards import LocalShards
from usmo.fitting.linear import certify_linear
from usmo.kernels.row_blocks import ArrayFeatures, column_means
from usmo.solvers import linear
from usmo.solvers.linear_rows import LinearRows
from usmo.solvers.linear_shards import LinearShard
from usmo.solvers.row_conditions import row_conditions


def test_conditions_of_one_pass_equal_those_of_the_problem():
    rng = np.random.default_rng(0)
    problem = pu_problem(0.4, 1e-2, np.arange(5), np.arange(5, 105), rng.random(105) + 0.1)
    f = 2.0 * rng.normal(size=100)
    sigma = problem.c * rng.choice([0.0, 0.2, 0.5, 0.7, 1.0], 100)
    low, high, slack, concave, nonbound = row_conditions(sigma, f, problem.c, ROUNDING)
    assert max(0.0, high - low) == pytest.approx(problem.kkt_violation(sigma, f))
    assert slack == pytest.approx(problem.gap(sigma, 0.0, f))
    assert concave == pytest.approx(problem.at(sigma).concave_part())
    assert nonbound == problem.at(sigma).nonbound.sum()


@pytest.mark.parametrize("ends", [[0, 30_100], [0, 4000, 4001, 17_000, 30_100], [0, 100, 30_100]], ids=str)
@pytest.mark.parametrize("table", ["dense", "sparse", "equal rows"])
def test_shards_give_the_model_of_one_table(ends, table, monkeypatch):
    """Among the shards are one with the labelled rows only and one with a single row."""
    X, P, U = clouds(30_000, 6, 0.3)
    if table == "equal rows":
        X = np.round(X)
    if table == "sparse":
        X = sparse.csr_matrix(np.where(np.abs(X) > 1.0, X, 0.0))
    weight = np.random.default_rng(1).random(len(U) + len(P)) + 0.5
    problem = pu_problem(0.3, 1e-3, P, U, weight)
    whole = train_linear(problem, ArrayFeatures(X), tol=1e-5)
    monkeypatch.setattr(linear, "_SAMPLE", 500)
    centre = column_means(ArrayFeatures(X))
    own_shards = []
    for low, high in pairwise(ends):
        mine = [(rows >= low) & (rows < high) for rows in (P, U)]
        own = Problem(P[mine[0]] - low, U[mine[1]] - low, problem.b[mine[0]], problem.c[mine[1]])
        own_shards.append(LinearShard(ArrayFeatures(X[low:high]), own, centre))
    shards = PickledShards(*own_shards)
    result = linear.solve(LinearRows(shards), centre, tol=1e-5, gap_tol=1e-8)
    model = certify_linear(shards, result, centre, 1e-5)
    assert model.status == "optimal"
    assert model.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-8)
    assert model.certificate.equality_residual <= 1e-12
    assert model.certificate.relative_gap <= 1e-8
    np.testing.assert_allclose(model.coef, whole.coef, atol=1e-5)
    assert model.beta == pytest.approx(whole.solution.beta, abs=1e-4)
    sigma = np.concatenate([shard.sigma for shard in own_shards])
    g = np.asarray(X @ model.coef).ravel()
    certificate = certificate_at(problem, sigma, model.beta, g)
    assert certificate.gap == pytest.approx(model.certificate.gap, rel=1e-3, abs=1e-8)
    r = X.shape[1]
    # a shard returns r² numbers for the normal equations, and some r for everything else in an iteration
    assert shards.most["move"] < 8 * (r + 3) * (r + 1) + 500
    assert max(shards.most[name] for name in ("predict", "correct")) < 8 * 2 * (r + 1) + 500
    assert max(size for name, size in shards.most.items() if name not in ("sample", "measure_distances")) < 20_000


def test_rounding_of_the_sum_over_all_shards_makes_no_row_non_bound(monkeypatch):
    """σ = h everywhere is optimal. Rounding of Σσ over all rows would be a large change for one shard.

    Whether the first round sees Σσ = Σb exactly depends on the order of sums in NumPy; the last one must.
    """
    monkeypatch.setattr(linear, "_SAMPLE", 500)
    rng = np.random.default_rng(0)
    X, n, ends = 0.1 * rng.normal(size=(100_100, 2)), 100_000, np.linspace(0, 100_000, 51).astype(int)
    weight = rng.random(n) + 0.5
    c2 = weight / weight.sum()
    c1 = np.full(100, 0.5 / 100)
    positives = Problem(np.arange(100), np.arange(0), c1, c2[:0])
    shards = [LinearShard(ArrayFeatures(X[n:]), positives, None)]
    for low, high in pairwise(ends):
        own = Problem(np.arange(0), np.arange(high - low), c1[:0], c2[low:high])
        shards.append(LinearShard(ArrayFeatures(X[low:high]), own, None))
    result = linear.solve(LinearRows(LocalShards(*shards)), None)
    assert result.status == "optimal"
    assert len(result.history) <= 3
    assert result.history[-1].nonbound == 0

"""The Newton solver against Clarabel on NumPy matrices, over odd and random problems, dense and CSR."""

import numpy as np
import pytest
from scipy import sparse

from tests.oracles import plain_optimum
from tests.solvers.clouds import random_task
from usmo.fitting.warm_up import compile_newton_solver
from usmo.solvers import newton, newton_direction, newton_loss
from usmo.solvers.newton_products import rows_of

compile_newton_solver()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("first", range(0, 120, 30))
def test_optimum_is_that_of_an_independent_solver(first, container):
    for seed in range(first, first + 30):
        X, b, c = random_task(seed)
        result = newton.solve(rows_of(container(X)), b, c, tol=1e-6, gap_tol=1e-9)
        sigma = result.sigma
        assert (sigma >= 0).all()
        assert (sigma <= c).all()
        assert sigma.sum() == pytest.approx(b.sum(), rel=1e-12)
        K, rows = X @ X.T, c > 0
        _, low = plain_optimum(K[np.ix_(rows, rows)], K[rows] @ b, c[rows], b.sum())
        alpha = b - sigma
        dual = np.minimum(sigma, c - sigma).sum() - 0.5 * alpha @ K @ alpha
        best = -low - 0.5 * b @ K @ b
        assert best - dual <= 1e-8 * max(1.0, abs(best))
        f = X @ result.w + result.beta
        primal = c @ np.maximum(0, np.maximum(f, (1 + f) / 2)) - b @ f + 0.5 * result.w @ result.w
        assert primal - dual <= 1e-8 * max(1.0, abs(primal))


def test_float32_and_index_types_give_the_same_point():
    X, b, c = random_task(7)
    X = X.astype(np.float32)
    wide = sparse.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    exact = newton.solve(rows_of(X.astype(np.float64)), b, c, gap_tol=1e-10, tol=1e-7)
    for table in (X, sparse.csr_matrix(X), wide):
        result = newton.solve(rows_of(table), b, c, gap_tol=1e-10, tol=1e-7)
        np.testing.assert_allclose(result.w, exact.w, atol=1e-4)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_joint_steps_by_conjugate_gradients_are_those_of_the_factored_matrix(container, monkeypatch):
    rng = np.random.default_rng(0)
    part = rows_of(container(rng.normal(size=(60, 80)) * (rng.random((60, 80)) < 0.5)))
    sigma, excess = rng.random(60), rng.normal(size=60)
    ends = np.zeros(60), np.ones(60)
    moved, shift = newton_direction.newton_direction(part, sigma, excess, ends)
    assert np.abs(moved - sigma).max() > 0.01
    for name, value in {"FEW": 0, "SOME": 0, "CG_SHARE": 1e-6}.items():
        monkeypatch.setattr(newton_direction, name, value)
    again, other = newton_direction.newton_direction(part, sigma, excess, ends)
    np.testing.assert_allclose(again, moved, atol=1e-5)
    assert other == pytest.approx(shift, abs=1e-5)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_conjugate_gradients_lead_to_the_optimum_too(container, monkeypatch):
    monkeypatch.setattr(newton_direction, "FEW", 0)
    monkeypatch.setattr(newton_direction, "NARROW", 0)
    test_optimum_is_that_of_an_independent_solver(0, container)


def test_a_start_near_the_solution_saves_products():
    rng = np.random.default_rng(0)
    X = sparse.random(3000, 2000, density=0.01, format="csr", random_state=0)
    c = np.full(3000, 50.0 / 3000)
    b = np.where(np.arange(3000) < 100, 0.1, 0.0)
    rows = rows_of(X)
    cold = newton.solve(rows, b, c)
    changed = c.copy()
    changed[rng.choice(3000, 5, replace=False)] *= 2.0
    fresh = newton.solve(rows, b, changed)
    for start in ({"sigma": cold.sigma, "beta": cold.beta}, {"w": cold.w, "beta": cold.beta}):
        warm = newton.solve(rows, b, changed, **start)
        assert warm.status == "optimal"
        assert warm.products < fresh.products


def test_limits_end_the_run_with_the_best_point():
    X, b, c = random_task(3)
    seen = []
    result = newton.solve(
        rows_of(X), b, c, tol=1e-14, gap_tol=1e-16, max_iter=2, progress=lambda *a: seen.append(a)
    )
    assert result.status in ("max_iter", "optimal")
    assert len(seen) == result.iterations <= 2
    assert newton.solve(rows_of(X), b, c, progress=lambda *a: True).iterations == 1


@pytest.mark.parametrize("guess", [0.0, 0.7, -50.0])
@pytest.mark.parametrize("spread", [1e-6, 1.0, 1e3])
def test_intercept_is_the_weighted_quantile_of_all_kinks(guess, spread):
    """Few and many kinks near the guess: windows are widened and narrowed."""
    rng = np.random.default_rng(int(spread))
    z, c = spread * rng.normal(size=20_000), rng.choice([0.0, 1.0, 3.0], 20_000)
    kinks, sizes = np.concatenate([-1.0 - z, 1.0 - z]), np.tile(0.5 * c, 2)
    order = np.argsort(kinks)
    weight = np.cumsum(sizes[order])
    for share in (1e-4, 0.3, 0.5, 0.9999):
        target = share * float(c.sum()) + 0.1  # between two kinks of the sum: no flat piece
        expected = kinks[order[np.searchsorted(weight, target)]]
        assert newton_loss.intercept(z, c, target, guess) == pytest.approx(expected, abs=1e-12 * spread)


def test_intercept_is_the_middle_of_a_flat_piece_wider_than_any_window():
    z = np.repeat([-1e4, 1e4], 6000)  # β = ±1e4 ± 1, nothing between
    assert newton_loss.intercept(z, np.ones(12_000), 6000.0, 0.3) == pytest.approx(0.0, abs=1e-6)

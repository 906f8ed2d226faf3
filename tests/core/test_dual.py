"""Slopes, optimality conditions, β and repair of a point of the dual."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import dual, feasible_sigma, fresh_G, matrices, plain_optimum, random_problem
from usmo.core.dual import DualPoint
from usmo.core.labels import pu_problem

seeds = st.integers(0, 10_000)


@given(seeds)
def test_slopes_are_the_directional_derivatives(seed):
    problem, matrix = random_problem(seed, n=10, p=4)
    point = problem.at(feasible_sigma(problem, seed)).snapped()  # a step would cross a kink that is an ulp away
    sigma = point.sigma
    up, dn = point.slopes(fresh_G(problem, matrix, sigma))
    step = 1e-6 * problem.c
    here = dual(problem, matrix, sigma)
    for u in range(problem.n):
        for t, slope in ((step[u], up[u]), (-step[u], dn[u])):
            moved = sigma.copy()
            moved[u] += t
            if 0.0 <= moved[u] <= problem.c[u]:
                assert (dual(problem, matrix, moved) - here) / t == pytest.approx(slope, abs=1e-4)


def test_two_rows_at_h_ten_apart_violate_though_the_papers_three_conditions_hold():
    """The condition that the paper leaves out: raise a row with σ ≥ h, lower one with σ ≤ h."""
    problem = pu_problem(0.5, 0.5, np.array([0]), np.array([1, 2]))
    sigma, G = 0.5 * problem.c, np.array([5.0, -5.0])
    h = 0.5 * problem.c
    d1, d2, d3 = sigma < h, sigma > h, (sigma > 0) & (sigma < problem.c)
    m1_max = max(G[d1], default=-np.inf)
    m2_min = min(G[d2], default=np.inf)
    m3_min, m3_max = G[d3].min(), G[d3].max()
    assert max(m1_max - m3_min, m3_max - m2_min, m1_max - m2_min + 2.0) <= 0.0
    assert problem.kkt_violation(sigma, G) == m3_max - m3_min - 2.0 == 8.0


def test_bias_is_the_midpoint_of_the_interval_when_no_row_is_non_bound():
    problem = pu_problem(0.5, 0.5, np.array([0]), np.arange(1, 5))
    sigma = problem.c * np.array([0.0, 0.0, 1.0, 1.0])
    # f ≤ -1 on the first two, f ≥ 1 on the others: β in [1 - 6, -1 - (-4)] = [-5, 3]
    assert problem.bias(sigma, np.array([-9.0, -4.0, 6.0, 11.0])) == pytest.approx(-1.0)


def test_bias_averages_over_the_non_bound_rows():
    problem = pu_problem(0.5, 0.5, np.array([0]), np.arange(1, 5))
    sigma = problem.c * np.array([0.2, 0.5, 0.8, 1.0])
    assert problem.bias(sigma, np.array([-3.0, 0.0, 1.5, 9.0])) == pytest.approx(np.mean([-1 + 3.0, 1 - 1.5]))


@given(seeds, st.integers(1, 30), st.floats(1e-6, 1 - 1e-6), st.floats(1e-6, 10.0))
def test_repair_is_feasible_from_anywhere(seed, n, prior, lam):
    rng = np.random.default_rng(seed)
    weight = rng.exponential(size=n + 3) + 1e-3
    problem = pu_problem(prior, lam, np.arange(3), np.arange(3, n + 3), weight)
    sigma = problem.repair(rng.normal(size=n) * problem.c * 3, rng.permutation(n))
    assert (sigma >= 0).all()
    assert (sigma <= problem.c).all()
    assert abs(float(problem.imbalance(sigma))) <= 1e-12 * problem.total


@given(seeds)
def test_snap_puts_near_values_on_their_bound(seed):
    problem, _ = random_problem(seed, n=20)
    sigma = feasible_sigma(problem, seed)
    inner = problem.at(sigma).nonbound
    noisy = np.clip(sigma * (1 + 1e-14), 0.0, problem.c)
    snapped = problem.snap(noisy, 1e-10)
    np.testing.assert_array_equal(snapped[~inner], sigma[~inner])


def test_bias_is_the_midpoint_if_only_rounding_keeps_a_row_from_its_bound():
    """π = ½ and rows far apart: σ = h everywhere, f between -1 and 1, and one row has the rounding of Σσ."""
    problem = pu_problem(0.5, 1e-2, np.arange(3), np.arange(3, 30))
    sigma = 0.5 * problem.c
    G = np.linspace(-0.1, 0.3, 27)
    rounded = sigma.copy()
    rounded[5] *= 1.0 + 4e-16
    assert problem.at(rounded).nonbound.sum() == 1
    assert problem.bias(rounded, G) == pytest.approx(-0.1)
    assert problem.bias(sigma, G) == pytest.approx(-0.1)


@given(seeds, st.integers(2, 20), st.sampled_from([1e-15, -1e-15, 3e-13, -3e-13]))
def test_rounding_next_to_a_bound_or_kink_changes_no_violation(seed, n, share):
    """A σ within rounding of 0, h or c has nothing left to move in that direction."""
    rng = np.random.default_rng(seed)
    c, G = rng.exponential(size=n) + 0.1, 5.0 * rng.normal(size=n)
    exact = rng.choice([0.0, 0.5, 1.0], size=n) * c
    rounded = np.clip(exact + share * c, 0.0, c)
    assert DualPoint(rounded, c).violation(G) == DualPoint(exact, c).violation(G)
    assert DualPoint(rounded, c).optimality(G) == DualPoint(exact, c).optimality(G)


@given(seeds, st.integers(2, 20), st.floats(1e-9, 0.2))
def test_a_row_that_can_move_is_a_violation(seed, n, share):
    """Every σ is a share of c above 0 or h, which is more than rounding: the exact slopes decide."""
    rng = np.random.default_rng(seed)
    c, G = rng.exponential(size=n) + 0.1, 5.0 * rng.normal(size=n)
    sigma = (rng.choice([0.0, 0.5], size=n) + share) * c
    up, dn = DualPoint(sigma, c).slopes(G)
    assert DualPoint(sigma, c).violation(G) == max(0.0, dn.max() - up.min())


@pytest.mark.parametrize("solver_rounding", [0.0, 1e-14, -1e-14])
def test_certificate_of_an_optimum_without_non_bound_rows_is_free_of_rounding(solver_rounding):
    """Σc1 is an exact multiple of h: the optimum is at a vertex, and any remainder of Σσ is rounding."""
    for seed in range(60):
        problem, matrix = random_problem(seed, n=15, p=3, lam=1e-3, prior=28.5 / 30)
        K, q = matrices(problem, matrix)
        sigma, _ = plain_optimum(K, q, problem.c, problem.total)
        sigma = problem.snap(sigma, 1e-6)
        sigma = np.clip(sigma + solver_rounding * problem.c, 0.0, problem.c)
        G = q - K @ sigma
        assert problem.kkt_violation(sigma, G) <= 1e-6 * (1.0 + np.abs(G).max())

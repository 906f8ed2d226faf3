"""Objectives, conditions and certificate, against term-by-term evaluation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import dual, fresh_G, random_problem
from usmo.core.problem import PUProblem
from usmo.kernels.matrix import Kernel, KernelMatrix
from usmo.solvers import qp

seeds = st.integers(0, 10_000)


def feasible(problem, seed):
    rng = np.random.default_rng(seed)
    share = rng.choice([0.0, 0.5, 1.0, rng.random()], size=problem.n)
    return problem.repair(share * problem.c2, rng.permutation(problem.n))


def decision(problem, matrix, sigma):
    rows = np.arange(len(matrix))
    return matrix.block(rows, rows) @ problem.table_coefficients(sigma, len(matrix))


def certificate(problem, matrix, sigma, beta):
    g = decision(problem, matrix, sigma)
    return problem.certificate(sigma, beta, g[problem.positives], g[problem.unlabelled])


def double_hinge(z):
    return max(-z, max(0.0, (1.0 - z) / 2.0))


@given(seeds, st.floats(1e-4, 1.0), st.floats(0.01, 0.99), st.floats(-3.0, 3.0))
def test_primal_is_the_regularised_pu_risk_over_two_lambda(seed, lam, prior, beta):
    problem, matrix = random_problem(seed, n=12, p=4, lam=lam, prior=prior)
    sigma = feasible(problem, seed)
    f = decision(problem, matrix, sigma) + beta
    alpha = problem.table_coefficients(sigma, len(matrix))
    K = matrix.block(np.arange(len(matrix)), np.arange(len(matrix)))
    positive = np.mean([double_hinge(z) - double_hinge(-z) for z in f[problem.positives]])
    unlabelled = np.mean([double_hinge(-z) for z in f[problem.unlabelled]])
    risk = prior * positive + unlabelled + lam * alpha @ K @ alpha
    assert certificate(problem, matrix, sigma, beta).primal == pytest.approx(risk / (2 * lam), rel=1e-9)


@given(seeds, st.floats(1e-4, 1.0), st.floats(1e-6, 1 - 1e-6), st.floats(-5.0, 5.0))
def test_gap_is_primal_minus_dual_and_never_negative(seed, lam, prior, beta):
    problem, matrix = random_problem(seed, n=15, p=3, lam=lam, prior=prior)
    sigma = feasible(problem, seed)
    proof = certificate(problem, matrix, sigma, beta)
    scale = 1.0 + abs(proof.primal) + abs(proof.dual)
    assert proof.gap >= -1e-12 * scale
    assert proof.gap == pytest.approx(proof.primal - proof.dual, abs=1e-10 * scale)
    assert proof.relative_gap == proof.gap / max(1.0, abs(proof.primal))


@given(seeds, st.sampled_from([1e-3, 1e-1]), st.floats(0.05, 0.95))
def test_gap_and_violation_vanish_at_the_optimum(seed, lam, prior):
    problem, matrix = random_problem(seed, n=15, p=3, lam=lam, prior=prior)
    best = qp.solve(problem, matrix)
    proof = certificate(problem, matrix, best.sigma, best.beta)
    assert abs(proof.relative_gap) < 1e-9
    assert proof.kkt_violation < 1e-6


@given(seeds, st.floats(0.05, 0.95))
def test_dual_objective_is_minus_the_dual_up_to_the_positives_own_term(seed, prior):
    problem, matrix = random_problem(seed, n=10, p=4, prior=prior)
    sigma = feasible(problem, seed)
    own = matrix.block(problem.positives, problem.positives)
    F = dual(problem, matrix, sigma)
    expected = -F - 0.5 * problem.c1 @ own @ problem.c1
    assert certificate(problem, matrix, sigma, 0.0).dual == pytest.approx(expected, rel=1e-9, abs=1e-9)
    q = matrix.block(problem.unlabelled, problem.positives) @ problem.c1
    assert problem.dual_objective(sigma, q, fresh_G(problem, matrix, sigma)) == pytest.approx(
        F, rel=1e-10, abs=1e-9
    )


@given(seeds)
def test_slopes_are_the_directional_derivatives(seed):
    problem, matrix = random_problem(seed, n=10, p=4)
    sigma = feasible(problem, seed)
    up, dn = problem.slopes(sigma, fresh_G(problem, matrix, sigma))
    step = 1e-6 * problem.c2
    here = dual(problem, matrix, sigma)
    for u in range(problem.n):
        for t, slope in ((step[u], up[u]), (-step[u], dn[u])):
            moved = sigma.copy()
            moved[u] += t
            if 0.0 <= moved[u] <= problem.c2[u]:
                assert (dual(problem, matrix, moved) - here) / t == pytest.approx(slope, abs=1e-4)


def test_two_rows_at_h_ten_apart_violate_though_the_papers_three_conditions_hold():
    """The condition that the paper leaves out: raise a row with σ ≥ h, lower one with σ ≤ h."""
    problem = PUProblem.from_prior(0.5, 0.5, np.array([0]), np.array([1, 2]))
    sigma, G = 0.5 * problem.c2, np.array([5.0, -5.0])
    h = 0.5 * problem.c2
    d1, d2, d3 = sigma < h, sigma > h, (sigma > 0) & (sigma < problem.c2)
    m1_max = max(G[d1], default=-np.inf)
    m2_min = min(G[d2], default=np.inf)
    m3_min, m3_max = G[d3].min(), G[d3].max()
    assert max(m1_max - m3_min, m3_max - m2_min, m1_max - m2_min + 2.0) <= 0.0
    assert problem.kkt_violation(sigma, G) == m3_max - m3_min - 2.0 == 8.0


def test_bias_is_the_midpoint_of_the_interval_when_no_row_is_non_bound():
    problem = PUProblem.from_prior(0.5, 0.5, np.array([0]), np.arange(1, 5))
    sigma = problem.c2 * np.array([0.0, 0.0, 1.0, 1.0])
    # f ≤ -1 on the first two, f ≥ 1 on the others: β in [1 - 6, -1 - (-4)] = [-5, 3]
    assert problem.bias(sigma, np.array([-9.0, -4.0, 6.0, 11.0])) == pytest.approx(-1.0)


def test_bias_averages_over_the_non_bound_rows():
    problem = PUProblem.from_prior(0.5, 0.5, np.array([0]), np.arange(1, 5))
    sigma = problem.c2 * np.array([0.2, 0.5, 0.8, 1.0])
    assert problem.bias(sigma, np.array([-3.0, 0.0, 1.5, 9.0])) == pytest.approx(np.mean([-1 + 3.0, 1 - 1.5]))


@given(seeds, st.integers(1, 30), st.floats(1e-6, 1 - 1e-6), st.floats(1e-6, 10.0))
def test_repair_is_feasible_from_anywhere(seed, n, prior, lam):
    rng = np.random.default_rng(seed)
    weight = rng.exponential(size=n + 3) + 1e-3
    problem = PUProblem.from_prior(prior, lam, np.arange(3), np.arange(3, n + 3), weight)
    sigma = problem.repair(rng.normal(size=n) * problem.c2 * 3, rng.permutation(n))
    assert (sigma >= 0).all()
    assert (sigma <= problem.c2).all()
    assert abs(problem.residual(sigma)) <= 1e-12 * problem.total


@given(seeds)
def test_snap_puts_near_values_on_their_bound(seed):
    problem, _ = random_problem(seed, n=20)
    sigma = feasible(problem, seed)
    inner = problem.nonbound(sigma)
    noisy = np.clip(sigma * (1 + 1e-14), 0.0, problem.c2)
    snapped = problem.snap(noisy, 1e-10)
    np.testing.assert_array_equal(snapped[~inner], sigma[~inner])


def test_weights_become_bounds_per_row():
    weight = np.array([1.0, 3.0, 2.0, 2.0, 4.0])
    problem = PUProblem.from_prior(0.3, 0.1, np.array([0, 1]), np.array([2, 3, 4]), weight)
    np.testing.assert_allclose(problem.c1, 0.3 / 0.2 * np.array([0.25, 0.75]))
    np.testing.assert_allclose(problem.c2, 1 / 0.2 * np.array([0.25, 0.25, 0.5]))
    assert problem.prior == pytest.approx(0.3)


def test_censored_rows_carry_both_coefficients():
    problem = PUProblem.from_prior(0.3, 0.1, np.array([1]), np.array([0, 1, 2]))
    sigma = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(problem.table_coefficients(sigma, 4), [-0.1, problem.c1[0] - 0.2, -0.3, 0.0])


def test_gap_of_an_indefinite_kernel_still_measures_stationarity():
    matrix = KernelMatrix(np.random.default_rng(0).normal(size=(12, 3)), Kernel("sigmoid", gamma=2.0, coef0=-1.0))
    problem = PUProblem.from_prior(0.4, 0.05, np.arange(3), np.arange(3, 12))
    sigma = feasible(problem, 1)
    proof = certificate(problem, matrix, sigma, 0.3)
    assert proof.gap == pytest.approx(proof.primal - proof.dual, abs=1e-9)
    assert proof.gap >= 0


def test_bias_is_the_midpoint_where_only_crumbs_are_not_at_a_bound():
    """π = ½ and rows far apart: σ = h everywhere, f between -1 and 1, and one row holds the rounding of Σσ."""
    problem = PUProblem.from_prior(0.5, 1e-2, np.arange(3), np.arange(3, 30))
    sigma = 0.5 * problem.c2
    G = np.linspace(-0.1, 0.3, 27)
    crumbs = sigma.copy()
    crumbs[5] *= 1.0 + 4e-16
    assert problem.nonbound(crumbs).sum() == 1
    assert problem.bias(crumbs, G) == pytest.approx(-0.1)
    assert problem.bias(sigma, G) == pytest.approx(-0.1)

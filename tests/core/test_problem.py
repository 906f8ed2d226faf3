"""Objectives and certificate, against term-by-term evaluation."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.fits import certificate_at
from tests.oracles import double_hinge, dual, feasible_sigma, fresh_G, random_problem
from usmo.core.labels import pu_problem
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix
from usmo.solvers import qp

seeds = st.integers(0, 10_000)


def decision(problem, matrix, sigma):
    rows = np.arange(len(matrix))
    return matrix.block(rows, rows) @ problem.table_coefficients(sigma, len(matrix))


def certificate(problem, matrix, sigma, beta):
    return certificate_at(problem, sigma, beta, decision(problem, matrix, sigma))


@given(seeds, st.floats(1e-4, 1.0), st.floats(0.01, 0.99), st.floats(-3.0, 3.0))
def test_primal_is_the_regularised_pu_risk_over_two_lambda(seed, lam, prior, beta):
    problem, matrix = random_problem(seed, n=12, p=4, lam=lam, prior=prior)
    sigma = feasible_sigma(problem, seed)
    f = decision(problem, matrix, sigma) + beta
    alpha = problem.table_coefficients(sigma, len(matrix))
    K = matrix.block(np.arange(len(matrix)), np.arange(len(matrix)))
    positive = np.mean(double_hinge(f[problem.b_rows]) - double_hinge(-f[problem.b_rows]))
    unlabelled = np.mean(double_hinge(-f[problem.c_rows]))
    risk = prior * positive + unlabelled + lam * alpha @ K @ alpha
    assert certificate(problem, matrix, sigma, beta).primal == pytest.approx(risk / (2 * lam), rel=1e-9)


@given(seeds, st.floats(1e-4, 1.0), st.floats(1e-6, 1 - 1e-6), st.floats(-5.0, 5.0))
def test_gap_is_primal_minus_dual_and_never_negative(seed, lam, prior, beta):
    problem, matrix = random_problem(seed, n=15, p=3, lam=lam, prior=prior)
    sigma = feasible_sigma(problem, seed)
    proof = certificate(problem, matrix, sigma, beta)
    scale = 1.0 + abs(proof.primal) + abs(proof.dual)
    assert proof.gap >= -1e-12 * scale
    assert proof.gap == pytest.approx(proof.primal - proof.dual, abs=1e-10 * scale)
    assert proof.relative_gap == proof.gap / max(1.0, abs(proof.primal))


@given(seeds, st.sampled_from([1e-3, 1e-1]), st.floats(0.05, 0.95))
@example(seed=84, lam=1e-3, prior=0.9499999999999998)
@example(seed=3, lam=1e-3, prior=0.95)
def test_gap_and_violation_vanish_at_the_optimum(seed, lam, prior):
    problem, matrix = random_problem(seed, n=15, p=3, lam=lam, prior=prior)
    best = qp.solve(problem, matrix)
    proof = certificate(problem, matrix, best.sigma, best.beta)
    size = np.abs(fresh_G(problem, matrix, best.sigma)).max()
    assert abs(proof.relative_gap) < 1e-9
    assert proof.kkt_violation < 1e-7 * (1.0 + size)


@given(seeds, st.floats(0.05, 0.95))
def test_dual_objective_is_minus_the_dual_up_to_the_positives_own_term(seed, prior):
    problem, matrix = random_problem(seed, n=10, p=4, prior=prior)
    sigma = feasible_sigma(problem, seed)
    own = matrix.block(problem.b_rows, problem.b_rows)
    F = dual(problem, matrix, sigma)
    expected = -F - 0.5 * problem.b @ own @ problem.b
    assert certificate(problem, matrix, sigma, 0.0).dual == pytest.approx(expected, rel=1e-9, abs=1e-9)
    q = matrix.block(problem.c_rows, problem.b_rows) @ problem.b
    assert problem.dual_objective(sigma, q, fresh_G(problem, matrix, sigma)) == pytest.approx(
        F, rel=1e-10, abs=1e-9
    )


def test_weights_become_bounds_per_row():
    weight = np.array([1.0, 3.0, 2.0, 2.0, 4.0])
    problem = pu_problem(0.3, 0.1, np.array([0, 1]), np.array([2, 3, 4]), weight)
    np.testing.assert_allclose(problem.b, 0.3 / 0.2 * np.array([0.25, 0.75]))
    np.testing.assert_allclose(problem.c, 1 / 0.2 * np.array([0.25, 0.25, 0.5]))
    assert problem.share == pytest.approx(0.3)


def test_censored_rows_carry_both_coefficients():
    problem = pu_problem(0.3, 0.1, np.array([1]), np.array([0, 1, 2]))
    sigma = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(problem.table_coefficients(sigma, 4), [-0.1, problem.b[0] - 0.2, -0.3, 0.0])


def test_gap_of_an_indefinite_kernel_still_measures_stationarity():
    matrix = KernelMatrix(np.random.default_rng(0).normal(size=(12, 3)), Kernel("sigmoid", gamma=2.0, coef0=-1.0))
    problem = pu_problem(0.4, 0.05, np.arange(3), np.arange(3, 12))
    sigma = feasible_sigma(problem, 1)
    proof = certificate(problem, matrix, sigma, 0.3)
    assert proof.gap == pytest.approx(proof.primal - proof.dual, abs=1e-9)
    assert proof.gap >= 0

"""Independent ways to the numbers the package computes, as slow and as plain as possible."""

import os

import numpy as np
import pytest

from usmo.core.problem import PUProblem
from usmo.kernels.matrix import Kernel, KernelMatrix
from usmo.solvers import qp

needs_data = pytest.mark.skipif(not os.environ.get("USMO_DATA"), reason="USMO_DATA is not set")


def rbf(A, B, gamma):
    return np.exp(-gamma * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def random_table(seed, n=40, p=8, d=3, prior=0.4):
    """Positives and unlabelled rows from two overlapping clouds; the positives come first."""
    rng = np.random.default_rng(seed)
    positive = rng.normal(size=(p, d)) + 1.0
    hidden = rng.random(n) < prior
    unlabelled = rng.normal(size=(n, d)) + np.where(hidden, 1.0, -1.0)[:, None]
    return np.vstack([positive, unlabelled]), np.r_[np.ones(p, int), np.zeros(n, int)]


def random_problem(seed, *, n=40, p=8, d=3, prior=0.4, lam=1e-2, kernel=None, weight=None):
    X, y = random_table(seed, n, p, d, prior)
    problem = PUProblem.from_prior(prior, lam, np.flatnonzero(y == 1), np.flatnonzero(y == 0), weight)
    return problem, KernelMatrix(X, kernel or Kernel("rbf", gamma=0.5))


def linear_term(problem, matrix):
    return matrix.block(problem.unlabelled, problem.positives) @ problem.c1


def dual(problem, matrix, sigma):
    """F(σ) term by term."""
    K = matrix.block(problem.unlabelled, problem.unlabelled)
    hat = sum(min(s, c - s) for s, c in zip(sigma, problem.c2, strict=True))
    return 0.5 * sigma @ K @ sigma - linear_term(problem, matrix) @ sigma - hat


def optimum(problem, matrix):
    """The optimal value of F by the QP library."""
    return dual(problem, matrix, qp.solve(problem, matrix).sigma)


def shortfall(problem, matrix, sigma):
    """Relative excess of F over the QP library's."""
    best = optimum(problem, matrix)
    return (dual(problem, matrix, sigma) - best) / abs(best)


def fresh_G(problem, matrix, sigma):
    K = matrix.block(problem.unlabelled, problem.unlabelled)
    return linear_term(problem, matrix) - K @ sigma


def table_2(sigma_i, sigma_j, ci, cj, G_i, G_j, k_ii, k_jj, k_ij):
    """The paper's Table 2 to the letter (case 1 divided by η), with one c2 per row: the best new σ_j."""
    a = sigma_i + sigma_j
    e1 = -G_i - (k_ii * sigma_i + k_ij * sigma_j)
    e2 = -G_j - (k_ij * sigma_i + k_jj * sigma_j)
    eta = k_ii + k_jj - 2 * k_ij
    hi, hj = ci / 2, cj / 2

    def value(sj):
        si = a - sj
        quad = 0.5 * (k_ii * si * si + k_jj * sj * sj) + k_ij * si * sj
        return quad + e1 * si + e2 * sj - min(si, ci - si) - min(sj, cj - sj)

    cases = [
        (0.0, max(hj, a - ci), min(cj, a - hi)),
        (2.0, max(0.0, a - ci), min(hj, a - hi)),
        (-2.0, max(hj, a - hi), min(cj, a)),
        (0.0, max(0.0, a - hi), min(hj, a)),
    ]
    found = []
    # what rows i and j pay for the kink is -σ below h and +σ above: cases 2 and 3 shift e1 - e2 by ∓2
    for shift, low, high in cases:
        if low > high + 1e-15:
            continue
        sj = (a * (k_ii - k_ij) + e1 - e2 + shift) / eta
        found.append(min(max(sj, low), high))
    return min(found, key=value), value

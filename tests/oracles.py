"""Independent ways to the numbers the package computes, as slow and as plain as possible.

The optimum comes from Clarabel, called here on matrices made by NumPy formulas: no kernel, problem or solver of ours
is used on the way.
"""

import os

import clarabel
import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from usmo.core.labels import pu_problem
from usmo.datasets import load, make_pu
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix

needs_data = pytest.mark.skipif(not os.environ.get("USMO_DATA"), reason="USMO_DATA is not set")


def rbf(A, B, gamma):
    return np.exp(-gamma * cdist(A, B, "sqeuclidean"))


def plain_kernel(kernel, A, B):
    """k(A, B) by the formulas of the documentation; ``kernel`` only tells the name and the parameters."""
    A, B = (np.asarray(M.toarray() if sparse.issparse(M) else M, dtype=np.float64) for M in (A, B))
    if callable(kernel.name):
        return np.asarray(kernel.name(A, B))
    if kernel.name == "rbf":
        return rbf(A, B, kernel.gamma)
    products = A @ B.T
    if kernel.name == "linear":
        return products
    products = kernel.gamma * products + kernel.coef0
    return np.tanh(products) if kernel.name == "sigmoid" else products**kernel.degree


def double_hinge(z):
    return np.maximum(-z, np.maximum(0.0, (1.0 - z) / 2))


def leaf_of(forest, tree, x):
    """The node in which a row ends, by a plain loop over the stored arrays."""
    node = forest.roots[tree]
    while forest.left[node] >= 0:
        goes_left = np.float32(x[forest.feature[node]]) <= forest.threshold[node]
        node = forest.left[node] if goes_left else forest.right[node]
    return node


def plain_leaves(forest, X):
    return np.array([[leaf_of(forest, t, x) for x in X] for t in range(forest.n_trees)])


def plain_bounds(y, prior, lam, weight=None, scenario="case-control"):
    """(rows of P, rows of U, c1, c2) for labels 1 and 0, written out from the risk."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    P = np.flatnonzero((y == 1) & (weight > 0))
    U = np.flatnonzero(weight > 0 if scenario == "censored" else (y == 0) & (weight > 0))
    c1 = prior * weight[P] / (2 * lam * weight[P].sum())
    c2 = weight[U] / (2 * lam * weight[U].sum())
    return P, U, c1, c2


def plain_optimum(K_uu, q, c2, total):
    """σ that minimises ½σᵀKσ - qᵀσ - Σmin(σ, c2-σ) over 0 ≤ σ ≤ c2, Σσ = total, by Clarabel, and the minimum."""
    n, scale = len(c2), float(c2.mean())
    eye, zero = sparse.identity(n, format="csc"), sparse.csc_matrix((n, n))
    # variables σ/scale and t with t ≥ -σ and t ≥ σ - c2, so that -min(σ, c2-σ) = t at the optimum
    hessian = sparse.block_diag([sparse.csc_matrix(np.triu(scale * K_uu)), zero], format="csc")
    constraints = sparse.vstack(
        [
            sparse.csc_matrix(np.concatenate([np.ones(n), np.zeros(n)])),
            sparse.hstack([-eye, -eye]),
            sparse.hstack([eye, -eye]),
            sparse.hstack([-eye, zero]),
            sparse.hstack([eye, zero]),
        ],
        format="csc",
    )
    top = c2 / scale
    right = np.concatenate([[total / scale], np.zeros(n), top, np.zeros(n), top])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-12
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(4 * n)]
    cost = np.concatenate([-q, np.ones(n)])
    answer = clarabel.DefaultSolver(hessian, cost, constraints, right, cones, settings).solve()
    sigma = np.clip(np.asarray(answer.x)[:n] * scale, 0.0, c2)
    return sigma, plain_dual(K_uu, q, c2, sigma)


def plain_dual(K_uu, q, c2, sigma):
    """F(σ) term by term."""
    hat = sum(min(s, c - s) for s, c in zip(sigma, c2, strict=True))
    return 0.5 * sigma @ K_uu @ sigma - q @ sigma - hat


def random_table(seed, n=40, p=8, d=3, prior=0.4):
    """Positives and unlabelled rows from two overlapping clouds; the positives come first."""
    rng = np.random.default_rng(seed)
    positive = rng.normal(size=(p, d)) + 1.0
    hidden = rng.random(n) < prior
    unlabelled = rng.normal(size=(n, d)) + np.where(hidden, 1.0, -1.0)[:, None]
    return np.vstack([positive, unlabelled]), np.r_[np.ones(p, int), np.zeros(n, int)]


def shuffled_table(seed, **shape):
    """``random_table`` with its rows in random order."""
    X, y = random_table(seed, **shape)
    order = np.random.default_rng(1).permutation(len(y))
    return X[order], y[order]


def random_problem(seed, *, n=40, p=8, d=3, prior=0.4, lam=1e-2, kernel=None, weight=None):
    X, y = random_table(seed, n, p, d, prior)
    problem = pu_problem(prior, lam, np.flatnonzero(y == 1), np.flatnonzero(y == 0), weight)
    return problem, KernelMatrix(X, kernel or Kernel("rbf", gamma=0.5))


def feasible_sigma(problem, seed):
    """A σ that meets all constraints; many entries lie at 0, c/2 or c."""
    rng = np.random.default_rng(seed)
    share = rng.choice([0.0, 0.5, 1.0, rng.random()], size=problem.n)
    return problem.repair(share * problem.c, rng.permutation(problem.n))


def paper_problem(name, kernel, lam):
    """One of the paper's small tables: a fifth of the positives labelled, π the share of positives among the rest."""
    X, y = load(name)
    labels, prior = make_pu(y, fraction=0.2, random_state=0)
    problem = pu_problem(prior, lam, np.flatnonzero(labels == 1), np.flatnonzero(labels == 0))
    return problem, KernelMatrix(X, Kernel(kernel, gamma=0.5))


def matrices(problem, matrix):
    """K over U and q = K(U, P)·c1, by NumPy formulas."""
    U = matrix.X[problem.c_rows]
    return plain_kernel(matrix.kernel, U, U), linear_term(problem, matrix)


def linear_term(problem, matrix):
    P, U = matrix.X[problem.b_rows], matrix.X[problem.c_rows]
    return plain_kernel(matrix.kernel, U, P) @ problem.b


def dual(problem, matrix, sigma):
    """F(σ) term by term."""
    K, q = matrices(problem, matrix)
    return plain_dual(K, q, problem.c, sigma)


def optimum(problem, matrix):
    """The minimum of F by Clarabel."""
    K, q = matrices(problem, matrix)
    return plain_optimum(K, q, problem.c, float(problem.b.sum()))[1]


def shortfall(problem, matrix, sigma):
    """Relative excess of F over its minimum."""
    best = optimum(problem, matrix)
    return (dual(problem, matrix, sigma) - best) / abs(best)


def fresh_G(problem, matrix, sigma):
    K, q = matrices(problem, matrix)
    return q - K @ sigma


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

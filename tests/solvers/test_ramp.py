"""The concave-convex procedure: convex steps against the QP library, and descent of the objective."""

import clarabel
import numpy as np
import pytest
from scipy import sparse

from tests.oracles import random_problem
from usmo.kernels.kernel import Kernel
from usmo.solvers import ramp


def by_library(procedure, far):
    """The convex step by Clarabel: minimise ½αᵀKα - yᵀα with Σα = 0 and bounds."""
    n = len(procedure.y)
    shift = np.where(far, procedure.D, 0.0)
    ends = procedure.y * (procedure.D - shift), -procedure.y * shift
    low, high = np.minimum(*ends), np.maximum(*ends)
    eye = sparse.identity(n, format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    constraints = sparse.vstack([sparse.csc_matrix(np.ones((1, n))), eye, -eye], format="csc")
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
    bounds = np.concatenate([[0.0], high, -low])
    answer = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(procedure.K)), -procedure.y, constraints, bounds, cones, settings
    ).solve()
    return np.asarray(answer.x)


@pytest.mark.parametrize("kernel", [Kernel("linear"), Kernel("rbf", gamma=0.5)])
@pytest.mark.parametrize("lam", [1e-3, 1e-1])
def test_convex_steps_are_solved_exactly(kernel, lam):
    problem, matrix = random_problem(0, n=60, p=15, lam=lam, kernel=kernel)
    procedure = ramp._Procedure(problem, matrix)
    rng = np.random.default_rng(0)
    for share in (0.0, 0.2, 0.5):
        far = rng.random(75) < share
        alpha, _, violation = procedure.convex_step(np.zeros(75), far, 1e-6)
        best = by_library(procedure, far)

        def value(a):
            return 0.5 * a @ procedure.K @ a - procedure.y @ a

        assert violation <= 1e-6
        assert abs(alpha.sum()) <= 1e-9 * np.abs(alpha).sum() + 1e-12
        assert value(alpha) - value(best) <= 1e-6 * abs(value(best)) + 1e-9


def test_objective_falls_with_every_step_and_is_the_risk():
    problem, matrix = random_problem(1, n=200, p=40, lam=1e-3)
    solution = ramp.solve(problem, matrix)
    assert (np.diff(solution.history) <= 1e-9 * abs(solution.history[0])).all()
    assert set(solution.objectives) == {"zero", "one-class", "double hinge"}
    assert solution.objective == min(solution.objectives.values())
    rows = np.concatenate([problem.b_rows, problem.c_rows])
    K = matrix.block(rows, rows)
    f = K @ solution.alpha + solution.beta
    loss = np.clip(0.5 * (1 - f[:40]), 0, 1), np.clip(0.5 * (1 + f[40:]), 0, 1)
    expected = 0.5 * solution.alpha @ K @ solution.alpha + 2 * problem.b @ loss[0] + problem.c @ loss[1]
    assert solution.objective == pytest.approx(expected, rel=1e-9)


def test_balanced_coefficients_stay_within_their_bounds():
    rng = np.random.default_rng(0)
    low, high = -rng.random(30), rng.random(30)
    alpha = ramp._balanced(np.clip(rng.normal(size=30), low, high), low, high)
    assert abs(alpha.sum()) <= 1e-12
    assert ((alpha >= low) & (alpha <= high)).all()

"""The ramp loss: convex steps against the QP library, descent, and what the estimator says."""

import numpy as np
import pytest
from scipy import sparse

from tests.oracles import random_problem, random_table
from usmo.estimators.ramp import RampPUSVC
from usmo.kernels.kernel import Kernel
from usmo.solvers import ramp


def by_library(procedure, far):
    """The convex step as a QP for Clarabel: ½αᵀKα - yᵀα, Σα = 0, bounds."""
    clarabel = pytest.importorskip("clarabel")
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
    found = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(procedure.K)), -procedure.y, constraints, bounds, cones, settings
    ).solve()
    return np.asarray(found.x)


@pytest.mark.parametrize("kernel", [Kernel("linear"), Kernel("rbf", gamma=0.5)])
@pytest.mark.parametrize("lam", [1e-3, 1e-1])
def test_convex_steps_are_solved_exactly(kernel, lam):
    problem, matrix = random_problem(0, n=60, p=15, lam=lam, kernel=kernel)
    procedure = ramp._Procedure(problem, matrix)
    rng = np.random.default_rng(0)
    for share in (0.0, 0.2, 0.5):
        far = rng.random(75) < share
        alpha, _ = procedure.convex_step(np.zeros(75), far, 1e-6)
        best = by_library(procedure, far)

        def value(a):
            return 0.5 * a @ procedure.K @ a - procedure.y @ a

        assert abs(alpha.sum()) <= 1e-9 * np.abs(alpha).sum() + 1e-12
        assert value(alpha) - value(best) <= 1e-6 * abs(value(best)) + 1e-9


def test_objective_falls_with_every_step_and_is_the_risk():
    problem, matrix = random_problem(1, n=200, p=40, lam=1e-3)
    found = ramp.solve(problem, matrix)
    assert (np.diff(found.history) <= 1e-9 * abs(found.history[0])).all()
    assert set(found.objectives) == {"zero", "one-class", "double hinge"}
    assert found.objective == min(found.objectives.values())
    rows = np.concatenate([problem.positives, problem.unlabelled])
    K = matrix.block(rows, rows)
    f = K @ found.alpha + found.beta
    loss = np.clip(0.5 * (1 - f[:40]), 0, 1), np.clip(0.5 * (1 + f[40:]), 0, 1)
    expected = 0.5 * found.alpha @ K @ found.alpha + 2 * problem.c1 @ loss[0] + problem.c2 @ loss[1]
    assert found.objective == pytest.approx(expected, rel=1e-9)


def test_estimator_separates_and_reports():
    X, y = random_table(0, n=300, p=60, d=3)
    model = RampPUSVC(0.4).fit(X, y)
    assert model.objective_ == min(model.objectives_.values())
    assert model.start_ in model.objectives_
    assert model.n_iter_ >= 3
    positive, negative = model.predict(X[:60]).mean(), model.predict(X[60:]).mean()
    assert positive > 0.7
    assert 0.1 < negative < 0.7
    linear = RampPUSVC(kernel="linear").fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(linear.decision_function(X), X @ linear.coef_[0] + linear.intercept_[0], atol=1e-9)
    assert linear.prior_interval_[0] <= linear.prior_ <= linear.prior_interval_[1]


def test_tables_that_are_too_large_and_bad_parameters_are_refused(monkeypatch):
    X, y = random_table(0, n=50, p=10)
    monkeypatch.setattr(ramp, "LARGEST", 20)
    with pytest.raises(ValueError, match="of at most 20 rows; got 60"):
        RampPUSVC(0.4).fit(X, y)
    with pytest.raises(ValueError, match=r"'max_iter' parameter of RampPUSVC.*Got 0"):
        RampPUSVC(0.4, max_iter=0).fit(X, y)


def test_balancing_stays_in_the_box():
    rng = np.random.default_rng(0)
    low, high = -rng.random(30), rng.random(30)
    alpha = ramp._balanced(np.clip(rng.normal(size=30), low, high), low, high)
    assert abs(alpha.sum()) <= 1e-12
    assert ((alpha >= low) & (alpha <= high)).all()

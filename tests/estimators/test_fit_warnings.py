"""Warnings after a fit: a limit, a certificate above the tolerance, a constant decision function."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.oracles import random_table, rbf, shuffled_table
from usmo import PUSVC, LinearPUSVC
from usmo.core.certificate import Certificate
from usmo.estimators.fit_warnings import warn_if_short
from usmo.fitting import graded
from usmo.fitting.warm_up import compile_kernel_solvers
from usmo.solvers import usmo


@pytest.fixture(scope="module")
def table():
    return shuffled_table(0, n=150, p=30, d=4)


@pytest.mark.parametrize(("solver", "steps"), [("usmo", 5), ("blocks", 1), ("qp", 2)])
def test_max_iter_warns_with_the_gap(table, solver, steps):
    X, y = table
    message = r"max_iter ended the fit: .*relative duality gap \d.*Raise max_iter, or scale"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        model = PUSVC(0.4, lam=1e-4, max_iter=steps, solver=solver, tol=1e-8).fit(X, y)
    assert caught[0].filename == __file__  # the warning points at the line that calls fit
    assert model.n_iter_ == steps
    assert model.certificate_.kkt_violation > 1e-8
    assert model.certificate_.equality_residual <= 1e-12


@pytest.mark.parametrize("solver", ["usmo", "blocks"])
def test_max_time_warns_and_keeps_the_best_solution_with_its_certificate(table, solver):
    X, y = table
    with pytest.warns(ConvergenceWarning, match="max_time ended the fit: .*Raise max_time, or scale"):
        model = PUSVC(0.4, max_time=1e-9, solver=solver).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.certificate_.gap > 0


def test_limits_of_linear_models_warn_with_the_gap(table):
    with pytest.warns(match=r"max_iter ended the fit: the KKT violation is .* the relative duality gap"):
        LinearPUSVC(0.4, max_iter=2).fit(*table)


@pytest.mark.parametrize("gap", [2.8e-15, 5e-5])
def test_a_certificate_within_the_tolerance_is_no_reason_to_warn(gap):
    """Solvers of linear models aim at a smaller gap, and say that rounding ended the fit where they miss it."""
    certificate = Certificate(1.0, 1.0 - gap, gap, gap, 1e-4, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_short("precision", certificate, 1e-3)
    with pytest.warns(ConvergenceWarning, match="rounding ended the fit before tol was met"):
        warn_if_short("precision", replace(certificate, relative_gap=2e-4), 1e-3)


def test_the_dense_qp_meets_the_tolerance_on_the_violation():
    """Clarabel ends with a relative gap of 8e-8, and f of one row 20 away from its condition."""
    X, y = random_table(25, n=24, p=6, d=1)
    certificate = PUSVC(0.5, lam=1e-6, gamma=0.05, solver="qp").fit(X, y).certificate_
    assert certificate.relative_gap <= 1e-4
    assert certificate.kkt_violation <= 1e-3


def test_certificate_is_computed_independently_of_the_solver(table, monkeypatch):
    """A solver that stops early and returns wrong values of G."""
    X, y = table
    solve = usmo.solve

    def wrong(*args, **options):
        solution = solve(*args, **{**options, "tol": 0.5})
        return replace(solution, G=0.0 * solution.G + 1e9, status="optimal")

    compile_kernel_solvers()
    monkeypatch.setattr(usmo, "solve", wrong)
    monkeypatch.setattr(graded, "can_finish", lambda problem: False)
    with pytest.warns(ConvergenceWarning, match="before tol was met"):
        model = PUSVC(0.4, lam=1e-3, solver="usmo", tol=1e-6, threshold=0.0, class_weight=None).fit(X, y)
    alpha = np.zeros(len(X))
    alpha[model.support_] = model.dual_coef_[0]
    f = rbf(X, X, model._kernel.gamma) @ alpha + model.intercept_[0]
    u = f[y == 0]
    norm = alpha @ (f - model.intercept_[0])
    risk = -0.4 * f[y == 1].mean() + np.maximum(0, np.maximum(u, (1 + u) / 2)).mean() + 1e-3 * norm
    assert model.certificate_.primal == pytest.approx(risk / 2e-3, rel=1e-9)
    assert model.certificate_.kkt_violation > 1e-3


def concentric(seed=0):
    """Labelled positives in the middle of the unlabelled rows, so that some weighting of these has the same mean."""
    rng = np.random.default_rng(seed)
    X = np.vstack([0.3 * rng.normal(size=(30, 2)), rng.normal(size=(300, 2))])
    return X, (np.arange(330) < 30).astype(int)


@pytest.mark.parametrize("lam", [1e-2, 1e-6])
def test_constant_optimum_warns(lam):
    """w = 0 is optimal for every λ, so the order of the rows is rounding."""
    X, y = concentric()
    options = {"lam": lam, "class_weight": None}
    for model in (LinearPUSVC(0.2, **options), PUSVC(0.2, kernel="linear", solver="blocks", **options)):
        with pytest.warns(UserWarning, match="decision function is constant.*precise to"):
            model.fit(X, y)
        assert np.linalg.norm(model.coef_) < 1e-3
        # the share of the prior, in the order of rounding, or no row if all are equal
        called = np.count_nonzero(model.predict(X[30:]))
        assert called == 0 or abs(called - 60) <= 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_rbf = PUSVC(0.2, lam=lam).fit(X, y)
    assert by_rbf.predict(X)[30:].mean() == pytest.approx(0.2, abs=0.02)

"""Extreme tables and kernels: one row, equal rows, huge and tiny scales, kernels that are not valid."""

import warnings

import numpy as np
import pytest

from tests.oracles import random_table
from usmo import PUSVC


@pytest.fixture(scope="module")
def table():
    return random_table(0, n=150, p=30, d=4)


DEGENERATE = {
    "one unlabelled row": (np.array([[0.0], [1.0], [2.0]]), [1, 1, 0]),
    "one positive": (np.array([[0.0], [1.0], [2.0], [5.0]]), [1, 0, 0, 0]),
    "two rows": (np.array([[0.0], [1.0]]), [1, 0]),
    "identical rows": (np.ones((20, 3)), [1] * 5 + [0] * 15),
    "constant column": (np.c_[np.ones(40), np.linspace(-1, 1, 40)], [0] * 30 + [1] * 10),
    "duplicated rows": (np.repeat(np.linspace(-1, 1, 8)[:, None], 5, axis=0), [0] * 30 + [1] * 10),
}


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("prior", [1e-6, 0.3, 1 - 1e-6])
@pytest.mark.parametrize("case", list(DEGENERATE))
def test_degenerate_tables_are_solved_and_certified(case, prior, kernel):
    X, y = DEGENERATE[case]
    models = [
        PUSVC(prior, kernel=kernel, solver=solver, tol=1e-6).fit(X, y) for solver in ("qp", "usmo", "blocks")
    ]
    for model in models[1:]:
        assert np.isfinite(model.decision_function(X)).all()
        assert model.certificate_.kkt_violation <= 1e-6 + 1e-9
        assert model.certificate_.primal == pytest.approx(models[0].certificate_.primal, rel=1e-5, abs=1e-3)
        assert model.certificate_.equality_residual <= 1e-12


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_gamma_scale_makes_rbf_independent_of_the_scale_of_the_columns(table, scale):
    X, y = table
    plain, scaled = PUSVC(0.4, tol=1e-7).fit(X, y), PUSVC(0.4, tol=1e-7).fit(X * scale, y)
    np.testing.assert_allclose(scaled.decision_function(X * scale), plain.decision_function(X), atol=1e-5)


STUCK = {
    "rounding": (761965.3990718637 * np.array([[0], [-1], [2], [-1], [1], [-2], [1.0]]), [1] + 6 * [0], 0.3, 1e-3),
    "crawling": (np.array([[-1290.0], [790], [9093], [4311], [-3701]]), [1, 1, 0, 0, 0], 0.5, 1e-4),
}


@pytest.mark.parametrize("solver", ["usmo", "blocks"])
@pytest.mark.parametrize("case", list(STUCK))
def test_fits_that_make_no_progress_end_with_a_warning(case, solver):
    """Columns so large that steps are lost to rounding, or too small to reach the optimum."""
    X, y, prior, lam = STUCK[case]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = PUSVC(prior, lam=lam, kernel="linear", solver=solver).fit(X, y)
    certificate = model.certificate_
    solved = certificate.kkt_violation <= 1e-3 + 1e-9 * np.abs(model.decision_function(X)).max()
    assert solved or any("before tol was met" in str(warning.message) for warning in caught)
    assert np.isfinite(certificate.gap)


def test_invalid_kernels_are_refused(table):
    X, y = table
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="kernel must be symmetric"):
        PUSVC(0.4, kernel="precomputed").fit(rng.normal(size=(180, 180)), y)
    with pytest.raises(ValueError, match="kernel is not finite"):
        PUSVC(0.4, kernel="poly", degree=2.5).fit(X, y)
    with pytest.raises(ValueError, match="needs a positive semidefinite kernel"):
        PUSVC(0.4, kernel="sigmoid", gamma=2.0, coef0=-1.0, solver="qp").fit(X, y)
    with pytest.raises(ValueError, match="too large for float64"):
        PUSVC(0.4, kernel="linear").fit(X * 1e150, y)
    with pytest.raises(ValueError, match="kernel overflows"):
        PUSVC(0.4, kernel="linear", solver="blocks").fit(X * 1e150, y)
    with pytest.raises(ValueError, match="kernel overflows"):
        PUSVC(0.4, lam=1e-307).fit(X, y)


def test_linear_kernel_on_tiny_columns_is_solved(table):
    X, y = table
    model = PUSVC(0.4, kernel="linear").fit(X * 1e-8, y)
    assert model.certificate_.kkt_violation <= 1e-3
    assert model.certificate_.relative_gap <= 1e-6


@pytest.mark.parametrize("balanced", [False, True])
def test_linear_kernel_on_huge_columns_is_solved_or_warns_with_a_correct_certificate(table, balanced):
    """K is of the order 1e16. The certificate is compared with the gap in extended precision."""
    X, y = table
    if balanced:  # the positives are half of the unlabelled rows: f must stay small although K is huge
        X = np.vstack([X[y == 0][::2], X[y == 0]])
        y = np.r_[np.ones(75, int), np.zeros(150, int)]
    X = X * 1e8
    model = PUSVC(0.5, kernel="linear", lam=1e-3, threshold=0.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    certificate, f = model.certificate_, model.decision_function(X)
    assert np.isfinite(f).all()
    met = certificate.kkt_violation <= 1e-3 + 1e-9 * np.abs(f).max()
    assert met or any("before tol was met" in str(warning.message) for warning in caught)

    wide = X.astype(np.longdouble)
    alpha = np.zeros(len(X), dtype=np.longdouble)
    alpha[model.support_] = model.dual_coef_[0]
    sigma, c2 = -alpha[y == 0], 1 / (2e-3 * (y == 0).sum())
    u = wide[y == 0] @ (wide.T @ alpha) + model.intercept_[0]
    gap = (c2 * np.maximum(0, np.maximum(u, (1 + u) / 2)) - sigma * u - np.minimum(sigma, c2 - sigma)).sum()
    rounding = 1e-15 * (np.abs(wide) @ (np.abs(wide.T) @ np.abs(alpha))).max() * sigma.sum()
    assert abs(certificate.gap - gap) <= rounding


@pytest.mark.parametrize("solver", ["usmo", "blocks"])
def test_indefinite_kernel_warns_and_ends_at_a_stationary_point(table, solver):
    X, y = table
    with pytest.warns(UserWarning, match="kernel matrix is indefinite"):
        model = PUSVC(0.4, kernel="sigmoid", gamma=2.0, coef0=-1.0, solver=solver).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert not model.certificate_.convex
    assert model.certificate_.kkt_violation <= 1e-3 + 1e-9

"""Hard problems: starts far from the solution, badly scaled kernels, huge rows, exact fractions.

Every fit ends optimal by its certificate, or warns with the reason.
"""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import usmo
from tests.oracles import plain_bounds, plain_kernel, plain_optimum, random_table
from usmo import PUSVC, LinearPUSVC
from usmo.kernels.kernel import Kernel


def table(seed, n=100, d=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[: 2 * n // 5] += 1
    y = np.zeros(n)
    y[rng.permutation(n)[: n // 2]] = 1
    return X, y


def test_path_over_priors_far_apart_is_optimal():
    X, y = table(0)
    with pytest.warns(UserWarning, match="constant"):
        models = usmo.path(LinearPUSVC(0.5, class_weight=None), X, y, lams=[0.01], priors=[0.999, 0.001])
    models += usmo.path(LinearPUSVC(0.5), X, y, lams=[0.01], priors=[0.999, 0.001])
    assert all(abs(model.certificate_.relative_gap) <= 1e-9 for model in models)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_path_warns_of_models_that_fall_short(kernel):
    X, y = table(1, d=3)
    X[-1] *= 1e12
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        models = usmo.path(PUSVC(0.5, kernel=kernel, gamma=0.1), X, y, lams=[0.1, 1e-4], priors=[0.2, 0.7])
    short = [model for model in models if abs(model.certificate_.relative_gap) > 1e-4]
    warned = [warning for warning in caught if issubclass(warning.category, ConvergenceWarning)]
    assert len(warned) >= len(short)


def test_path_with_priors_estimates_none(monkeypatch):
    monkeypatch.setattr("usmo.estimators.preparation.Consensus", None)
    X, y = table(2, d=2)
    assert [model.prior_ for model in usmo.path(PUSVC(), X, y, lams=[0.1], priors=[0.3, 0.6])] == [0.3, 0.6]


@pytest.mark.filterwarnings("ignore:the decision function is constant")
@pytest.mark.parametrize("seed", range(20))
def test_warm_start_of_the_linear_model_is_as_good_as_a_cold_one(seed):
    X, first = table(0)
    rng = np.random.default_rng(seed)
    other = rng.permutation(first)
    model = LinearPUSVC(0.999, lam=1e-4, warm_start=True).fit(X, first)
    model.set_params(prior=0.001, lam=0.01).fit(X, other)
    cold = LinearPUSVC(0.001, lam=0.01).fit(X, other)
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=1e-6)


@pytest.mark.filterwarnings("ignore:the decision function is constant")
@pytest.mark.parametrize("seed", range(10))
def test_warm_start_with_a_kernel_is_as_good_as_a_cold_one(seed):
    X, first = table(seed, d=3)
    other = np.random.default_rng(seed).permutation(first)
    model = PUSVC(0.99, lam=1e-6, gamma=0.1, warm_start=True).fit(X, first).set_params(prior=0.01, lam=1.0)
    assert model.fit(X, other).certificate_.relative_gap <= 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_a_polynomial_kernel_of_large_values_is_solved(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(79, 4)), np.r_[np.ones(10), np.zeros(69)]
    model = PUSVC(0.1154, kernel="poly", gamma=13.66, lam=5.8e-5, class_weight=None).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-4
    P, U, c1, c2 = plain_bounds(y, 0.1154, 5.8e-5)
    kernel = Kernel("poly", gamma=13.66)
    K, q = plain_kernel(kernel, X[U], X[U]), plain_kernel(kernel, X[U], X[P]) @ c1
    _, best = plain_optimum(K, q, c2, c1.sum())
    own = plain_kernel(kernel, X[P], X[P])
    assert -model.certificate_.dual - 0.5 * c1 @ own @ c1 == pytest.approx(best, rel=1e-3)


@pytest.mark.filterwarnings("ignore:the decision function is constant")
@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_columns_scaled_far_apart_are_solved(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) * 10.0 ** np.linspace(-2, 2, 5)
    model = PUSVC(0.3, kernel=kernel, solver="blocks", class_weight=None).fit(X, np.arange(300) < 50)
    assert model.certificate_.relative_gap <= 1e-4
    assert len(model.history_) <= 200


@pytest.mark.parametrize("seed", range(5))
def test_one_huge_row_hides_no_violation(seed):
    """Rounding is allowed for row by row: the decision values of the other rows are small."""
    X, y = table(seed, d=3)
    X[-1] *= 1e12
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = PUSVC(0.39, kernel="linear", solver="blocks").fit(X, y)
    good = model.certificate_.relative_gap <= 1e-4 and model.certificate_.kkt_violation <= 1e-3
    assert good or any(issubclass(warning.category, ConvergenceWarning) for warning in caught)


def test_one_large_row_is_solved_by_the_interior_point_too():
    """A row with a tiny share of its bound is free: putting it to 0 would change its own f by k(x, x) times that."""
    X, y = table(3, n=12, d=6)
    X[-1] *= 1e4
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = LinearPUSVC(5 / 12, lam=3e-6, tol=1e-4).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-8


@pytest.mark.filterwarnings("ignore:the decision function is constant")
@pytest.mark.parametrize("seed", range(40))
def test_violation_of_the_interior_point_is_right_for_exact_fractions(seed):
    """2πn is an integer: the optimum may have no non-bound row, and the remainder of Σσ is rounding."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(5, 80)), int(rng.integers(1, 10))
    X = rng.normal(size=(n + p, 3))
    X[:p] += 1
    prior, lam = int(rng.integers(1, 2 * n)) / (2 * n), 10.0 ** rng.uniform(-5, 0)
    model = LinearPUSVC(prior, lam=lam).fit(X, np.arange(n + p) < p)
    assert model.certificate_.kkt_violation <= 1.001e-3
    assert model.certificate_.relative_gap <= 1e-6


def plain_objective(model, X, y, prior, lam):
    """The objective of a linear model as a user gets it, in extended precision, divided by 2λ."""
    w, beta = model.coef_[0].astype(np.longdouble), np.longdouble(model.intercept_[0]) + model.threshold_
    f = X.astype(np.longdouble) @ w + beta
    P, U, c1, c2 = plain_bounds(y, prior, lam)
    return float(c2 @ np.maximum(0, np.maximum(f[U], (1 + f[U]) / 2)) - c1 @ f[P] + 0.5 * w @ w)


@pytest.mark.parametrize("solver", ["auto", "interior-point", "newton", "blocks", "usmo", "qp"])
def test_the_certificate_of_columns_far_from_zero_is_that_of_the_model(solver):
    """Σα is 0 up to rounding only. A column such as a time in seconds multiplies what is left by its square."""
    X, y = random_table(0, n=300, p=60)
    near = PUSVC(0.4, kernel="linear", lam=0.01, class_weight=None, solver=solver).fit(X, y)
    X[:, 0] += 1e8
    far = PUSVC(0.4, kernel="linear", lam=0.01, class_weight=None, solver=solver).fit(X, y)
    assert far.certificate_.relative_gap <= 1e-4
    assert plain_objective(far, X, y, 0.4, 0.01) == pytest.approx(far.certificate_.primal, rel=1e-6)
    assert far.certificate_.primal == pytest.approx(near.certificate_.primal, rel=1e-4)
    assert far.predict(X[y == 0]).mean() == pytest.approx(0.4, abs=0.01)


def test_folds_of_columns_far_from_zero_are_judged_by_the_fitted_weights():
    X, y = random_table(0, n=300, p=60)
    X[:, 0] += 1e8
    columns, kernel = LinearPUSVC(0.4, lam="cv").fit(X, y), PUSVC(0.4, kernel="linear", lam="cv").fit(X, y)
    assert np.abs(columns.selection_.mean).max() < 10
    assert kernel.selection_.mean == pytest.approx(columns.selection_.mean, rel=1e-6)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_the_certificate_of_rows_far_apart_is_that_of_their_exact_distances(container):
    """A column of times in seconds, some days apart, not scaled, and a γ for the other columns."""
    X, y = random_table(0, n=150, p=30)
    X[:, 0] += 1e7 * np.random.default_rng(0).integers(-1, 2, size=180)
    model = PUSVC(0.4, gamma=0.5, lam=0.01, class_weight=None).fit(container(X), y)
    P, U, c1, c2 = plain_bounds(y, 0.4, 0.01)
    alpha = np.zeros(180)
    alpha[model.support_] = model.dual_coef_[0]
    K = plain_kernel(Kernel("rbf", gamma=0.5), X, X)
    f = K @ alpha + model.intercept_[0] + model.threshold_
    objective = c2 @ np.maximum(0, np.maximum(f[U], (1 + f[U]) / 2)) - c1 @ f[P] + 0.5 * alpha @ K @ alpha
    best = -plain_optimum(K[np.ix_(U, U)], K[np.ix_(U, P)] @ c1, c2, c1.sum())[1] - 0.5 * c1 @ K[np.ix_(P, P)] @ c1
    assert objective == pytest.approx(model.certificate_.primal, rel=1e-7)
    assert objective - best <= model.certificate_.gap + 1e-7 * abs(best)
    assert model.certificate_.relative_gap <= 1e-4

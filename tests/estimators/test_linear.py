"""LinearPUSVC and PUSVC(kernel="linear") are one model; the path; approximations and what they say about it."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from tests.oracles import random_table
from usmo import PUSVC, LinearPUSVC, path
from usmo.kernels.row_blocks import PartFeatures


@pytest.fixture
def table():
    return random_table(0, n=400, p=50, d=4)


@pytest.mark.parametrize("scenario", ["case-control", "censored"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_same_model_as_the_linear_kernel(table, scenario, container):
    X, y = container(table[0]), table[1]
    weight = np.random.default_rng(0).random(len(y)) + 0.1
    linear = LinearPUSVC(0.4, scenario=scenario, tol=1e-6).fit(X, y, weight)
    kernel = PUSVC(0.4, scenario=scenario, kernel="linear", solver="blocks", tol=1e-6).fit(X, y, weight)
    auto = PUSVC(0.4, scenario=scenario, kernel="linear", tol=1e-6).fit(X, y, weight)
    assert linear.certificate_.primal == pytest.approx(kernel.certificate_.primal, rel=1e-7)
    assert auto.certificate_.primal == pytest.approx(kernel.certificate_.primal, rel=1e-7)
    np.testing.assert_allclose(linear.coef_, kernel.coef_, atol=1e-5)
    np.testing.assert_allclose(linear.decision_function(X), kernel.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(auto.decision_function(X), linear.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(linear.predict(X), kernel.predict(X))
    assert auto.kernel_rows_ == 0
    assert kernel.kernel_rows_ > 0
    if container is sparse.csr_matrix:
        assert sparse.issparse(auto.support_vectors_)


@pytest.mark.parametrize(
    ("rows", "columns", "by_columns"), [(300, 199, True), (300, 200, False), (6100, 200, True)]
)
def test_solver_of_the_linear_kernel_goes_by_the_shape(rows, columns, by_columns):
    X, y = random_table(0, n=rows - 50, p=50, d=columns)
    model = PUSVC(0.4, kernel="linear").fit(X, y)
    assert (model.kernel_rows_ == 0) == by_columns
    exact = LinearPUSVC(0.4, tol=1e-6).fit(X, y)
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-4)
    two = path(PUSVC(0.4, kernel="linear"), X, y, lams=[0.1, 0.01])
    assert (two[0].kernel_rows_ == 0) == by_columns
    assert two[1].certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-4)


@pytest.mark.parametrize("shift", [1e3, 1e6])
def test_blocks_short_of_precision_are_followed_by_the_interior_point(shift):
    """Wide tables go to the block solver, whose kernel entries hold columns far from zero badly."""
    X, y = random_table(0, n=300, p=50, d=220)
    near = LinearPUSVC(0.4, tol=1e-6).fit(X, y)
    options = {"kernel": "linear", "lam": near.lam_}
    far = PUSVC(0.4, **options).fit(X + shift, y)
    assert far.certificate_.primal == pytest.approx(near.certificate_.primal, rel=1e-5)
    assert far.certificate_.kkt_violation <= 1e-3
    last = path(PUSVC(0.4, kernel="linear"), X + shift, y, lams=[0.1, near.lam_])[-1]
    assert last.certificate_.primal == pytest.approx(near.certificate_.primal, rel=1e-5)
    alone = PUSVC(0.4, solver="blocks", max_time=60.0, **options)
    if shift == 1e6:  # what it is for
        with pytest.warns(ConvergenceWarning, match="want of precision"):
            alone.fit(X + shift, y)


def test_columns_far_from_zero_change_the_intercept_only(table):
    X, y = table
    near, far = (LinearPUSVC(0.4, tol=1e-6).fit(X + shift, y) for shift in (0.0, 1e5))
    np.testing.assert_allclose(near.coef_, far.coef_, atol=1e-6)
    np.testing.assert_allclose(near.decision_function(X), far.decision_function(X + 1e5), atol=1e-5)


def among_the_others(seed=0):
    """Known positives in the midst of the unlabelled rows: mixtures of these have the same mean."""
    rng = np.random.default_rng(seed)
    X = np.vstack([0.3 * rng.normal(size=(30, 2)), rng.normal(size=(300, 2))])
    return X, (np.arange(330) < 30).astype(int)


@pytest.mark.parametrize("lam", [1e-2, 1e-6])
def test_a_constant_optimum_is_said(lam):
    """The double hinge is flat enough there for w = 0 to be optimal, whatever λ is; the order is rounding then."""
    X, y = among_the_others()
    for model in (LinearPUSVC(0.2, lam=lam), PUSVC(0.2, lam=lam, kernel="linear", solver="blocks")):
        with pytest.warns(UserWarning, match="decision function is constant.*violation"):
            model.fit(X, y)
        assert np.linalg.norm(model.coef_) < 1e-3
        assert not model.predict(X).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near = PUSVC(0.2, lam=lam).fit(X, y)
    assert near.predict(X)[30:].mean() == pytest.approx(0.2, abs=0.02)


def test_estimator_conventions(table, tmp_path):
    X, y = table
    model = LinearPUSVC(random_state=0).fit(X, y)
    low, high = model.prior_interval_
    assert low <= model.prior_ <= high
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(LinearPUSVC(0.3).fit(X, y), "prior_interval_")
    assert model.n_iter_ == model.history_[-1].steps
    warm = LinearPUSVC(0.3, warm_start=True).fit(X, y)
    first = warm.n_iter_
    warm.fit(X, y)
    assert warm.n_iter_ < first
    np.save(tmp_path / "x.npy", X)
    assert LinearPUSVC().fit(PartFeatures.directory(tmp_path), y).prior_ == LinearPUSVC().fit(X, y).prior_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"prior": 1.0}, r"'prior' parameter of LinearPUSVC.*Got 1\.0"),
        ({"lam": 0}, r"'lam' parameter.*Got 0"),
        ({"tol": -1}, r"'tol' parameter.*Got -1"),
        ({"scenario": "both"}, r"'scenario' parameter.*Got 'both'"),
        ({"max_iter": 0}, r"'max_iter' parameter.*Got 0"),
    ],
)
def test_bad_parameters_are_named(table, parameters, message):
    model = LinearPUSVC(**{"prior": 0.4, **parameters})
    with pytest.raises(ValueError, match=message):
        model.fit(*table)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_numbers_beyond_float64_are_refused_and_small_ones_solved(table, container):
    X, y = table
    for scale in (1e70, 1e160):
        with pytest.raises(ValueError, match="too large for float64: scale the columns of X"):
            LinearPUSVC(0.4).fit(container(X * scale), y)
    for scale in (1e-8, 1e-160):
        assert LinearPUSVC(0.4).fit(container(X * scale), y).certificate_.relative_gap <= 1e-6


def test_limits_warn_with_the_gap(table):
    with pytest.warns(match=r"max_iter ended the fit: the KKT violation is .* the relative duality gap"):
        LinearPUSVC(0.4, max_iter=2).fit(*table)


@pytest.mark.parametrize("estimator", [LinearPUSVC(tol=1e-6), PUSVC(kernel="linear", tol=1e-6)])
def test_path_equals_single_fits(table, estimator):
    X, y = table
    models = path(estimator, X, y, lams=[1e-1, 1e-3], priors=[0.3, 0.4])
    assert [(model.prior_, model.lam) for model in models] == [(0.3, 0.1), (0.3, 1e-3), (0.4, 0.1), (0.4, 1e-3)]
    for model in models:
        single = clone(estimator).set_params(prior=model.prior_, lam=model.lam).fit(X, y)
        assert model.certificate_.primal == pytest.approx(single.certificate_.primal, rel=1e-8)
        np.testing.assert_allclose(model.decision_function(X), single.decision_function(X), atol=1e-4)


def test_path_takes_fewer_iterations_than_single_fits():
    X, y = random_table(1, n=5000, p=100, d=6)
    lams = np.logspace(-1, -4, 8)
    together = sum(model.n_iter_ for model in path(LinearPUSVC(0.4), X, y, lams=lams))
    apart = sum(LinearPUSVC(0.4, lam=lam).fit(X, y).n_iter_ for lam in lams)
    assert together < apart


@pytest.mark.parametrize("kind", ["nystroem", "rff"])
def test_approximation_comes_near_and_says_how_near(table, kind):
    X, y = table
    exact = PUSVC(0.4, lam=1e-3, threshold=0.0).fit(X, y)
    model = PUSVC(0.4, lam=1e-3, threshold=0.0, approximation=kind, n_components=400, random_state=0).fit(X, y)
    about = model.approximation_
    assert about.kind == kind
    assert about.n_compared == 400
    difference = np.abs(exact.decision_function(X) - model.decision_function(X))
    # the sample is the whole table here, so what is said can be checked
    assert np.mean(difference[y == 0]) == pytest.approx(about.mean_difference, rel=1e-3, abs=1e-4)
    assert about.exact_objective == pytest.approx(2e-3 * exact.certificate_.primal, rel=1e-4, abs=1e-9)
    assert about.objective == pytest.approx(2e-3 * model.certificate_.primal, rel=1e-4, abs=1e-9)
    assert model.certificate_.relative_gap < 1e-6
    assert about.changed < 0.1
    if kind == "nystroem":
        assert np.mean(difference) < 0.02
        assert about.objective >= about.exact_objective - 1e-6
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_nystroem_on_all_rows_is_the_exact_model():
    X, y = random_table(2, n=80, p=20, d=3)
    exact = PUSVC(0.4, tol=1e-6).fit(X, y)
    model = PUSVC(0.4, tol=1e-6, approximation="nystroem", n_components=1000).fit(X, y)
    np.testing.assert_array_equal(model.support_, np.arange(100))
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid"])
def test_nystroem_takes_every_kind_of_table_and_kernel(table, container, kernel):
    X, y = table
    model = PUSVC(0.4, kernel=kernel, gamma=0.05, coef0=1.0, approximation="nystroem", n_components=20)
    f = model.fit(container(X), y).decision_function(container(X))
    assert np.isfinite(f).all()
    assert model.support_vectors_.shape[0] <= 20


def test_mapped_rows_that_do_not_fit_are_computed_when_read(table, monkeypatch):
    X, y = table
    held = PUSVC(0.4, approximation="nystroem", n_components=30).fit(X, y)
    monkeypatch.setattr("usmo.fitting.approximate._HELD", 10)
    monkeypatch.setattr("usmo.fitting.approximate._spare_numbers", lambda: 0)
    fetched = PUSVC(0.4, approximation="nystroem", n_components=30).fit(X, y)
    np.testing.assert_allclose(fetched.decision_function(X), held.decision_function(X), atol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "linear"}, "needs a kernel evaluated on rows, not the linear one; got kernel='linear'"),
        ({"kernel": "poly", "approximation": "rff"}, "needs kernel='rbf'; got kernel='poly'"),
        ({"solver": "usmo"}, "fitted by the interior point; got solver='usmo'"),
        ({"warm_start": True}, "warm_start does not work with approximation='nystroem'"),
        ({"checkpoint": "x"}, "checkpoint does not work with approximation='nystroem'"),
        ({"n_components": 0}, "'n_components' parameter"),
    ],
)
def test_what_does_not_go_with_an_approximation_is_refused(table, parameters, message):
    with pytest.raises(ValueError, match=message):
        PUSVC(**{"approximation": "nystroem", **parameters}).fit(*table)
    with pytest.raises(ValueError, match="path fits the exact kernel"):
        path(PUSVC(approximation="nystroem"), *table, lams=[0.1])


def test_large_tables_point_to_the_approximation_but_are_fitted_exactly(table, monkeypatch):
    monkeypatch.setattr("usmo.estimators.pusvc._LARGE", 400)
    with pytest.warns(UserWarning, match="the time of approximation='nystroem' grows with the rows only"):
        model = PUSVC(0.4).fit(*table)
    assert not hasattr(model, "approximation_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PUSVC(0.4, solver="blocks").fit(*table)
        PUSVC(0.4, kernel="linear").fit(*table)

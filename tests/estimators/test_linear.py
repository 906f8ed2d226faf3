"""LinearPUSVC gives the model of PUSVC(kernel="linear"), and follows scikit-learn's conventions."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

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
    options = {"scenario": scenario, "kernel": "linear", "tol": 1e-6, "lam": linear.lam_}
    kernel = PUSVC(0.4, solver="blocks", **options).fit(X, y, weight)
    auto = PUSVC(0.4, **options).fit(X, y, weight)
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


@pytest.mark.parametrize("columns", [5, 200])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_all_solvers_of_the_linear_kernel_agree(columns, container):
    X, y = random_table(0, n=250, p=50, d=columns)
    X = container(X)
    exact = PUSVC(0.4, kernel="linear", lam=0.01, solver="blocks", tol=1e-6).fit(X, y)
    for model in (
        PUSVC(0.4, kernel="linear", lam=0.01),
        *(LinearPUSVC(0.4, solver=solver) for solver in ("auto", "interior-point", "newton")),
        path(PUSVC(0.4, kernel="linear"), X, y, lams=[0.1, 0.01])[1],
    ):
        model = model if hasattr(model, "coef_") else model.fit(X, y)
        assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-4)
        assert model.certificate_.relative_gap <= 1e-6


@pytest.mark.parametrize("shift", [1e3, 1e6])
def test_columns_far_from_zero_cost_no_precision(shift):
    """Linear solvers centre the columns. The interior point goes on where kernel values of blocks are too coarse."""
    X, y = random_table(0, n=300, p=50, d=220)
    near = LinearPUSVC(0.4, tol=1e-6).fit(X, y)
    options = {"kernel": "linear", "lam": near.lam_}
    far = PUSVC(0.4, **options).fit(X + shift, y)
    assert far.certificate_.primal == pytest.approx(near.certificate_.primal, rel=1e-5)
    assert far.certificate_.kkt_violation <= 1e-3
    last = path(PUSVC(0.4, kernel="linear"), X + shift, y, lams=[0.1, near.lam_])[-1]
    assert last.certificate_.primal == pytest.approx(near.certificate_.primal, rel=1e-5)
    alone = PUSVC(0.4, solver="blocks", max_time=60.0, **options).fit(X + shift, y)
    assert alone.certificate_.primal == pytest.approx(near.certificate_.primal, rel=1e-5)


def test_shifting_the_columns_changes_only_the_intercept(table):
    X, y = table
    near, far = (LinearPUSVC(0.4, tol=1e-6).fit(X + shift, y) for shift in (0.0, 1e5))
    np.testing.assert_allclose(near.coef_, far.coef_, atol=1e-6)
    np.testing.assert_allclose(near.decision_function(X), far.decision_function(X + 1e5), atol=1e-5)


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
def test_huge_numbers_are_refused_and_tiny_ones_solved(table, container):
    X, y = table
    for scale in (1e70, 1e160):
        with pytest.raises(ValueError, match="too large for float64: scale the columns of X"):
            LinearPUSVC(0.4).fit(container(X * scale), y)
    for scale in (1e-8, 1e-160):
        assert LinearPUSVC(0.4).fit(container(X * scale), y).certificate_.relative_gap <= 1e-6


def test_a_warm_start_on_wide_parts_ends_at_the_optimum(tmp_path):
    X, y = random_table(0, n=90, p=20, d=40)
    for k, part in enumerate(np.split(X, [30, 70])):
        np.save(tmp_path / f"{k}.npy", part)
    parts = PartFeatures.directory(tmp_path)
    model = LinearPUSVC(0.2, lam=0.1, warm_start=True).fit(parts, np.random.default_rng(0).permutation(y))
    model.set_params(prior=0.4, lam=0.01).fit(parts, y)
    cold = LinearPUSVC(0.4, lam=0.01).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=1e-6)

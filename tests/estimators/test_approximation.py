"""Approximate kernels: how near they come, what the comparison reports, and what they cannot be combined with."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse

from tests.oracles import random_table
from usmo import PUSVC, path
from usmo.kernels.maps import NystroemMap, mapped_features


@pytest.fixture
def table():
    return random_table(0, n=400, p=50, d=4)


@pytest.mark.parametrize("kind", ["nystroem", "rff"])
def test_report_of_an_approximation_is_correct(table, kind):
    X, y = table
    options = {"lam": 1e-3, "threshold": 0.0, "class_weight": None}
    exact = PUSVC(0.4, **options).fit(X, y)
    model = PUSVC(0.4, **options, approximation=kind, n_components=400, random_state=0).fit(X, y)
    report = model.approximation_
    assert report.kind == kind
    assert report.n_compared == 400
    difference = np.abs(exact.decision_function(X) - model.decision_function(X))
    # the sample is the whole table here, so the reported numbers can be checked
    assert np.mean(difference[y == 0]) == pytest.approx(report.mean_difference, rel=1e-3, abs=1e-4)
    assert report.exact_objective == pytest.approx(2e-3 * exact.certificate_.primal, rel=1e-4, abs=1e-9)
    assert report.objective == pytest.approx(2e-3 * model.certificate_.primal, rel=1e-4, abs=1e-9)
    assert model.certificate_.relative_gap < 1e-6
    assert report.changed < 0.1
    if kind == "nystroem":
        assert np.mean(difference) < 0.02
        assert report.objective >= report.exact_objective - 1e-6
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
def test_nystroem_with_all_tables_and_kernels(table, container, kernel):
    X, y = table
    model = PUSVC(0.4, kernel=kernel, gamma=0.05, coef0=1.0, approximation="nystroem", n_components=20)
    f = model.fit(container(X), y).decision_function(container(X))
    assert np.isfinite(f).all()
    assert model.support_vectors_.shape[0] <= 20


def test_mapped_rows_too_large_for_memory_are_computed_when_read(table, monkeypatch):
    X, y = table
    held = PUSVC(0.4, approximation="nystroem", n_components=30, solver="interior-point").fit(X, y)
    monkeypatch.setattr("usmo.kernels.maps._HELD", 10)
    monkeypatch.setattr("usmo.kernels.maps.free_bytes", lambda: 0)
    fetched = PUSVC(0.4, approximation="nystroem", n_components=30).fit(X, y)
    np.testing.assert_allclose(fetched.decision_function(X), held.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("solver", ["newton", "interior-point"])
def test_large_mapped_rows_are_kept_in_float32(table, monkeypatch, solver):
    X, y = table
    model = PUSVC(0.4, approximation="nystroem", n_components=30, solver=solver)
    double = model.fit(X, y).decision_function(X)
    entries = len(X) * model.support_vectors_.shape[0]
    monkeypatch.setattr("usmo.kernels.maps._HELD", entries // 2 + 1)
    monkeypatch.setattr("usmo.kernels.maps.free_bytes", lambda: 0)
    assert (
        mapped_features(X, NystroemMap(model._kernel, model.support_vectors_)).read(slice(0, 1)).dtype
        == np.float32
    )
    single = model.fit(X, y)
    np.testing.assert_allclose(single.decision_function(X), double, atol=1e-3)
    assert single.certificate_.relative_gap < 1e-4


@pytest.mark.parametrize("kind", ["nystroem", "rff"])
def test_both_solvers_reach_the_optimum_of_the_approximate_kernel(table, kind):
    X, y = table
    fits = [
        PUSVC(0.4, approximation=kind, n_components=30, solver=solver, tol=1e-6).fit(X, y)
        for solver in ("newton", "interior-point")
    ]
    newton, interior = (fit.certificate_ for fit in fits)
    assert newton.primal == pytest.approx(interior.primal, rel=1e-8)
    assert max(newton.relative_gap, interior.relative_gap) < 1e-8
    np.testing.assert_allclose(*(fit.decision_function(X) for fit in fits), atol=1e-4)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "linear"}, "needs a kernel evaluated on rows, not the linear one; got kernel='linear'"),
        ({"kernel": "poly", "approximation": "rff"}, "needs kernel='rbf'; got kernel='poly'"),
        ({"solver": "usmo"}, "solver must be 'auto', 'interior-point' or 'newton' for .*, got 'usmo'"),
        ({"warm_start": True}, "warm_start does not work with approximation='nystroem'"),
        ({"checkpoint": "x"}, "checkpoint does not work with approximation='nystroem'"),
        ({"n_components": 0}, "'n_components' parameter"),
    ],
)
def test_parameters_that_do_not_go_with_an_approximation_are_refused(table, parameters, message):
    with pytest.raises(ValueError, match=message):
        PUSVC(**{"approximation": "nystroem", **parameters}).fit(*table)
    with pytest.raises(ValueError, match="path fits the exact kernel"):
        path(PUSVC(approximation="nystroem"), *table, lams=[0.1])


def test_large_tables_are_fitted_exactly_with_a_hint_at_the_approximation(table, monkeypatch):
    monkeypatch.setattr("usmo.estimators.pusvc._LARGE", 400)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PUSVC(0.4).fit(*table)  # takes less than a minute
    monkeypatch.setattr("usmo.estimators.pusvc._LONG", 0.0)
    with pytest.warns(
        UserWarning, match=r"takes about 1 second here\. approximation='nystroem' takes time linear in"
    ):
        model = PUSVC(0.4).fit(*table)
    assert not hasattr(model, "approximation_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PUSVC(0.4, solver="blocks").fit(*table)
        PUSVC(0.4, kernel="linear").fit(*table)
        PUSVC(0.4, kernel="poly", gamma=0.1).fit(*table)  # its time is not known, and rows are few
    monkeypatch.setattr("usmo.estimators.pusvc._LARGE_UNTIMED", 400)
    with pytest.warns(UserWarning, match=r"of a 400 × 400 kernel matrix\. approximation='nystroem' takes"):
        PUSVC(0.4, kernel="poly", gamma=0.1).fit(*table)

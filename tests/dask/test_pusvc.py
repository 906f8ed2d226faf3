"""PUSVC on a Dask cluster: the optimum of one machine, for all kernels and collections, and what is sent."""

import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import usmo
from tests.dask.clusters import accounts, assert_equal_models, lazy, lazy_csr, random_rows
from usmo import PUSVCCV
from usmo.dask import PUSVC, block_fit, driver

KERNELS = {
    "rbf": {},
    "gamma": {"gamma": 0.7},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "callable": {"kernel": lambda A, B: (A @ B.T + 1.0) ** 2},
    "censored": {"scenario": "censored"},
    "nystroem": {"approximation": "nystroem", "n_components": 60},
    "rff": {"approximation": "rff", "n_components": 60},
}


DIAGONALS = {
    "poly": lambda X, gamma: (gamma * (X**2).sum(axis=1) + 1.0) ** 2,
    "callable": lambda X, gamma: ((X**2).sum(axis=1) + 1.0) ** 2,
}
"""k(x, x) of the kernels for which it is not 1."""


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_optimum_is_that_of_one_machine(client, name):
    """4,000 rows, so that the solver starts from a subsample."""
    X, y = random_rows(n=4000)
    chunks = (1000, 7, 1600, 1543)
    parameters = {"lam": 1e-3, "tol": 1e-5, **KERNELS[name]}
    plain = usmo.PUSVC(0.3, **parameters).fit(X, y)
    model = PUSVC(0.3, **parameters).fit(lazy(X, chunks), lazy(y, chunks))
    diagonal = DIAGONALS[name](X, plain._kernel.gamma) if name in DIAGONALS else None
    assert_equal_models(model, plain, X, atol=1e-3, diagonal=diagonal)
    # a cluster learns only from the certificate that the gap is too large, and then computes q again
    assert model.kernel_rows_ == pytest.approx(plain.kernel_rows_, rel=0.03)
    if name == "rff":
        assert not hasattr(model, "support_")
        return
    if name == "nystroem":
        assert model.approximation_.changed == pytest.approx(plain.approximation_.changed, abs=0.01)
    assert len(np.setxor1d(model.support_, plain.support_)) <= 0.002 * len(plain.support_)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


@pytest.mark.parametrize("collection", ["csr", "frame", "weights"])
def test_kernel_optimum_from_all_collections(client, collection):
    X, y = random_rows(n=1500)
    chunks = (400, 7, 700, 543)
    dX, dy, weight = lazy(X, chunks), lazy(y, chunks), None
    if collection == "csr":
        X = np.where(np.abs(X) > 1.0, X, 0.0)
        dX, X = lazy_csr(X, chunks), sparse.csr_matrix(X)
    if collection == "frame":
        X = pd.DataFrame(X, columns=list("abcde"))
        dX, dy = dd.from_pandas(X, npartitions=3), dd.from_pandas(pd.Series(y), npartitions=3)
    if collection == "weights":
        weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    plain = usmo.PUSVC(0.3, lam=1e-3, tol=1e-5).fit(X, y, weight)
    model = PUSVC(0.3, lam=1e-3, tol=1e-5).fit(dX, dy, weight)
    assert_equal_models(model, plain, X, atol=1e-4)
    if collection != "csr":  # some CSR rows are equal, and the optimum does not determine how they share σ
        assert len(np.setxor1d(model.support_, plain.support_)) <= 0.002 * len(plain.support_)
    assert type(model.local()) is usmo.PUSVC
    np.testing.assert_allclose(model.decision_function(dX).compute(), plain.decision_function(X), atol=1e-4)


def test_two_labelled_rows_among_many(client, monkeypatch):
    monkeypatch.setattr(driver, "PRIOR_ROWS", 50)
    X, y = random_rows(n=458, p=2)
    chunks = (100, 160, 200)
    for scenario in ("censored", "case-control"):
        plain = usmo.PUSVC(0.3, scenario=scenario, lam=5e-3, tol=1e-5).fit(X, y)
        model = PUSVC(0.3, scenario=scenario, lam=5e-3, tol=1e-5).fit(lazy(X, chunks), lazy(y, chunks))
        assert_equal_models(model, plain, X, atol=1e-4)


@pytest.mark.parametrize("case", ["case-control", "censored", "weights", "negatives"])
def test_held_out_values_are_those_of_one_machine(client, monkeypatch, case):
    """Probabilities are calibrated on them; with a smaller limit only some rows of each shard have them."""
    monkeypatch.setattr("usmo.estimators.decision.CORRECTED", 61)
    X, y = random_rows(n=900)
    chunks = (300, 7, 400, 343)
    weight = None
    if case == "weights":
        weight = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    if case == "negatives":
        y = np.where((y == 0) & (np.arange(len(y)) % 9 == 0), -1, y)
    parameters = {"lam": 2e-3, "tol": 1e-6, "scenario": "censored" if case == "censored" else "case-control"}
    plain = usmo.PUSVC(0.3, **parameters).fit(X, y, weight)
    model = PUSVC(0.3, **parameters).fit(lazy(X, chunks), lazy(y, chunks), weight)
    assert_equal_models(model, plain, X, atol=1e-3)
    own, expected = model.reference_, plain.reference_
    np.testing.assert_allclose(own.labelled, expected.labelled, atol=1e-3)
    np.testing.assert_allclose(own.unlabelled, expected.unlabelled, atol=1e-3)
    assert own.n_labelled == pytest.approx(expected.n_labelled)
    assert own.n_unlabelled == pytest.approx(expected.n_unlabelled)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-3)
    # the fit draws its labelled rows up
    number = np.ones(len(y)) if weight is None else weight
    taken = np.flatnonzero((y == 1) & (number > 0))
    taken = taken[:: -(-len(taken) // 61)]
    assert own.n_labelled == pytest.approx(number[taken].sum())
    assert own.labelled.mean() < np.average(model.decision_function(X[taken]), weights=number[taken]) - 0.05


def test_landmarks_depend_on_weights_as_on_one_machine(client):
    X, y = random_rows()
    weight = np.where(X[:, 0] > 0, 9.0, 1.0)
    parameters = {"lam": 1e-2, "approximation": "nystroem", "n_components": 20}
    plain = usmo.PUSVC(0.3, **parameters).fit(X, y, weight)
    model = PUSVC(0.3, **parameters).fit(lazy(X), lazy(y), weight)
    np.testing.assert_array_equal(model.support_, plain.support_)
    assert_equal_models(model, plain, X, atol=1e-3)


def test_a_gap_that_is_too_large_makes_the_solver_more_precise(client, monkeypatch):
    for user in ("fitting.kernel", "estimators.fit_warnings"):
        monkeypatch.setattr(f"usmo.{user}.meets_tolerance", lambda *args: False)
    asked, solve = [], block_fit.blocks.solve
    monkeypatch.setattr(
        block_fit.blocks, "solve", lambda *a, tol, **k: asked.append(tol) or solve(*a, tol=tol, **k)
    )
    X, y = random_rows(n=300, p=40)
    with pytest.warns(ConvergenceWarning):
        PUSVC(0.3, lam=1e-2).fit(lazy(X, (100, 240)), lazy(y, (100, 240)))
    assert len(asked) > 1
    assert (np.diff(asked) < 0).all()


def test_only_rows_of_working_sets_and_of_the_support_are_sent(client, monkeypatch):
    """Whole rows are sent only if they are labelled, if their σ changes, or at the end if they are in the support or in
    the sample that probabilities are calibrated on."""
    records = accounts(monkeypatch)
    X, y = random_rows(n=4000)
    chunks = (1000, 7, 1600, 1543)
    model = PUSVC(0.3, lam=1e-3).fit(lazy(X, chunks), lazy(y, chunks))
    ((_, answered),) = records
    row = 4 * 5 + 4  # float32 values and the norm
    # a row is sent whenever its kernel row is computed, over all rows or over those of a subsample
    assert answered["rows_at"] <= row * 1.35 * (model.kernel_rows_ - y.sum())
    assert answered["_rows_at"] == 8 * 5 * len(model.support_)  # for the certificate and the model
    # of every second unlabelled row the columns, number, f and weight; of labelled rows the columns are here already
    assert answered["_some_rows"] == (5 + 3) * 8 * 2000 + 3 * 8 * y.sum()


def test_parameters_that_do_not_work_on_a_cluster_are_refused(client):
    X, y = random_rows(n=300, p=30)
    chunks = (100, 100, 130)
    for parameters, message in (
        ({"kernel": "linear"}, r"kernel='linear' is not for a cluster; usmo.dask.LinearPUSVC"),
        ({"kernel": "precomputed"}, r"kernel='precomputed' is not for a cluster"),
        ({"solver": "qp"}, r"solver must be 'auto' or 'blocks' on a cluster, got 'qp'"),
        ({"warm_start": True}, r"warm_start does not work on a cluster"),
        ({"approximation": "rff", "kernel": "poly"}, r"approximation='rff' needs kernel='rbf'"),
        ({"kernel": "poly", "degree": 200, "gamma": 1e3}, r"the kernel overflows on these rows"),
    ):
        with pytest.raises(ValueError, match=message):
            PUSVC(0.3, **parameters).fit(lazy(X, chunks), lazy(y, chunks))


def test_selection_runs_on_the_cluster_through_joblib(client):
    X, y = random_rows(n=400, p=60)
    search = PUSVCCV(usmo.PUSVC(0.3), lams=[0.1, 0.01], gammas=[0.5, 1.0])
    local = search.fit(X, y).cv_results_
    before = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)
    with joblib.parallel_config("dask"):
        remote = search.fit(X, y).cv_results_
    assert client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter) > before
    for name in local:
        np.testing.assert_allclose(remote[name], local[name], rtol=1e-9)

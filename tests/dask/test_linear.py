"""LinearPUSVC on a Dask cluster: the optimum of one machine, for all collections, and what is sent."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import usmo
from tests.dask.clusters import CHUNKS, accounts, assert_equal_models, lazy, lazy_csr, random_rows
from usmo.dask import LinearPUSVC, linear_fit
from usmo.dask.cluster import payload
from usmo.solvers import linear


@pytest.mark.parametrize("collection", ["dense", "float32", "csr", "frame", "columns in two chunks"])
@pytest.mark.parametrize("scenario", ["case-control", "censored"])
def test_linear_optimum_is_that_of_one_machine(client, collection, scenario):
    X, y = random_rows()
    dX, dy = lazy(X), lazy(y)
    if collection == "float32":
        X = X.astype(np.float32)
        dX = lazy(X)
    if collection == "csr":
        X = np.where(np.abs(X) > 1.0, X, 0.0)
        dX, X = lazy_csr(X), sparse.csr_matrix(X)
    if collection == "frame":
        X = pd.DataFrame(X, columns=list("abcde"))
        dX, dy = dd.from_pandas(X, npartitions=3), dd.from_pandas(pd.Series(y), npartitions=3)
    if collection == "columns in two chunks":
        dX = da.from_array(X, chunks=(CHUNKS, (2, 3)))
    plain = usmo.LinearPUSVC(0.3, lam=1e-3, tol=1e-6, scenario=scenario).fit(X, y)
    model = LinearPUSVC(0.3, lam=1e-3, tol=1e-6, scenario=scenario).fit(dX, dy)
    assert_equal_models(model, plain, X)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-6)
    assert model.n_features_in_ == 5
    if collection == "frame":
        assert model.feature_names_in_.tolist() == list("abcde")


@pytest.mark.parametrize("collection", ["dense", "csr"])
@pytest.mark.parametrize("gathered", [2.0**23, 5000.0])
@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_newton_optimum_of_wide_blocks_is_that_of_one_machine(client, collection, gathered, solver, monkeypatch):
    """Also with more columns than the interior point takes, and where few rows may be gathered."""
    monkeypatch.setattr("usmo.solvers.newton_shard_rows.GATHERED", gathered)
    width = 6000 if collection == "csr" else 60
    S = sparse.random(1350, width, density=20 / width, format="csr", random_state=0)
    score = S @ np.random.default_rng(0).normal(size=width)
    y = ((score > np.quantile(score, 0.7)) & (np.arange(1350) % 3 == 0)).astype(int)
    X = S if collection == "csr" else S.toarray()
    dX = lazy_csr(S.toarray()) if collection == "csr" else lazy(X)
    plain = usmo.LinearPUSVC(0.3, lam=1e-2, tol=1e-5).fit(X, y)
    model = LinearPUSVC(0.3, lam=1e-2, tol=1e-5, solver=solver).fit(dX, lazy(y))
    assert model.history_[0].kind == "round"
    assert_equal_models(model, plain, X, atol=1e-4)


def test_the_interior_point_refuses_wide_blocks(client):
    X = sparse.random(1350, 5000, density=0.01, format="csr", random_state=0).toarray()
    with pytest.raises(ValueError, match=r"takes at most 4000 columns, got 5000: use solver='newton'"):
        LinearPUSVC(0.3, solver="interior-point").fit(lazy_csr(X), lazy((np.arange(1350) % 10 == 0).astype(int)))


def test_weights_and_labels_as_arrays_of_this_process(client):
    """y and weights may be arrays of this process or lazy. Rows of weight zero are left out."""
    X, y = random_rows()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    plain = usmo.LinearPUSVC(0.3, lam=1e-3, tol=1e-5).fit(X, y, weight)
    for y_and_weight in ((y, weight), (lazy(y), lazy(weight)), (lazy(np.where(y, "yes", "no")), weight)):
        model = LinearPUSVC(0.3, lam=1e-3, tol=1e-5).fit(lazy(X), *y_and_weight)
        np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-6)
        assert model.threshold_ == pytest.approx(plain.threshold_, abs=1e-6)
    assert set(model.predict(lazy(X)).compute()) == {"yes", "no"}


def test_sample_and_rounds_on_some_rows_lead_to_the_same_optimum(client, monkeypatch):
    monkeypatch.setattr(linear, "_SAMPLE", 300)
    X, y = random_rows(n=20_000)
    chunks = (3000, 9000, 8150)
    plain = usmo.LinearPUSVC(0.3, lam=1e-3, tol=1e-7).fit(X, y)
    model = LinearPUSVC(0.3, lam=1e-3, tol=1e-7).fit(lazy(X, chunks), lazy(y, chunks))
    assert_equal_models(model, plain, X)


def test_weights_of_very_different_size(client):
    X, y = random_rows(n=400, p=60)
    chunks = (100, 160, 200)
    weight = np.where(y, 1e-200, 1e150)
    plain = usmo.LinearPUSVC(0.3, lam=1e-3, tol=1e-5).fit(X, y, weight)
    model = LinearPUSVC(0.3, lam=1e-3, tol=1e-5).fit(lazy(X, chunks), lazy(y, chunks), weight)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-8)


def test_probabilities_do_not_depend_on_the_blocks(client, monkeypatch):
    monkeypatch.setattr(linear_fit, "CALIBRATED_P", 200)
    monkeypatch.setattr(linear_fit, "CALIBRATED_U", 600)
    X, y = random_rows(n=4000, p=400)
    order = np.argsort(X[:, 0])
    X, y = X[order], y[order]
    plain = usmo.LinearPUSVC(0.3, lam=1e-3).fit(X, y)
    model = LinearPUSVC(0.3, lam=1e-3).fit(lazy(X, (4100, 300)), lazy(y, (4100, 300)))
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=0.05)


def test_prior_and_lambda_are_chosen_on_a_sample(client):
    X, y = random_rows()
    model = LinearPUSVC(lam="cv").fit(lazy(X), lazy(y))
    plain = usmo.LinearPUSVC(lam="cv").fit(X, y)
    assert model.prior_ == pytest.approx(plain.prior_, abs=1e-9)  # all rows are in the sample
    assert model.lam_ == plain.lam_
    assert_equal_models(model, plain, X, atol=1e-2)


def test_iteration_sends_r_squared_numbers_per_block(client, monkeypatch):
    records = accounts(monkeypatch)
    X, y = random_rows()
    model = LinearPUSVC(0.3, lam=1e-3).fit(lazy(X), lazy(y))
    ((account, answered),) = records
    r, blocks = 5, 4
    assert account["move"].calls == model.n_iter_
    moved = sum(answered[name] + account[name].asked for name in ("move", "predict", "correct"))
    assert moved <= model.n_iter_ * blocks * 10 * (r * r + r) * 8
    assert answered["move"] == model.n_iter_ * 2 * ((r + 3) * (r + 1) + 2) * 8  # two workers of one thread
    assert payload([np.zeros(3), sparse.eye(4, format="csr"), 1.0, {"a": 2}]) == 24 + 4 * 8 + 4 * 4 + 5 * 4 + 16


def test_callbacks_get_every_round(client):
    pytest.importorskip("sklearn.callback")
    X, y = random_rows()
    calls = []

    class Recorder:
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None, metadata=None):
            if metadata:
                calls.append((metadata["violation"], fitted_estimator.decision_function(X)))

        def teardown(self, estimator, context):
            pass

    model = LinearPUSVC(0.3, threshold=0.0).set_callbacks(Recorder()).fit(lazy(X, CHUNKS), lazy(y, CHUNKS))
    assert [violation for violation, _ in calls] == [record.violation for record in model.history_]
    np.testing.assert_allclose(calls[-1][1], model.decision_function(X), atol=1e-3)

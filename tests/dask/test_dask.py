"""The classifiers on a Dask cluster: the optimum of one machine, lazy predictions, clear errors, what moves."""

import dask.array as da
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import usmo
import usmo.dask
from tests.dask.clusters import CHUNKS, accounts, assert_equal_models, lazy, lazy_csr, rows, threads
from usmo.dask import PUSVC, LinearPUSVC
from usmo.dask.cluster import payload
from usmo.fitting.select import PUSVCCV


@pytest.fixture(scope="module")
def client():
    with threads() as client:
        yield client


@pytest.mark.parametrize("kind", ["dense", "float32", "csr", "frame", "columns in two chunks"])
@pytest.mark.parametrize("scenario", ["case-control", "censored"])
def test_linear_optimum_is_that_of_one_machine(client, kind, scenario):
    X, y = rows()
    dX, dy = lazy(X), lazy(y)
    if kind == "float32":
        X = X.astype(np.float32)
        dX = lazy(X)
    if kind == "csr":
        X = np.where(np.abs(X) > 1.0, X, 0.0)
        dX, X = lazy_csr(X), sparse.csr_matrix(X)
    if kind == "frame":
        X = pd.DataFrame(X, columns=list("abcde"))
        dX, dy = dd.from_pandas(X, npartitions=3), dd.from_pandas(pd.Series(y), npartitions=3)
    if kind == "columns in two chunks":
        dX = da.from_array(X, chunks=(CHUNKS, (2, 3)))
    plain = usmo.LinearPUSVC(0.3, lam=1e-3, tol=1e-5, scenario=scenario).fit(X, y)
    model = LinearPUSVC(0.3, lam=1e-3, tol=1e-5, scenario=scenario).fit(dX, dy)
    assert_equal_models(model, plain, X)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-6)
    assert model.n_features_in_ == 5
    if kind == "frame":
        assert model.feature_names_in_.tolist() == list("abcde")


def test_linear_with_weights_and_labels_from_here(client):
    """Weights of zero take rows out; y and weights may be arrays here while the rows are there."""
    X, y = rows()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    plain = usmo.LinearPUSVC(0.3, lam=1e-3, tol=1e-5).fit(X, y, weight)
    for given in ((y, weight), (lazy(y), lazy(weight)), (lazy(np.where(y, "yes", "no")), weight)):
        model = LinearPUSVC(0.3, lam=1e-3, tol=1e-5).fit(lazy(X), *given)
        np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-6)
        assert model.threshold_ == pytest.approx(plain.threshold_, abs=1e-6)
    assert set(model.predict(lazy(X)).compute()) == {"yes", "no"}


def test_rows_narrowed_and_sampled_on_the_cluster_lead_to_the_same_optimum(client, monkeypatch):
    from usmo.solvers import linear

    monkeypatch.setattr(linear, "_SAMPLE", 300)
    X, y = rows(n=20_000)
    chunks = (3000, 9000, 8150)
    plain = usmo.LinearPUSVC(0.3, lam=1e-3, tol=1e-5).fit(X, y)
    model = LinearPUSVC(0.3, lam=1e-3, tol=1e-5).fit(lazy(X, chunks), lazy(y, chunks))
    assert_equal_models(model, plain, X)


KERNELS = {
    "rbf": {},
    "gamma": {"gamma": 0.7},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "callable": {"kernel": lambda A, B: (A @ B.T + 1.0) ** 2},
    "censored": {"scenario": "censored"},
    "nystroem": {"approximation": "nystroem", "n_components": 60},
    "rff": {"approximation": "rff", "n_components": 60},
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_optimum_is_that_of_one_machine(client, name):
    """Support, objective, certificate and account; 4,000 rows start from a subsample."""
    X, y = rows(n=4000)
    chunks = (1000, 7, 1600, 1543)
    parameters = {"lam": 1e-3, "tol": 1e-4, **KERNELS[name]}
    plain = usmo.PUSVC(0.3, **parameters).fit(X, y)
    model = PUSVC(0.3, **parameters).fit(lazy(X, chunks), lazy(y, chunks))
    assert_equal_models(model, plain, X, atol=1e-3)
    assert model.kernel_rows_ == pytest.approx(plain.kernel_rows_, rel=0.02)
    if name == "rff":
        assert not hasattr(model, "support_")
        return
    if name == "nystroem":
        assert model.approximation_.changed == pytest.approx(plain.approximation_.changed, abs=0.01)
    assert len(np.setxor1d(model.support_, plain.support_)) <= 0.002 * len(plain.support_)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


@pytest.mark.parametrize("kind", ["csr", "frame", "weights"])
def test_kernel_takes_every_kind_of_block(client, kind):
    X, y = rows(n=1500)
    chunks = (400, 7, 700, 543)
    dX, dy, weight = lazy(X, chunks), lazy(y, chunks), None
    if kind == "csr":
        X = np.where(np.abs(X) > 1.0, X, 0.0)
        dX = lazy(X, chunks).map_blocks(sparse.csr_matrix, dtype=float, meta=sparse.csr_matrix((0, 0)))
        X = sparse.csr_matrix(X)
    if kind == "frame":
        X = pd.DataFrame(X, columns=list("abcde"))
        dX, dy = dd.from_pandas(X, npartitions=3), dd.from_pandas(pd.Series(y), npartitions=3)
    if kind == "weights":
        weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    plain = usmo.PUSVC(0.3, lam=1e-3, tol=1e-5).fit(X, y, weight)
    model = PUSVC(0.3, lam=1e-3, tol=1e-5).fit(dX, dy, weight)
    assert_equal_models(model, plain, X, atol=1e-4)
    if kind != "csr":  # which has equal rows: the optimum does not say which of them has how much σ
        assert len(np.setxor1d(model.support_, plain.support_)) <= 0.002 * len(plain.support_)
    assert type(model.local()) is usmo.PUSVC
    np.testing.assert_allclose(model.decision_function(dX).compute(), plain.decision_function(X), atol=1e-4)


def test_kernel_rows_that_move_are_the_working_sets(client, monkeypatch):
    """With d columns go the labelled rows, the rows whose σ change, and in the end the support."""
    teams = accounts(monkeypatch)
    X, y = rows(n=4000)
    chunks = (1000, 7, 1600, 1543)
    model = PUSVC(0.3, lam=1e-3).fit(lazy(X, chunks), lazy(y, chunks))
    ((_, answered),) = teams
    row = 4 * 5 + 4  # float32, with its norm
    # a row is handed out whenever its kernel row is computed, over all rows or over those of a subsample
    assert answered["rows_of"] <= row * 1.35 * (model.kernel_rows_ - y.sum())
    assert answered["_rows_at"] == 8 * 5 * len(model.support_)  # for the certificate and the model


def test_what_is_not_for_a_cluster_is_refused(client):
    X, y = rows(n=300, p=30)
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


def test_prior_and_lam_are_found_from_a_sample(client):
    X, y = rows()
    model = LinearPUSVC(lam="cv").fit(lazy(X), lazy(y))
    plain = usmo.LinearPUSVC(lam="cv").fit(X, y)
    assert model.prior_ == pytest.approx(plain.prior_, abs=1e-9)  # all rows are in the sample
    assert model.lam_ == plain.lam_
    assert_equal_models(model, plain, X, atol=1e-2)


def test_predictions_are_lazy_and_those_of_the_model(client, tmp_path):
    X, y = rows()
    names = pd.DataFrame(X, columns=list("abcde"))
    model = LinearPUSVC(0.3).fit(lazy(X), lazy(y))
    f = model.decision_function(X)
    dX, frame = lazy(X), dd.from_pandas(names, npartitions=4)
    for table in (dX, frame, dX.rechunk((500, 2)), lazy_csr(X)):
        for method in ("decision_function", "predict", "predict_proba"):
            found = getattr(model, method)(table)
            assert hasattr(found, "dask")
            np.testing.assert_allclose(found.compute(), getattr(model, method)(X), atol=1e-12)
    which, scores = model.rank(dX, 10)
    best = np.argsort(-f)[:10]
    assert which.compute().tolist() == best.tolist()
    np.testing.assert_allclose(scores.compute(), f[best])
    ranked = model.rank(frame, 10).compute()
    assert ranked.index.tolist() == best.tolist()
    np.testing.assert_allclose(ranked["score"], f[best])
    model.save(tmp_path / "model.usmo")
    again = usmo.load(tmp_path / "model.usmo")
    assert type(again) is usmo.LinearPUSVC
    np.testing.assert_array_equal(again.decision_function(X), f)


def bad(**change):
    X, y = rows()
    parts = {"X": [X[:500], X[500:1000], X[1000:]], "y": [y[:500], y[500:1000], y[1000:]]}
    for name, (k, value) in change.items():
        parts[name][k] = value(parts[name][k])
    import dask

    def array(name, columns):
        shape = (np.nan, columns) if columns else (np.nan,)
        pieces = [da.from_delayed(dask.delayed(part), shape=shape, dtype=float) for part in parts[name]]
        return da.concatenate(pieces, allow_unknown_chunksizes=True)

    return array("X", 5), array("y", 0)


def with_nan(X):
    X = X.copy()
    X[17, 3] = np.nan
    return X


ERRORS = {
    "NaN": (lambda: bad(X=(1, with_nan)), r"partition 1 of X contains NaN or infinity"),
    "width": (
        lambda: bad(X=(2, lambda X: X[:, :4])),
        r"partition 2 of X must have 5 columns, got shape \(350, 4\)",
    ),
    "empty": (
        lambda: bad(X=(0, lambda X: X[:0]), y=(0, lambda y: y[:0])),
        r"partition 0 of X has no rows: repartition the table",
    ),
    "short y": (lambda: bad(y=(1, lambda y: y[:-1])), r"partition 1 of X has 500 rows, y has shape \(499,\)"),
    "one class": (lambda: (lazy(rows()[0]), lazy(np.zeros(1350))), r"y must hold two values.*got 1: \[0.0\]"),
    "three classes": (lambda: (lazy(rows()[0]), lazy(np.arange(1350) % 3)), r"y must hold two values.*got 3"),
    "length of y": (
        lambda: (lazy(rows()[0]), np.zeros(7)),
        r"y must have one value per row, 1350; got shape \(7,\)",
    ),
    "parts of y": (
        lambda: (lazy(rows()[0]), da.from_array(rows()[1], chunks=1000)),
        r"y must be in the same 4 parts as X, got 2: rechunk or repartition it",
    ),
    "text": (
        lambda: (dd.from_pandas(pd.DataFrame({"a": ["x", "y"] * 20}), npartitions=2), np.zeros(40)),
        r"X must hold numbers, got column 'a'",
    ),
    "shape": (lambda: (da.zeros(10), np.zeros(10)), r"X must be a table of known width, got shape \(10,\)"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_bad_tables_are_refused_before_any_work(client, name):
    make, message = ERRORS[name]
    with pytest.raises(ValueError, match=message):
        LinearPUSVC(0.3).fit(*make())


def test_other_errors_name_what_is_wrong(client, tmp_path):
    X, y = rows()
    with pytest.raises(ValueError, match=r"The 'prior' parameter of LinearPUSVC.* Got 2"):
        LinearPUSVC(2).fit(lazy(X), lazy(y))
    with pytest.raises(ValueError, match=r"checkpoint must lie in an existing folder"):
        LinearPUSVC(0.3, checkpoint=tmp_path / "no" / "x").fit(lazy(X), lazy(y))
    with pytest.raises(ValueError, match=r"the products of these rows are too large"):
        LinearPUSVC(0.3).fit(lazy(1e100 * X), lazy(y))
    with pytest.raises(
        ValueError, match=r"sample_weight must be finite and not negative, which partition 0 is not"
    ):
        LinearPUSVC(0.3).fit(lazy(X), lazy(y), lazy(-np.ones(len(y))))
    with pytest.raises(ValueError, match=r"sample_weight leaves only one class: no labelled positive row"):
        LinearPUSVC(0.3).fit(lazy(X), lazy(y), lazy(1.0 - y))
    with pytest.raises(NotFittedError):
        LinearPUSVC(0.3).predict(lazy(X))
    model = LinearPUSVC(0.3).fit(lazy(X), lazy(y))
    with pytest.raises(ValueError, match=r"X must have 5 columns, got 4"):
        model.decision_function(lazy(X[:, :4]))
    with pytest.raises(TypeError, match=r"rank needs a Dask collection, got ndarray"):
        model.rank(X)
    with pytest.raises(ValueError, match=r"top must be an integer, at least 1, got 0"):
        model.rank(lazy(X), 0)


def test_without_a_cluster_the_error_says_how_to_get_one():
    X, y = rows()
    from distributed import client as module

    if module._get_global_client() is not None:
        pytest.skip("another test's cluster is up")
    with pytest.raises(
        ValueError, match=r"a Dask collection needs a cluster: from dask.distributed import Client"
    ):
        LinearPUSVC(0.3).fit(lazy(X), lazy(y))


def test_an_iteration_moves_r_squared_numbers_per_block(client, monkeypatch):
    teams = accounts(monkeypatch)
    X, y = rows()
    model = LinearPUSVC(0.3, lam=1e-3).fit(lazy(X), lazy(y))
    ((account, answered),) = teams
    r, blocks = 5, 4
    assert account["move"].calls == model.n_iter_
    moved = sum(answered[name] + account[name].asked for name in ("move", "predict", "correct"))
    assert moved <= model.n_iter_ * blocks * 10 * (r * r + r) * 8
    assert answered["move"] == model.n_iter_ * 2 * ((r + 3) * (r + 1) + 2) * 8  # two workers of one thread
    assert payload([np.zeros(3), sparse.eye(4, format="csr"), 1.0, {"a": 2}]) == 24 + 4 * 8 + 4 * 4 + 5 * 4 + 16


def test_selection_runs_on_the_cluster_through_joblib(client):
    X, y = rows(n=400, p=60)
    search = PUSVCCV(usmo.PUSVC(0.3), lams=[0.1, 0.01], gammas=[0.5, 1.0])
    here = search.fit(X, y).cv_results_
    before = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)
    with joblib.parallel_config("dask"):
        there = search.fit(X, y).cv_results_
    assert client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter) > before
    for name in here:
        np.testing.assert_allclose(there[name], here[name], rtol=1e-9)

"""Predictions for Dask collections: lazy, and equal to those of the model on one machine."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import usmo
from tests.dask.clusters import lazy, lazy_csr, processes, random_rows
from usmo.dask import PUSVC, LinearPUSVC


def test_predictions_are_lazy_and_those_of_the_model(client, tmp_path):
    X, y = random_rows()
    names = pd.DataFrame(X, columns=list("abcde"))
    model = LinearPUSVC(0.3).fit(lazy(X), lazy(y))
    f = model.decision_function(X)
    dX, frame = lazy(X), dd.from_pandas(names, npartitions=4)
    for table in (dX, frame, dX.rechunk((500, 2)), lazy_csr(X)):
        for method in ("decision_function", "predict", "predict_proba"):
            prediction = getattr(model, method)(table)
            assert hasattr(prediction, "dask")
            np.testing.assert_allclose(prediction.compute(), getattr(model, method)(X), atol=1e-12)
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


def test_rank_of_all_rows_and_bad_numbers_of_rows(client):
    X, y = random_rows()
    model = LinearPUSVC(0.3).fit(lazy(X), lazy(y))
    f = model.decision_function(X)
    for top in (1350, 2000):
        which, scores = model.rank(lazy(X), top)
        assert sorted(which.compute()) == list(range(1350))
        # values, not row numbers: equal rows may come in any order
        np.testing.assert_allclose(f[which.compute()], np.sort(f)[::-1], atol=1e-12)
        np.testing.assert_allclose(scores.compute(), np.sort(f)[::-1], atol=1e-12)
    with pytest.raises(ValueError, match=r"top must be an integer, at least 1, got 2.5"):
        model.rank(lazy(X), 2.5)
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c", "d", "score"]), npartitions=2)
    with pytest.raises(ValueError, match=r"X must have no column 'score'"):
        model.rank(frame)


def test_column_numbers_are_not_stored_as_names(client):
    X, y = random_rows()
    frame = pd.DataFrame(X)
    model = LinearPUSVC(0.3).fit(dd.from_pandas(frame, npartitions=2), dd.from_pandas(pd.Series(y), npartitions=2))
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_allclose(model.local().decision_function(frame), model.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("kernel", ["forest", "forest+rbf"])
def test_models_of_learned_trees_predict_on_the_cluster(client, kernel, tmp_path):
    X, y = random_rows()
    frame = pd.DataFrame(X, columns=list("abcde"))
    local = usmo.PUSVC(0.3, kernel=kernel, n_trees=20).fit(frame[::3], y[::3])
    local.save(tmp_path / "model.usmo")
    model = PUSVC.from_local(usmo.load(tmp_path / "model.usmo"))
    assert model.get_params() == local.get_params()
    f = local.decision_function(frame)
    for table in (lazy(X), dd.from_pandas(frame, npartitions=4)):
        np.testing.assert_allclose(model.decision_function(table).compute(), f, atol=1e-12)
        np.testing.assert_allclose(model.predict_proba(table).compute(), local.predict_proba(frame), atol=1e-12)
    which, _ = model.rank(lazy(X), 10)
    np.testing.assert_allclose(f[which.compute()], np.sort(f)[::-1][:10], atol=1e-12)
    model.save(tmp_path / "again.usmo")
    assert (tmp_path / "again.usmo").read_bytes() == (tmp_path / "model.usmo").read_bytes()


def test_linear_models_of_one_machine_predict_and_adapt_on_the_cluster(client):
    X, y = random_rows()
    local = usmo.LinearPUSVC(0.3).fit(X, y)
    model = LinearPUSVC.from_local(local)
    np.testing.assert_allclose(model.decision_function(lazy(X)).compute(), local.decision_function(X), atol=1e-12)
    frame = dd.from_pandas(pd.DataFrame(X[:400]), npartitions=3)
    expected = local.adapt(X[:400])
    for table in (lazy(X)[:400], frame):
        adapted = model.adapt(table)
        assert type(adapted) is LinearPUSVC
        np.testing.assert_allclose([adapted.prior_, adapted.threshold_], [expected.prior_, expected.threshold_])


def test_model_files_are_read_by_worker_processes(tmp_path):
    X, y = random_rows()
    local = usmo.PUSVC(0.3, kernel="forest+rbf", n_trees=20).fit(X, y)
    path = tmp_path / "model.usmo"
    local.save(path)

    def scored(part):
        return usmo.load(path).decision_function(part)

    with processes():
        values = lazy(X).map_blocks(scored, drop_axis=1, meta=np.empty(0)).compute()
        sent = PUSVC.from_local(local).decision_function(lazy(X)).compute()
    np.testing.assert_allclose(values, local.decision_function(X), atol=1e-12)
    np.testing.assert_allclose(sent, local.decision_function(X), atol=1e-12)


def test_only_fitted_models_of_one_machine_become_those_of_a_cluster():
    X, y = random_rows()
    with pytest.raises(TypeError, match="model must be a PUSVC of usmo, got LinearPUSVC"):
        PUSVC.from_local(usmo.LinearPUSVC(0.3).fit(X, y))
    with pytest.raises(NotFittedError):
        PUSVC.from_local(usmo.PUSVC(0.3))

"""Predictions for Dask collections: lazy, and equal to those of the model on one machine."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import usmo
from tests.dask.clusters import lazy, lazy_csr, random_rows, threads
from usmo.dask import LinearPUSVC


@pytest.fixture(scope="module")
def client():
    with threads() as client:
        yield client


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

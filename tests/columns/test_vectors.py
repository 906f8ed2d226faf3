"""Columns of vectors are standardised as a block whose rows have mean squared length 1."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.pipeline import Pipeline

import usmo
from tests.files.models import saved
from usmo.columns import TableEncoder
from usmo.files import ModelFileError
from usmo.io import TableError

X = np.random.default_rng(0).normal(3, 5, (40, 6))


def table(frame=pl.DataFrame, rows=None, **more):
    return frame({"v": [row.tolist() for row in X] if rows is None else rows, **more})


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_vectors_are_dense_columns(frame):
    encoder = TableEncoder(embedding_columns=["v"]).fit(table(frame))
    Z = encoder.transform(table(frame))
    np.testing.assert_allclose(Z, (X - X.mean(axis=0)) / X.std(axis=0) / 6**0.5)
    assert np.mean((Z**2).sum(axis=1)) == pytest.approx(1)
    assert encoder.summary() == ["v: vectors of 6 numbers"]
    assert encoder.get_feature_names_out().tolist() == [f"v[{i}]" for i in range(6)]


def test_missing_vectors_are_the_average_one_and_numbers_beside_them_do_not_drown():
    rows = [None if i == 3 else row.tolist() for i, row in enumerate(X)]
    mixed = table(rows=rows, x=[float(i % 7) * 1000 for i in range(40)])
    encoder = TableEncoder(embedding_columns=["v"]).fit(mixed)
    Z = encoder.transform(mixed)
    assert not Z[3, :6].any()
    assert encoder.summary()[0] == "v: vectors of 6 numbers, 1 missing"
    assert Z[:, 6].std() == pytest.approx(np.linalg.svd(Z[:, :6])[1][0] / 40**0.5, rel=0.1)
    assert encoder.transform(pl.DataFrame({"v": [X[0].astype(int).tolist()], "x": [1.0]})).shape == (1, 7)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.0, 2.0], [1.0]], "holds 1 numbers, others 2"),
        ([[1.0], []], "holds 0 numbers, others 1"),
        ([[], []], "holds 0 numbers, others 0"),
        ([[1.0, None], [1.0, 2.0]], "missing or infinite"),
        ([[1.0, np.inf], [1.0, 2.0]], "missing or infinite"),
        ([["a"], ["b"]], "must hold lists of numbers"),
        ([[[1.0]], [[2.0]]], "must hold lists of numbers"),
        ([None, None], "must hold lists of numbers|holds no list"),
    ],
)
def test_lists_that_are_no_vectors_are_refused(rows, message):
    with pytest.raises(TableError, match=message):
        TableEncoder(embedding_columns=["v"]).fit(table(rows=rows, x=[1.0, 2.0]))
    encoder = TableEncoder(embedding_columns=["v"]).fit(table())
    with pytest.raises(TableError):
        encoder.transform(table(rows=[[1.0] * 7]))


def test_a_file_keeps_them_exactly_and_forged_ones_are_refused(tmp_path):
    encoder, model = TableEncoder(embedding_columns=["v"]), usmo.LinearPUSVC(0.3, lam=0.1)
    pipeline = Pipeline([("columns", encoder), ("model", model)]).fit(table(), np.arange(40) < 10)
    loaded = usmo.load(saved(pipeline, tmp_path))
    np.testing.assert_array_equal(loaded[0].transform(table()), encoder.transform(table()))
    for scale in (np.zeros(6), np.ones(5), np.full(6, np.nan)):
        encoder.columns_[0]["scale"] = scale
        with pytest.raises(ModelFileError, match=r"columns_\[0\]\.scale"):
            saved(pipeline, tmp_path)

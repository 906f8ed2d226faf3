"""TableEncoder gives the same numbers for sheets, Polars, pandas and matrices, dense and CSR."""

import json
import warnings
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from tests.oracles import needs_data
from tests.tables import SMALL, bank_table
from usmo import LinearPUSVC
from usmo.columns import TableEncoder
from usmo.io import Sheet, TableError, labels, read, write


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def test_parameters_and_tables_of_another_kind_are_refused():
    for wrong in ({"max_categories": 1}, {"unknown": "drop"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            TableEncoder(**wrong).fit(np.eye(3))
    with pytest.raises(NotFittedError):
        TableEncoder().transform(np.eye(3))
    with pytest.raises(TableError, match=r"X holds values that are not numbers .*: give it as a data frame"):
        TableEncoder().fit([["a", 1]])
    with pytest.raises(TableError, match="X is a data frame, the encoder was fitted to a matrix"):
        TableEncoder().fit(np.eye(3)).transform(pl.DataFrame({"a": [1]}))
    with pytest.raises(TableError, match="several columns with the same name"):
        TableEncoder().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_columns_that_training_did_not_have_are_listed_and_ignored_ones_may_be_absent():
    encoder = TableEncoder().fit(pl.DataFrame({**SMALL, "same": [1, 1, 1]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = encoder.transform(pl.DataFrame(SMALL))
    with pytest.warns(UserWarning, match="columns that the training table did not have are ignored: 'new'"):
        encoded = encoder.transform(pl.DataFrame({"new": [1, 2, 3], **SMALL}))
    np.testing.assert_array_equal(encoded, expected)


def test_many_categories_give_a_csr_matrix_with_the_same_numbers():
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"x": rng.normal(size=3000), "w": [f"w{i}" for i in rng.integers(0, 300, 3000)]})
    wide = TableEncoder(max_categories=400).fit(table)
    Z = wide.transform(table)
    assert wide.sparse_output_
    assert Z.format == "csr"
    assert Z.nnz <= 2 * 3000
    wide.sparse_output_ = False
    np.testing.assert_array_equal(Z.toarray(), wide.transform(table))
    assert not TableEncoder().fit(table).sparse_output_


def test_matrices_are_only_scaled():
    rng = np.random.default_rng(0)
    X = rng.normal(3, 5, size=(50, 4))
    X[:, 3] = 7.0
    X[0, 0] = np.nan
    Z = TableEncoder().fit_transform(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=0), [1, 1, 1, 0], atol=1e-12)
    filled = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    np.testing.assert_allclose(Z[:, 0], (filled[:, 0] - filled[:, 0].mean()) / filled[:, 0].std())
    S = sparse.random(50, 6, 0.3, random_state=0, format="csr") * 40
    Z = TableEncoder().fit(S).transform(S)
    np.testing.assert_allclose(Z.toarray(), S.toarray() / abs(S).max(axis=0).toarray())


def test_matrix_sheets_leave_out_the_label_and_allow_columns_that_do_not_occur():
    S = sparse.csr_matrix(np.array([[1.0, 0, 4], [0, 2, 0]]))
    encoder = TableEncoder().fit(Sheet(S, beside={"label": np.array([1.0, -1.0])}))
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1", "x2"]
    np.testing.assert_allclose(encoder.transform(Sheet(S[:, :2])).toarray(), [[1, 0, 0], [0, 1, 0]])
    with pytest.raises(TableError, match="X has 2 features, but TableEncoder is expecting 3 features"):
        encoder.transform(S[:, :2])
    swapped = Sheet(np.array([[1.0, 10.0], [3.0, 30.0]]), ["a", "b"])
    plain = TableEncoder().fit(swapped)
    np.testing.assert_array_equal(
        plain.transform(Sheet(swapped.matrix[:, ::-1].copy(), ["b", "a"])), plain.transform(swapped)
    )


def test_state_is_plain_and_a_copy_of_it_encodes_alike():
    def plain(value):
        if isinstance(value, np.ndarray):
            return value.dtype.kind in "fiub"
        return json.loads(json.dumps(value)) == value

    table = pl.DataFrame({**SMALL, "gap": [1, None, 2]})
    for X in (table, np.eye(3), sparse.csr_matrix(np.eye(3))):
        encoder = TableEncoder(max_categories=7).fit(X)
        assert all(plain(value) for value in vars(encoder).values())
        again = clone(encoder)
        assert again.max_categories == 7
        vars(again).update(vars(encoder))
        np.testing.assert_array_equal(dense(again.transform(X)), dense(encoder.transform(X)))


texts = st.text(alphabet="ab x?éZ", max_size=4)


cells = {
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "integer": st.integers(-(2**62), 2**62),
    "boolean": st.booleans(),
    "text": texts,
    "date": st.dates(),
    "time": st.datetimes(min_value=datetime(1700, 1, 1), max_value=datetime(2200, 1, 1)),
}


@st.composite
def tables(draw):
    rows = draw(st.integers(1, 12))
    columns = {}
    for i, kind in enumerate(draw(st.lists(st.sampled_from(sorted(cells)), min_size=1, max_size=4))):
        values = st.one_of(st.none(), cells[kind])
        columns[f"{kind}{i}"] = draw(st.lists(values, min_size=rows, max_size=rows))
    return columns


@given(tables(), st.integers(2, 5))
def test_any_mixed_table_gives_finite_numbers_and_the_same_from_every_frame(columns, most):
    encoder, table = TableEncoder(max_categories=most), pl.DataFrame(columns, strict=False)
    try:
        Z = dense(encoder.fit_transform(table))
    except TableError as error:
        assume("can be learnt from" not in str(error))
        raise
    assert Z.shape == (len(table), len(encoder.get_feature_names_out()))
    assert np.isfinite(Z).all()
    np.testing.assert_array_equal(dense(encoder.transform(Sheet(table))), Z)
    np.testing.assert_array_equal(dense(encoder.transform(pd.DataFrame(columns))), Z)
    for row in range(len(table)):
        np.testing.assert_array_equal(dense(encoder.transform(table[[row]]))[0], Z[row])


@needs_data
def test_bank_marketing_gives_the_same_numbers_from_file_polars_and_pandas(tmp_path):
    table = bank_table(1500, 0)
    write(table, tmp_path / "bank.csv")
    sheet = read(tmp_path / "bank.csv", text=["id", "known"])
    assert labels(sheet, "known", "yes").sum() == table["known"].is_not_null().sum() > 50
    encoder = TableEncoder().fit(sheet.drop(["known"]))
    kinds = {schema["name"]: schema["kind"] for schema in encoder.columns_}
    assert kinds["id"] == "ignored"
    assert kinds["since"] == "date"
    assert {n for n, kind in kinds.items() if kind == "category"} == {
        "job", "marital", "education", "contact", "month", "day_of_week", "poutcome"
    }  # fmt: skip
    assert sum(kind == "number" for kind in kinds.values()) == 10
    Z = encoder.transform(sheet.drop(["known"]))
    names = encoder.get_feature_names_out().tolist()
    assert "job=(missing)" in names
    numeric = [names.index(name) for name, kind in kinds.items() if kind in ("number", "date")]
    np.testing.assert_allclose(Z[:, numeric].std(axis=0), 1)
    jobs = [i for i, name in enumerate(names) if name.startswith("job=")]
    np.testing.assert_allclose(Z[:, jobs].sum(axis=1), np.sqrt(0.5))
    plain = table.drop("known")
    np.testing.assert_allclose(TableEncoder().fit_transform(plain), Z, atol=1e-12)
    np.testing.assert_allclose(TableEncoder().fit_transform(plain.to_pandas()), Z, atol=1e-12)


@needs_data
def test_pipeline_learns_from_a_file_with_text_and_gaps(tmp_path):
    table = bank_table(800, 1)
    write(table, tmp_path / "bank.parquet")
    sheet = read(tmp_path / "bank.parquet")
    known, rows = labels(sheet, "known", "yes") == 1, sheet.drop(["known"])
    model = Pipeline([("columns", TableEncoder(unknown="ignore")), ("model", LinearPUSVC(0.2, lam=1e-2))])
    scores = model.fit(rows, known).decision_function(rows)
    assert scores[known].mean() > scores[~known].mean()
    np.testing.assert_allclose(model.decision_function(rows.take([5, 3])), scores[[5, 3]])

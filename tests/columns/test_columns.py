"""TableEncoder: columns are recognised, numbers come out as computed by hand, strange rows are refused by name."""

import json
import warnings
from datetime import date, datetime, timedelta, timezone

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
from tests.tables import bank_table
from usmo import LinearPUSVC
from usmo.columns import TableEncoder
from usmo.io import Sheet, TableError, labels, read, write

ROOT = np.sqrt(0.5)


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def kinds(encoder):
    return {record["name"]: record["kind"] for record in encoder.columns_}


def why(encoder, name):
    return next(record["why"] for record in encoder.columns_ if record["name"] == name)


def test_numbers_categories_booleans_and_dates_as_computed_by_hand():
    table = pl.DataFrame(
        {
            "age": [20.0, None, 40.0, 90.0],
            "job": ["b", "a", None, "b"],
            "active": [True, False, None, True],
            "since": [date(1970, 1, 2), date(1970, 1, 4), None, date(1970, 1, 6)],
        }
    )
    encoder = TableEncoder().fit(table)
    ages, days = np.array([20.0, 40, 40, 90]), np.array([1.0, 3, 3, 5])
    by_hand = {
        "age": (ages - 47.5) / np.sqrt(np.mean((ages - 47.5) ** 2)),
        "age=(missing)": [0, 1, 0, 0],
        "job=a": [0, ROOT, 0, 0],
        "job=b": [ROOT, 0, 0, ROOT],
        "job=(missing)": [0, 0, ROOT, 0],
        "active": [1, 0, 1, 1],
        "active=(missing)": [0, 0, 1, 0],
        "since": (days - 3) / np.sqrt(2),
        "since=(missing)": [0, 0, 1, 0],
    }
    assert encoder.get_feature_names_out().tolist() == list(by_hand)
    np.testing.assert_allclose(encoder.transform(table), np.column_stack(list(by_hand.values())), atol=1e-14)


def test_two_categories_are_as_far_apart_as_true_and_false():
    Z = TableEncoder().fit_transform(pl.DataFrame({"a": ["x", "y", "z"], "b": [True, False, True]}))
    assert np.linalg.norm(Z[0, :3] - Z[1, :3]) == pytest.approx(abs(Z[0, 3] - Z[1, 3]))


def test_kinds_are_recognised_in_text_too():
    n = 40
    table = pl.DataFrame(
        {
            "number": [f" {i % 7}.5" for i in range(n)],
            "comma": [f"{i % 7},5" for i in range(n)],
            "few": [i % 2 for i in range(n)],
            "truth": ["True" if i % 3 else "FALSE" for i in range(n)],
            "day": [f"2024-02-{i % 20 + 1:02d}" for i in range(n)],
            "time": [f"2024-02-01T10:{i % 50:02d}:00.5Z" for i in range(n)],
            "word": ["ab"[i % 2] for i in range(n)],
            "id": [f"c{i}" for i in range(n)],
            "row": list(range(5, n + 5)),
            "same": ["x"] * n,
            "one": [1.0] * n,
            "none": ["NA", None] * (n // 2),
            "list": [[i] for i in range(n)],
        }
    )
    encoder = TableEncoder().fit(table)
    assert kinds(encoder) == {
        "number": "number", "comma": "number", "few": "number", "truth": "boolean", "day": "date", "time": "date",
        "word": "category", "id": "ignored", "row": "ignored", "same": "ignored", "one": "ignored",
        "none": "ignored", "list": "ignored",
    }  # fmt: skip
    assert why(encoder, "id") == "text with 40 different values: looks like an id or free text"
    assert why(encoder, "row") == "counts the rows from 5: looks like an id"
    assert why(encoder, "same") == why(encoder, "one") == "constant"
    assert why(encoder, "none") == "all missing"
    assert why(encoder, "list") == "holds values of type List(Int64)"
    Z = encoder.transform(table)
    np.testing.assert_allclose(Z[:, 0], Z[:, 1], atol=1e-13)


def test_decimal_comma_of_training_decides_how_a_lone_thousand_is_read():
    encoder = TableEncoder().fit(pl.DataFrame({"x": ["0,5", "1,5", "2,5"]}))
    points = TableEncoder().fit(pl.DataFrame({"x": [0.5, 1.5, 2.5]}))
    np.testing.assert_allclose(
        encoder.transform(pl.DataFrame({"x": ["1,234"]})), points.transform(pl.DataFrame({"x": [1.234]}))
    )


def test_times_with_zones_and_fractions_are_days():
    texts = ["1970-01-02", "1970-01-02 12:00", "1970-01-03T01:00:00+01:00", "1970-01-02T00:00:00.25-0000"]
    by_hand = np.array([1.0, 1.5, 2.0, 1 + 0.25 / 86400])
    encoder = TableEncoder().fit(pl.DataFrame({"t": texts}))
    assert encoder.columns_[0]["kind"] == "date"
    np.testing.assert_allclose(
        encoder.transform(pl.DataFrame({"t": texts}))[:, 0], (by_hand - by_hand.mean()) / by_hand.std(), atol=1e-9
    )
    moments = [datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(days=days) for days in by_hand]
    for table in (pl.DataFrame({"t": moments}), pd.DataFrame({"t": moments})):
        np.testing.assert_allclose(
            encoder.transform(table), encoder.transform(pl.DataFrame({"t": texts})), atol=1e-9
        )


def test_rare_categories_share_a_column_and_new_ones_join_them():
    words = ["a"] * 9 + ["b"] * 6 + ["c"] * 3 + ["d", "e"] + [None]
    encoder = TableEncoder(max_categories=3).fit(pl.DataFrame({"w": words}))
    names = ["w=a", "w=b", "w=(other)", "w=(missing)"]
    assert encoder.get_feature_names_out().tolist() == names
    Z = encoder.transform(pl.DataFrame({"w": ["b", "c", "new", None]}))
    np.testing.assert_allclose(Z, ROOT * np.eye(4)[[1, 2, 2, 3]])
    assert encoder.summary() == ["w: 3 categories (the 2 most frequent of 5, and the rest), 1 missing"]


def test_missing_values_that_training_did_not_have_are_filled():
    train = pl.DataFrame({"x": [1.0, 2.0, 6.0], "w": ["a", "b", "a"], "b": [True, True, False]})
    encoder = TableEncoder().fit(train)
    Z = encoder.transform(pl.DataFrame({"x": [None, 2.0], "w": [None, "a"], "b": [None, True]}))
    assert encoder.get_feature_names_out().tolist() == ["x", "w=a", "w=b", "b"]
    np.testing.assert_allclose(Z[0], [Z[1, 0], 0, 0, 1])


def test_summary_says_what_was_recognised():
    table = pl.DataFrame(
        {
            "age": [36, 38, 40, None],
            "job": ["a", "b", "a", "b"],
            "since": ["2020-02-01", None, "2020-02-03", "2020-02-02"],
            "on": [True, None, True, False],
            "id": [None] * 4,
        }
    )
    assert TableEncoder().fit(table).summary() == [
        "age: number (1 missing → median 38)",
        "job: 2 categories",
        "since: date (1 missing → median 2020-02-02)",
        "on: boolean (1 missing → true)",
        "id: ignored, all missing",
    ]
    assert TableEncoder().fit(np.eye(3)).summary() == ["3 columns of a matrix, standardised"]


TRAIN = {
    "age": [20.0, 30.0, 45.5],
    "job": ["a", "b", "a"],
    "on": [True, False, True],
    "day": ["2020-01-01"] * 2 + ["2021-01-01"],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"job": ["a", "zz", "b"]}, r"row 1 \(counted from 0\): 'zz' in column 'job' is not in the training table "
         r"\(known: 'a', 'b'\): mend it, or give unknown='ignore'"),
        ({"age": ["20", "x", "3"]}, r"row 1 .*: 'x' in column 'age' is no number, as this column is in the"),
        ({"age": ["old", "young", "old"]}, "'old' in column 'age' is no number"),
        ({"age": [1.0, np.inf, 2.0]}, "row 1 .*: inf in column 'age' is infinite"),
        ({"on": ["true", "maybe", "false"]}, "'maybe' in column 'on' is no boolean"),
        ({"on": [0, 1, 2]}, "column 'on' holds number values, in the training table booleans"),
        ({"day": ["2020-01-01", "1/2/2020", ""]}, "'1/2/2020' in column 'day' is no date"),
        ({"day": [1, 2, 3]}, "column 'day' holds number values, in the training table dates"),
        ({"job": [[1], [2], [3]]}, r"column 'job' holds List\(Int64\) values, in the training table text"),
        ({"age": None, "Age": [1, 2, 3]}, r"no column 'age' in the table: did you mean 'Age'\?"),
    ],
)  # fmt: skip
def test_rows_unlike_the_training_table_are_refused_by_place_and_value(change, message):
    encoder = TableEncoder().fit(pl.DataFrame(TRAIN))
    table = pl.DataFrame({name: values for name, values in {**TRAIN, **change}.items() if values is not None})
    with pytest.raises(TableError, match=message):
        encoder.transform(table)


def test_values_of_another_type_but_the_same_meaning_are_taken():
    encoder = TableEncoder().fit(pl.DataFrame({**TRAIN, "code": ["1", "2", "x"]}))
    expected = encoder.transform(pl.DataFrame({**TRAIN, "code": ["1", "2", "1"]}))
    other = pl.DataFrame(
        {
            "age": ["20", "30.0", "45.5"],
            "job": pl.Series(["a", "b", "a"], dtype=pl.Categorical),
            "on": [1, 0, 1],
            "day": [date(2020, 1, 1), date(2020, 1, 1), date(2021, 1, 1)],
            "code": [1, 2, 1],
        }
    )
    np.testing.assert_array_equal(encoder.transform(other), expected)


def test_unknown_category_counts_as_none_on_demand():
    encoder = TableEncoder(unknown="ignore").fit(pl.DataFrame(TRAIN))
    Z = encoder.transform(pl.DataFrame({**TRAIN, "job": ["zz", "a", "b"]}))
    np.testing.assert_allclose(Z[:, 1:3], ROOT * np.array([[0, 0], [1, 0], [0, 1]]))


def test_sheet_errors_name_the_line(tmp_path):
    (tmp_path / "train.csv").write_text("age,job\n1,a\n2,b\n4,a\n")
    (tmp_path / "new.csv").write_text('age,job\n1,"a"\n2,zz\n')
    encoder = TableEncoder().fit(read(tmp_path / "train.csv"))
    with pytest.raises(TableError, match=r"new\.csv: line 3: 'zz' in column 'job' is not in the training table"):
        encoder.transform(read(tmp_path / "new.csv"))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([str(i) for i in range(30)] + ["n/a?"], r"row 30 .*: 'n/a\?' in column 'c' stands among numbers"),
        (
            [f"2020-01-{i:02d}" for i in range(1, 31)] + ["1.2.2020"],
            r"'1\.2\.2020' in column 'c' stands among dates",
        ),
        ([1.0] * 30 + [-np.inf], "row 30 .*: -inf in column 'c' is infinite"),
        (["x"] * 31, r"no column of the table can be learnt from \(c: ignored, constant\)"),
        ([], "has no rows"),
    ],
)
@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_tables_that_cannot_be_learnt_from_are_refused(frame, column, message):
    with pytest.raises(TableError, match=message):
        TableEncoder().fit(frame({"c": column}))


def test_parameters_and_tables_of_another_kind_are_refused():
    for wrong in ({"max_categories": 1}, {"unknown": "drop"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            TableEncoder(**wrong).fit(np.eye(3))
    with pytest.raises(NotFittedError):
        TableEncoder().transform(np.eye(3))
    with pytest.raises(TableError, match=r"X holds more than numbers .*: give it as a data frame"):
        TableEncoder().fit([["a", 1]])
    with pytest.raises(TableError, match="X is a data frame, the encoder was fitted to a matrix"):
        TableEncoder().fit(np.eye(3)).transform(pl.DataFrame({"a": [1]}))
    with pytest.raises(TableError, match="several columns of one name"):
        TableEncoder().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_columns_that_training_did_not_have_are_listed_and_ignored_ones_may_be_absent():
    encoder = TableEncoder().fit(pl.DataFrame({**TRAIN, "same": [1, 1, 1]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = encoder.transform(pl.DataFrame(TRAIN))
    with pytest.warns(UserWarning, match="columns that the training table did not have are ignored: 'new'"):
        found = encoder.transform(pl.DataFrame({"new": [1, 2, 3], **TRAIN}))
    np.testing.assert_array_equal(found, expected)


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
    found = TableEncoder().fit(S).transform(S)
    np.testing.assert_allclose(found.toarray(), S.toarray() / abs(S).max(axis=0).toarray())


def test_matrix_sheets_leave_out_the_label_and_allow_columns_that_do_not_occur():
    S = sparse.csr_matrix(np.array([[1.0, 0, 4], [0, 2, 0]]))
    encoder = TableEncoder().fit(Sheet(S, beside={"label": np.array([1.0, -1.0])}))
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1", "x2"]
    np.testing.assert_allclose(encoder.transform(Sheet(S[:, :2])).toarray(), [[1, 0, 0], [0, 1, 0]])
    with pytest.raises(TableError, match="X has 2 columns, the encoder was fitted to 3"):
        encoder.transform(S[:, :2])
    swapped = Sheet(np.array([[1.0, 10.0], [3.0, 30.0]]), ["a", "b"])
    plain = TableEncoder().fit(swapped)
    np.testing.assert_array_equal(
        plain.transform(Sheet(swapped.matrix[:, ::-1].copy(), ["b", "a"])), plain.transform(swapped)
    )


def test_huge_tiny_and_nearly_constant_numbers_stay_finite():
    table = pl.DataFrame(
        {
            "huge": [1.7e308, -1.7e308, 1e308, 0.0],
            "tiny": [5e-324, 1e-323, 0.0, 5e-324],
            "far": [1e16, 1e16 + 2, 1e16, 1e16 + 4],
            "gap": [3.0, None, 3.0, 3.0],
        }
    )
    Z = TableEncoder().fit_transform(table)
    assert np.isfinite(Z).all()
    assert Z[:, 0].std() == pytest.approx(1)
    np.testing.assert_array_equal(Z[:, 3:], [[0, 0], [0, 1], [0, 0], [0, 0]])
    encoder = TableEncoder().fit(pl.DataFrame({"x": [1e-300, 2e-300]}))
    with pytest.raises(TableError, match=r"1e\+300 in column 'x' is too large"):
        encoder.transform(pl.DataFrame({"x": [1e300]}))


def test_state_is_plain_and_a_copy_of_it_encodes_alike():
    def plain(value):
        if isinstance(value, np.ndarray):
            return value.dtype.kind in "fiub"
        return json.loads(json.dumps(value)) == value

    table = pl.DataFrame({**TRAIN, "gap": [1, None, 2]})
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
def test_bank_marketing_is_recognised_alike_in_file_polars_and_pandas(tmp_path):
    table = bank_table(1500, 0)
    write(table, tmp_path / "bank.csv")
    sheet = read(tmp_path / "bank.csv", text=["id", "known"])
    assert labels(sheet, "known", "yes").sum() == table["known"].is_not_null().sum() > 50
    encoder = TableEncoder().fit(sheet.drop(["known"]))
    found = kinds(encoder)
    assert found["id"] == "ignored"
    assert found["since"] == "date"
    assert {n for n, kind in found.items() if kind == "category"} == {
        "job", "marital", "education", "default", "housing", "loan", "contact", "month", "day_of_week", "poutcome"
    }  # fmt: skip
    assert sum(kind == "number" for kind in found.values()) == 10
    Z = encoder.transform(sheet.drop(["known"]))
    names = encoder.get_feature_names_out().tolist()
    assert "job=(missing)" in names
    numeric = [names.index(name) for name, kind in found.items() if kind in ("number", "date")]
    np.testing.assert_allclose(Z[:, numeric].std(axis=0), 1)
    jobs = [i for i, name in enumerate(names) if name.startswith("job=")]
    np.testing.assert_allclose(Z[:, jobs].sum(axis=1), ROOT)
    plain = table.drop("known")
    np.testing.assert_allclose(TableEncoder().fit_transform(plain), Z, atol=1e-12)
    np.testing.assert_allclose(TableEncoder().fit_transform(plain.to_pandas()), Z, atol=1e-12)


@needs_data
def test_pipeline_learns_from_a_file_with_text_and_gaps(tmp_path):
    table = bank_table(800, 1)
    write(table, tmp_path / "bank.parquet")
    sheet = read(tmp_path / "bank.parquet")
    known, rows = labels(sheet, "known", "yes"), sheet.drop(["known"])
    model = Pipeline([("columns", TableEncoder(unknown="ignore")), ("model", LinearPUSVC(0.2, lam=1e-2))])
    scores = model.fit(rows, known).decision_function(rows)
    assert scores[known].mean() > scores[~known].mean()
    np.testing.assert_allclose(model.decision_function(rows.take([5, 3])), scores[[5, 3]])

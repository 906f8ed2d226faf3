"""fit infers the kind of every column, says so, and refuses tables that cannot be learnt from."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from usmo.columns import TableEncoder
from usmo.io import TableError, read, write


def kinds(encoder):
    return {schema["name"]: schema["kind"] for schema in encoder.columns_}


def why(encoder, name):
    return next(schema["why"] for schema in encoder.columns_ if schema["name"] == name)


def test_kinds_are_inferred_from_text_too():
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
    assert why(encoder, "id") == "text with 40 different values: looks like ids, codes or names"
    assert why(encoder, "row") == "counts the rows from 5: looks like an id"
    assert why(encoder, "same") == why(encoder, "one") == "constant"
    assert why(encoder, "none") == "all missing"
    assert why(encoder, "list") == "holds values of type List(Int64)"
    Z = encoder.transform(table)
    np.testing.assert_allclose(Z[:, 0], Z[:, 1], atol=1e-13)


def test_summary_has_the_kind_and_the_missing_values_of_each_column():
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


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1.0] * 30 + [-np.inf], "row 30 .*: -inf in column 'c' is infinite"),
        (["x"] * 31, r"no column of the table can be learnt from \(c: ignored, constant\)"),
        ([], "has no rows"),
    ],
)
@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_tables_that_cannot_be_learnt_from_are_refused(frame, column, message):
    with pytest.raises(TableError, match=message):
        TableEncoder().fit(frame({"c": column}))


ISO = [f"2020-01-{i:02d}" for i in range(1, 31)]


@pytest.mark.parametrize(
    ("column", "decision"),
    [
        ([f"{i % 7}.5" for i in range(40)], "number"),
        ([f"{i % 7 + 1},234.5" for i in range(40)], "number"),
        ([f"{i % 7},5" for i in range(40)], "number"),
        (["1"] * 5 + ["2"] * 5 + ["x", "y"], "category"),
        (["true", "FALSE"] * 20, "boolean"),
        (ISO, "date"),
        ([f"{i}.5" for i in range(30)] + [">50"], "number"),
        ([f"{i},5" for i in range(30)] + ["none"] * 20, "number"),
        ([*ISO, "1.2.2020"], "date"),
        ([*ISO, *["a", "b"] * 20], "date"),
        (["$5", "$6.50", "($7)"] * 10, "number"),
        (["007", "012", "123"] * 10, "category"),
        (["20.3.2020", "21.3.2020"] * 10, "date"),
        (["Ja", "nein"] * 10, "boolean"),
        (["a", "b", "NA", ""] * 10, "category"),
    ],
)
def test_files_and_data_frames_of_the_same_texts_get_the_same_kind(tmp_path, column, decision):
    write({"c": column}, tmp_path / "t.csv")

    def decide(load):
        return TableEncoder().fit(load()).columns_[0]["kind"]

    assert decide(lambda: pl.DataFrame({"c": column})) == decision
    assert decide(lambda: pd.DataFrame({"c": column})) == decision
    assert decide(lambda: read(tmp_path / "t.csv")) == decision


def test_whole_numbers_that_floats_cannot_tell_apart_are_not_called_constant():
    table = pl.DataFrame({"n": pl.Series([2**63 + i for i in range(9)], dtype=pl.UInt64), "x": list(range(9))})
    assert why(TableEncoder().fit(table), "n") == "constant in the first 15 digits"

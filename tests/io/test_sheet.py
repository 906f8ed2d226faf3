"""Sheets: rows keep their line, columns are found by name, labels compare by meaning."""

import polars as pl
import pytest

from tests.tables import put
from usmo.io import Sheet, TableError, labels, need_column, read


def test_need_column_names_the_nearest(tmp_path):
    sheet = read(put(tmp_path, "known,age\nyes,1\n"))
    need_column(sheet, "age", "--id-column")
    with pytest.raises(
        TableError, match=r"--label-column: no column 'knwon' in .*: did you mean 'known'\? \(columns: k"
    ):
        need_column(sheet, "knwon", "--label-column")
    with pytest.raises(TableError, match=r"no column 'zzz' in .*data\.csv \(columns: known, age\)"):
        sheet.drop(["zzz"])


def test_rows_keep_their_line_through_take_and_filter(tmp_path):
    sheet = read(put(tmp_path, 'a,b\n1,"x\ny"\n2,\n3,z\n'))
    assert [sheet.place(i) for i in range(3)] == ["line 2", "line 4", "line 5"]
    assert sheet.filter([False, True, True]).take([1]).drop(["b"]).place(0) == "line 5"
    assert Sheet(pl.DataFrame({"a": [1, 2, 3]})).take([2]).place(0) == "row 3"
    with pytest.raises(ValueError, match="mask must hold 3 booleans, got int64"):
        sheet.filter([0, 1, 1])


@pytest.mark.parametrize(
    ("values", "positive", "expected"),
    [
        (["yes", "no", None], "yes", [True, False, False]),
        ([1, 0, None], "1", [True, False, False]),
        ([1, 0, None], "1.0", [True, False, False]),
        ([1.0, -1.0, float("nan")], "+1", [True, False, False]),
        ([True, False, None], "true", [True, False, False]),
        ([True, False, None], "1", [True, False, False]),
        ([1, 0, 0], "True", [True, False, False]),
        (["1", "2", "?"], "1.0", [True, False, False]),
        (["TRUE", "FALSE", ""], "true", [True, False, False]),
        ([" yes", "yes ", "n"], "yes", [True, True, False]),
    ],
)
def test_labels_compare_by_meaning(values, positive, expected):
    assert labels(Sheet(pl.DataFrame({"known": values})), "known", positive).tolist() == expected


def test_labels_that_cannot_be_learnt_from_are_refused():
    sheet = Sheet(
        pl.DataFrame({"known": ["yes"] * 3 + ["no", "NA"] + [f"v{i}" for i in range(12)], "one": [1] * 17})
    )
    message = (
        r"no row has 'yess' in column 'known' of the table: did you mean 'yes'\? \(values: 'yes' in 3 rows, 'no'"
    )
    with pytest.raises(TableError, match=message + r".*'v7' in 1 row and 4 more\)"):
        labels(sheet, "known", "yess")
    with pytest.raises(TableError, match="'NA' stands for a missing value"):
        labels(sheet, "known", "NA")
    with pytest.raises(TableError, match="all 17 rows have '1' in column 'one' of the table: add rows"):
        labels(sheet, "one", "1")

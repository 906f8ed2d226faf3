"""Output columns hold the numbers computed by hand; rows unlike the training table are refused by place."""

from datetime import date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.tables import SMALL
from usmo.columns import TableEncoder
from usmo.io import TableError, read

ROOT = np.sqrt(0.5)


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


def test_decimal_comma_of_training_decides_how_a_lone_thousand_is_read():
    encoder = TableEncoder().fit(pl.DataFrame({"x": ["0,5", "1,5", "2,5"]}))
    points = TableEncoder().fit(pl.DataFrame({"x": [0.5, 1.5, 2.5]}))
    np.testing.assert_allclose(
        encoder.transform(pl.DataFrame({"x": ["1,234"]})), points.transform(pl.DataFrame({"x": [1.234]}))
    )


@pytest.mark.parametrize(
    ("train", "new", "numbers"),
    [
        ([0.5, 1.5, 2.5], ["0,261", "1,234"], [0.261, 1.234]),  # no group of thousands follows a zero
        ([0.5, 1.5, 2.5], ["12,5", "1,234"], [12.5, 1.234]),
        ([0.5, 1.5, 2.5], ["1,234", "5,678"], [1234, 5678]),  # nothing tells
        (["$0,5", "$1,5", "$2,5"], ["$1.50", "$1.234"], [1.5, 1.234]),
    ],
)
def test_an_evident_decimal_mark_of_a_new_table_is_used(train, new, numbers):
    encoder = TableEncoder().fit(pl.DataFrame({"x": train}))
    points = TableEncoder().fit(pl.DataFrame({"x": [0.5, 1.5, 2.5]}))
    np.testing.assert_allclose(
        encoder.transform(pl.DataFrame({"x": new})), points.transform(pl.DataFrame({"x": numbers}))
    )


def test_the_decimal_mark_of_a_new_file_decides_for_a_column_that_does_not(tmp_path):
    (tmp_path / "new.csv").write_text("x;y\n1,234;1,5\n5,678;2,5\n")
    points = TableEncoder().fit(pl.DataFrame({"x": [0.5, 1.5, 2.5], "y": [1.5, 2.5, 1.5]}))
    given = TableEncoder(kinds={"x": "decimal-point"}).fit(
        pl.DataFrame({"x": ["0.5", "1.5", "2.5"], "y": [1.5, 2.5, 1.5]})
    )
    for encoder, factor in ((points, 1), (given, 1000)):
        Z = encoder.transform(read(tmp_path / "new.csv", text=encoder.unparsed()))
        expected = pl.DataFrame({"x": [1.234 * factor, 5.678 * factor], "y": [1.5, 2.5]})
        np.testing.assert_allclose(Z, points.transform(expected))


@pytest.mark.parametrize(
    ("train", "new"),
    [
        ("x;y\n9.5;1,5\n10.5;2,5\n11.5;1,5\n", "x;y\n9.098;1,5\n11.234;2,5\n"),  # a table with both marks
        ("x,y\n9.5,1.5\n10.5,2.5\n11.5,1.5\n", "x;y\n9.098;1\n11.234;2\n"),  # semicolons alone tell nothing
        ("x,y\n9.5,1.5\n10.5,2.5\n11.5,1.5\n", 'x,y\n"9,098","1,5"\n"11,234","2,5"\n'),
        ("x;y\n9500;1,5\n10500;2,5\n11500;1,5\n", "x;y\n9.098;1,5\n11.234;2,5\n"),  # thousands
    ],
)
def test_a_column_keeps_its_magnitude_in_a_new_file(tmp_path, train, new):
    (tmp_path / "train.csv").write_text(train)
    (tmp_path / "new.csv").write_text(new)
    encoder = TableEncoder().fit(read(tmp_path / "train.csv"))
    Z = encoder.transform(read(tmp_path / "new.csv", text=encoder.unparsed()))
    plain = TableEncoder().fit(pl.DataFrame({"x": [9.5, 10.5, 11.5]}))
    np.testing.assert_allclose(Z[:, :1], plain.transform(pl.DataFrame({"x": [9.098, 11.234]})))


def test_compact_and_other_dates_with_the_year_first_are_the_same_days():
    compact = [20200301 + i for i in range(12)]
    iso = [f"2020-03-{i + 1:02d}" for i in range(12)]
    encoders = [TableEncoder().fit(pl.DataFrame({"t": texts})) for texts in (compact, iso)]
    assert [encoder.columns_[0]["notation"] for encoder in encoders] == ["compact", "year-first"]
    days = np.arange(12.0)
    for encoder in encoders:
        for texts in (compact, iso, [str(number) for number in compact]):
            Z = encoder.transform(pl.DataFrame({"t": texts}))
            np.testing.assert_allclose(Z[:, 0], (days - days.mean()) / days.std())
    with pytest.warns(UserWarning, match=r"count as missing: 1 in 't' \('43910'\)"):
        encoders[0].transform(pl.DataFrame({"t": [43910, 20200301]}))
    with pytest.raises(TableError, match=r"'20/03/2020' in column 't' is not written as the dates .*\(compact\)"):
        encoders[0].transform(pl.DataFrame({"t": ["20/03/2020", "21/03/2020"]}))


def test_numbers_that_are_no_dates_in_a_column_said_to_hold_dates_are_reported():
    encoder = TableEncoder(kinds={"t": "date"}).fit(pl.DataFrame({"t": [20200301, 20200302, 7, 20200304]}))
    assert encoder.summary()[0].endswith("; 1 are not dates and count as missing: '7'")


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"job": ["a", "zz", "b"]}, r"row 1 \(counted from 0\): 'zz' in column 'job' is not in the training table "
         r"\(known: 'a', 'b'\): correct it, or give unknown='ignore'"),
        ({"age": ["old", "young", "old"]}, r"row 0 .*: 'old' in column 'age' is not a number, but this column"),
        ({"age": [1.0, np.inf, 2.0]}, "row 1 .*: inf in column 'age' is infinite"),
        ({"on": ["maybe", "maybe", "perhaps"]}, "'maybe' in column 'on' is not a boolean"),
        ({"on": [0, 1, 2]}, "column 'on' holds number values, but booleans in the training table"),
        ({"day": ["1/1/2020", "1/2/2020", ""]}, "'1/1/2020' in column 'day' is not written as the dates of this column "
         r"in the training table \(year first\): write all of them so"),
        ({"age": ["5 kg", "6 kg", "7 kg"]}, r"is not written as the numbers of this column .* \(without a unit\)"),
        ({"job": ["a", "zz", "b"], "age": ["old"] * 3}, "'old' in column 'age' is not a number.*'zz' in column 'job'"),
        ({"day": [1, 2, 3]}, "column 'day' holds number values, but dates in the training table"),
        ({"job": [[1], [2], [3]]}, r"column 'job' holds List\(Int64\) values, but text in the training table"),
        ({"age": None, "Age": [1, 2, 3]}, r"no column 'age' in the table: did you mean 'Age'\?"),
    ],
)  # fmt: skip
def test_rows_unlike_the_training_table_are_refused_by_place_and_value(change, message):
    encoder = TableEncoder().fit(pl.DataFrame(SMALL))
    table = pl.DataFrame({name: values for name, values in {**SMALL, **change}.items() if values is not None})
    with pytest.raises(TableError, match=message):
        encoder.transform(table)


def test_cells_unlike_the_training_table_are_missing_and_reported():
    encoder = TableEncoder().fit(pl.DataFrame({**SMALL, "price": ["$1,234", "$5", "$6"]}))
    assert [schema["notation"] for schema in encoder.columns_ if schema["name"] in ("price", "day")] == [
        "year-first",
        ".$",
    ]
    changed = {
        "age": ["20", ">50", "45.5"],
        "day": ["2020-01-01", "1/2/2020", "2021-01-01"],
        "price": ["$7", "7 kg", "8"],
    }
    with pytest.warns(
        UserWarning, match=r"count as missing: 1 in 'age' \('>50'\); 1 in 'day' .*; 1 in 'price' \('7 kg'\)"
    ):
        Z = encoder.transform(pl.DataFrame({**SMALL, **changed}))
    gaps = {
        name: [value if i != 1 else None for i, value in enumerate(values)] for name, values in changed.items()
    }
    np.testing.assert_array_equal(Z, encoder.transform(pl.DataFrame({**SMALL, **gaps})))


def test_values_of_another_type_but_the_same_meaning_are_accepted():
    encoder = TableEncoder().fit(pl.DataFrame({**SMALL, "code": ["1", "2", "x"]}))
    expected = encoder.transform(pl.DataFrame({**SMALL, "code": ["1", "2", "1"]}))
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


def test_unknown_ignore_encodes_a_new_category_as_none():
    encoder = TableEncoder(unknown="ignore").fit(pl.DataFrame(SMALL))
    Z = encoder.transform(pl.DataFrame({**SMALL, "job": ["zz", "a", "b"]}))
    np.testing.assert_allclose(Z[:, 1:3], ROOT * np.array([[0, 0], [1, 0], [0, 1]]))


def test_sheet_errors_name_the_line(tmp_path):
    (tmp_path / "train.csv").write_text("age,job\n1,a\n2,b\n4,a\n")
    (tmp_path / "new.csv").write_text('age,job\n1,"a"\n2,zz\n')
    encoder = TableEncoder().fit(read(tmp_path / "train.csv"))
    with pytest.raises(TableError, match=r"new\.csv: line 3: 'zz' in column 'job' is not in the training table"):
        encoder.transform(read(tmp_path / "new.csv"))


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
    with pytest.raises(TableError, match=r"1e\+300 in column 'x' is too large for the scale 5e-301"):
        encoder.transform(pl.DataFrame({"x": [1e300]}))

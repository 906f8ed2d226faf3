"""Dates whose times of day differ give the hour and the weekday too, as datetime has them; plain dates do not."""

from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from usmo.columns import TableEncoder, schema
from usmo.io import read

MOMENTS = [
    datetime(1969, 12, 28, 23, 59, 59), datetime(2024, 2, 29, 0, 0), datetime(2024, 3, 3, 6, 30),
    datetime(1970, 1, 1, 12, 0), datetime(2024, 3, 4, 18, 45, 30), datetime(2000, 1, 1, 23, 15),
]  # fmt: skip
"""Two Sundays, two Thursdays, a Monday and a Saturday, before and after 1970."""

NAMES = ["when", "when (hour)", "when (weekday)"]
BERLIN = ZoneInfo("Europe/Berlin")


def by_datetime(moments):
    """Days, hour and weekday of moments, a missing one at the median of each, standardised, and where they miss."""
    present = [moment for moment in moments if moment is not None]
    parts = [
        lambda moment: (moment - datetime(1970, 1, 1)) / timedelta(days=1),
        lambda moment: moment.hour + moment.minute / 60 + moment.second / 3600 + moment.microsecond / 3.6e9,
        lambda moment: moment.weekday(),
    ]
    columns = []
    for part in parts:
        median = np.median([part(moment) for moment in present])
        x = np.array([median if moment is None else part(moment) for moment in moments], dtype=float)
        columns.append((x - x.mean()) / x.std())
    gaps = [[moment is None for moment in moments]] * (len(present) < len(moments))
    return np.column_stack([*columns, *gaps])


def texts(moments, form="%Y-%m-%d %H:%M:%S"):
    return [None if moment is None else moment.strftime(form) for moment in moments]


FRAMES = {
    "polars": lambda moments: pl.DataFrame({"when": pl.Series(moments, dtype=pl.Datetime("ms"))}),
    "polars in nanoseconds": lambda moments: pl.DataFrame({"when": pl.Series(moments, dtype=pl.Datetime("ns"))}),
    "pandas": lambda moments: pd.DataFrame({"when": pd.to_datetime(pd.Series(moments))}),
    "pandas in seconds": lambda moments: pd.DataFrame({"when": pd.Series(moments).astype("datetime64[s]")}),
    "ISO texts": lambda moments: pl.DataFrame({"when": texts(moments)}),
    "texts with T": lambda moments: pd.DataFrame({"when": texts(moments, "%Y-%m-%dT%H:%M:%SZ")}),
    "American texts": lambda moments: pl.DataFrame({"when": texts(moments, "%m/%d/%Y %I:%M:%S %p")}),
    "German texts": lambda moments: pl.DataFrame({"when": texts(moments, "%d.%m.%Y %H:%M:%S")}),
}


@pytest.mark.parametrize("missing", [[], [None, None]])
@pytest.mark.parametrize("form", FRAMES)
def test_hour_and_weekday_are_those_of_datetime(form, missing):
    moments = [*MOMENTS, *missing]
    table = FRAMES[form](moments)
    encoder = TableEncoder().fit(table)
    assert encoder.get_feature_names_out().tolist() == [*NAMES, *["when=(missing)"] * bool(missing)]
    np.testing.assert_allclose(encoder.transform(table), by_datetime(moments), atol=1e-9)


def test_a_file_and_every_frame_give_the_same_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("when,x\n" + "".join(f"{text},{i % 3}\n" for i, text in enumerate([*texts(MOMENTS), ""])))
    sheet = read(path)
    encoder = TableEncoder().fit(sheet)
    Z = encoder.transform(sheet)
    np.testing.assert_allclose(Z[:, :4], by_datetime([*MOMENTS, None]), atol=1e-9)
    for form in ("polars", "polars in nanoseconds", "pandas", "pandas in seconds", "ISO texts"):
        table = FRAMES[form]([*MOMENTS, None])
        numbers = [i % 3 for i in range(7)]
        full = (
            table.assign(x=numbers)
            if isinstance(table, pd.DataFrame)
            else table.with_columns(x=pl.Series(numbers))
        )
        np.testing.assert_array_equal(encoder.transform(full)[:, 1:3], Z[:, 1:3])


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_times_with_a_zone_are_those_of_utc(library):
    local = [moment.replace(tzinfo=BERLIN) for moment in MOMENTS]
    utc = [moment.astimezone(timezone.utc).replace(tzinfo=None) for moment in local]
    assert [moment.weekday() for moment in utc] != [moment.weekday() for moment in local]
    if library == "polars":
        table = pl.DataFrame({"when": pl.Series(MOMENTS).dt.replace_time_zone("Europe/Berlin")})
    else:
        table = pd.DataFrame({"when": pd.Series(pd.to_datetime(MOMENTS)).dt.tz_localize("Europe/Berlin")})
    encoder = TableEncoder().fit(table)
    np.testing.assert_allclose(encoder.transform(table), by_datetime(utc), atol=1e-9)
    written = pl.DataFrame({"when": [moment.isoformat() for moment in local]})
    np.testing.assert_allclose(TableEncoder().fit_transform(written), by_datetime(utc), atol=1e-9)


@given(st.lists(st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)), min_size=2, max_size=30))
def test_the_clock_of_any_moments(moments):
    moments = [datetime(2024, 1, 1, 1), datetime(2024, 1, 2, 4), *moments]
    Z = TableEncoder().fit_transform(pl.DataFrame({"when": moments}))
    np.testing.assert_allclose(Z, by_datetime(moments), atol=1e-6)


PLAIN = {
    "dates": pl.Series([date(1999, 12, 31) + timedelta(days=37 * i) for i in range(50)]),
    "ISO dates": [str(date(1999, 12, 31) + timedelta(days=37 * i)) for i in range(50)],
    "compact": [int(f"202001{i:02d}") for i in range(1, 31)],
    "midnight": [f"2024-01-{i:02d} 00:00:00" for i in range(1, 31)],
    "one time": [datetime(1850, 1, 1, 23, 59, 59, 999999) + timedelta(days=997 * i) for i in range(150)],
    "midnight in a zone with summer time": [
        f"2024-{i:02d}-01T00:00:00+0{1 + (3 < i < 11)}:00" for i in range(1, 13)
    ],
    "one time, gaps": [f"{i}.3.2020 7:07" if i % 3 else None for i in range(1, 31)],
    "one moment, gaps": ["2024-01-01 07:07:07", None, "2024-01-01 07:07:07"],
    "around midnight": pl.Series(
        [timedelta(days=i, microseconds=(-1) ** i) + datetime(2020, 1, 1) for i in range(9)]
    ),
}


@pytest.mark.parametrize("name", PLAIN)
def test_dates_without_times_are_encoded_as_days_only(name, monkeypatch):
    table = pl.DataFrame({"when": PLAIN[name], "x": [i % 4 for i in range(len(PLAIN[name]))]})
    encoder = TableEncoder().fit(table)
    names = ["when", *["when=(missing)"] * bool(table["when"].null_count()), "x"]
    assert encoder.get_feature_names_out().tolist() == names
    assert "clock" not in encoder.columns_[0]
    assert encoder.summary()[0].startswith("when: date")
    assert "time of day" not in encoder.summary()[0]
    monkeypatch.setattr(schema, "clock_of", lambda days: [])
    without = TableEncoder().fit(table)
    assert without.columns_ == encoder.columns_
    np.testing.assert_array_equal(without.transform(table), encoder.transform(table))


def test_a_new_table_is_measured_by_the_training_table():
    train = [datetime(2024, 1, day, hour) for day, hour in [(1, 0), (2, 6), (3, 12), (4, 18)]]
    encoder = TableEncoder().fit(pl.DataFrame({"when": [*train, None]}))
    new = pd.DataFrame({"when": ["2024-02-04 23:30", None, "2024-02-05"]})  # a Sunday, a gap, a Monday
    hours, weekdays = np.array([0, 6, 12, 18, 9.0]), np.array([0, 1, 2, 3, 1.5])
    Z = encoder.transform(new)
    np.testing.assert_allclose(Z[:, 1], (np.array([23.5, 9, 0]) - hours.mean()) / hours.std(), atol=1e-9)
    np.testing.assert_allclose(Z[:, 2], (np.array([6, 1.5, 0]) - weekdays.mean()) / weekdays.std(), atol=1e-9)
    np.testing.assert_array_equal(Z[:, 3], [0, 1, 0])


def test_a_weekday_that_is_always_the_same_is_left_out():
    encoder = TableEncoder().fit(pl.DataFrame({"when": [f"2024-01-01 {hour}:00" for hour in (8, 9, 17)]}))
    assert encoder.get_feature_names_out().tolist() == ["when", "when (hour)"]
    assert encoder.transform(pl.DataFrame({"when": ["2024-01-02 8:00"]})).shape == (1, 2)


def test_a_date_beside_text_and_in_a_wide_table_keeps_its_clock():
    rng = np.random.default_rng(0)
    moments = [datetime(2024, 1, 1) + timedelta(minutes=7 * i) for i in range(600)]
    moments[5] = None
    words = [
        " ".join(rng.choice(["red", "green", "blue", "dark", "light", "wall"], 5)) + f" {i}" for i in range(600)
    ]
    text = TableEncoder(text_columns=["note"]).fit(pl.DataFrame({"when": moments, "note": words}))
    Z = text.transform(pl.DataFrame({"when": moments, "note": words}))
    clock = Z[:, :4].toarray()
    np.testing.assert_allclose(clock, text.other_scale_ * by_datetime(moments), atol=1e-9)
    codes = {f"c{j}": [f"v{k}" for k in rng.integers(0, 45, 600)] for j in range(6)}
    wide = TableEncoder().fit(pl.DataFrame({"when": moments, **codes}))
    assert wide.sparse_output_
    found = wide.transform(pl.DataFrame({"when": moments, **codes}))[:, :4].toarray()
    np.testing.assert_allclose(found, by_datetime(moments), atol=1e-9)


def test_the_summary_names_the_time_of_day():
    table = pl.DataFrame({"when": ["13.1.2024 10:00", "14.1.2024 8:00", None]})
    assert TableEncoder().fit(table).summary() == [
        "when: date and time of day, day first (1 missing → median 2024-01-13)"
    ]

"""Tables of many columns: columns are converted in groups, and the work for each of them is small and constant."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.tables import put
from usmo.columns import TableEncoder
from usmo.columns.scaling import scaling
from usmo.io import infer_types, read

LETTERS = np.array(["aa", "ag", "gg"])


def table(kind, columns, rows=15):
    rng = np.random.default_rng(0)
    if kind == "text":
        values = rng.choice(LETTERS, (rows, columns))
    else:
        values = rng.normal(size=(rows, columns)).round(4).astype(str)
    separator = ";" if kind == "decimal comma" else ","
    if kind == "decimal comma":
        values = np.char.replace(values, ".", ",")
    lines = [[f"c{i}" for i in range(columns)], *values.tolist()]
    return "".join(separator.join(line) + "\n" for line in lines)


def calls_of(function):
    """How many functions are called, of Python and of C."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def encoded(path):
    sheet = read(path)
    encoder = TableEncoder().fit(sheet)
    encoder.get_feature_names_out()
    encoder.summary()
    return encoder.transform(sheet)


@pytest.mark.parametrize(("kind", "most"), [("number", 350), ("text", 400), ("decimal comma", 800)])
def test_a_column_more_costs_a_constant_number_of_calls(tmp_path, kind, most):
    paths = [put(tmp_path, table(kind, n), f"{n}.csv") for n in (500, 1000, 2000)]
    encoded(paths[0])  # imports
    first, second = np.diff([calls_of(lambda path=path: encoded(path)) for path in paths]) / [500, 1000]
    assert first < most
    assert second < 1.1 * first


def mixed(rows):
    rng = np.random.default_rng(1)
    return {
        "x": rng.normal(size=rows),
        "gap": np.where(rng.random(rows) < 0.3, np.nan, rng.integers(0, 9, rows)),
        "word": rng.choice(LETTERS, rows),
        "other": [None if each > 0.7 else str(LETTERS[int(3 * each)]) for each in rng.random(rows)],
        "truth": rng.random(rows) < 0.4,
        "day": [f"2024-01-{1 + each:02d}" for each in rng.integers(0, 28, rows)],
        "comma": [f"{each:.2f}".replace(".", ",") for each in rng.normal(size=rows)],
        "empty": [None] * rows,
        "id": [f"r{i}" for i in range(rows)],
    }


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_columns_encode_alike_alone_and_in_groups(tmp_path, monkeypatch, frame):
    data = frame(mixed(40))
    text = pl.DataFrame(mixed(40)).write_csv(separator=";")
    path = put(tmp_path, text)
    together = TableEncoder().fit(data), read(path).frame
    monkeypatch.setattr(infer_types, "_GROUP", 1)
    alone = TableEncoder().fit(data), read(path).frame
    assert together[0].columns_ == alone[0].columns_
    assert together[1].equals(alone[1])
    np.testing.assert_array_equal(alone[0].transform(data), together[0].transform(data))


def test_scaling_of_many_columns_is_that_of_each():
    rng = np.random.default_rng(2)
    X = rng.normal(3, 5, size=(50, 11)) * 10.0 ** rng.integers(-3, 4, (50, 1))
    X[rng.random(X.shape) < 0.2] = np.nan
    X[0], X[1], X[2, 1:] = np.nan, 7.0, np.nan
    for row, median, mean, scale in zip(X, *scaling(X), strict=True):
        if np.isnan(row).all():
            assert (median, mean, scale) == (0, 0, 1)
            continue
        filled = np.where(np.isnan(row), np.nanmedian(row), row)
        constant = filled.min() == filled.max()
        expected = np.nanmedian(row), filled.mean(), max(1.0, abs(filled[0])) if constant else filled.std()
        np.testing.assert_allclose((median, mean, scale), expected, rtol=1e-12)

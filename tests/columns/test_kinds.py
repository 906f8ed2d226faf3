"""Ids, codes and kinds that are given: what is learnt from a column, and how."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from usmo.columns import TableEncoder
from usmo.columns.ids import id_reason, is_postal
from usmo.io import TableError

RNG = np.random.default_rng(0)
N = 400


@pytest.mark.parametrize(
    ("x", "name", "is_id"),
    [
        (np.arange(5, N + 5), "x", True),
        (1000 + 10 * np.arange(N), "x", True),
        (np.arange(N)[::-1], "x", True),
        (RNG.permutation(N) + 1, "x", True),
        (100 * RNG.permutation(N), "x", True),
        (np.sort(RNG.choice(5 * N, N, replace=False)), "x", True),
        (RNG.integers(10**11, 10**12, N), "x", True),
        (RNG.integers(0, 10**6, N), "customer_id", True),
        (RNG.integers(0, 10**6, N), "CustomerID", True),
        (RNG.integers(0, 10**6, N), "Kunden-Nr", True),
        (RNG.integers(0, 10**6, N), "x", False),
        (RNG.integers(18, 90, N), "id", False),
        (RNG.integers(18, 90, N), "age", False),
        ((1000 * np.exp(1.5 * RNG.normal(size=N))).astype(int) * 1000 + RNG.integers(0, 1000, N), "income", False),
        (1_577_836_800 + 86_400 * RNG.permutation(40_000)[:N] // 7, "seconds", False),
        (np.arange(9), "id", False),
    ],
)
def test_whole_numbers_are_ids_by_their_steps_their_density_or_their_name(x, name, is_id):
    assert (id_reason(name, x.astype(float)) is not None) == is_id


@pytest.mark.parametrize(
    ("name", "expected"),
    [("zip", True), ("ZIP Code", True), ("zipcode", True), ("zipCode", True), ("PLZ", True), ("postal_code", True),
     ("home-postcode", True), ("zipper", False), ("code", False), ("unzip", False)],
)  # fmt: skip
def test_postal_codes_are_known_by_their_names(name, expected):
    assert is_postal(name) == expected


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_ids_and_codes_among_columns(frame):
    table = frame(
        {
            "key": RNG.permutation(60),
            "uuid": [f"{i:08x}-aaaa-4bbb-8ccc-{i:012x}" for i in range(60)],
            "zip": [10001, 94110, 60614] * 20,
            "code": ["007", "012", "123"] * 20,
            "age": (20 + RNG.integers(0, 30, 60)),
        }
    )
    encoder = TableEncoder().fit(table)
    assert [schema["kind"] for schema in encoder.columns_] == [
        "ignored",
        "ignored",
        "category",
        "category",
        "number",
    ]
    assert encoder.columns_[2]["categories"] == ["10001", "60614", "94110"]
    assert encoder.columns_[3]["categories"] == ["007", "012", "123"]


def table():
    return pl.DataFrame(
        {
            "amount": ["1,234", "2,345", "3,456"] * 4,
            "start": ["1/2/2020", "3/4/2020", "5/6/2020"] * 4,
            "number": [1, 2, 3] * 4,
            "day": [20200320, 20200321, 20200322] * 4,
            "key": list(range(12)),
            "note": ["1", "a", "b"] * 4,
            "flag": ["yes", "no", "maybe"] * 4,
        }
    )


def encoded(**kinds):
    """Kind and notation of each column with some kinds given, and its first value."""
    encoder = TableEncoder(kinds=kinds or None).fit(table())
    Z = encoder.transform(table())
    names = encoder.get_feature_names_out().tolist()
    values = {
        schema["name"]: Z[0, names.index(schema["name"])] * schema["scale"] + schema["mean"]
        for schema in encoder.columns_
        if schema["kind"] in ("number", "date", "boolean")
    }
    return {schema["name"]: schema["kind"] for schema in encoder.columns_}, values, encoder.summary()


def test_kinds_that_are_given_hold_and_doubts_name_the_way_out():
    kinds, values, summary = encoded()
    assert kinds == {
        "amount": "number", "start": "date", "number": "number", "day": "number", "key": "ignored", "note": "category",
        "flag": "category",
    }  # fmt: skip
    assert values["amount"] == pytest.approx(1234)
    assert values["start"] == pytest.approx(18293)  # 1 February
    assert "1,234 is read as 1234, --kind amount=decimal-comma reads it the other way" in summary[0]
    assert "day first; no value tells day and month apart, --kind start=month-first" in summary[1]
    kinds, values, summary = encoded(
        amount="decimal-comma", start="month-first", number="category", day="date", key="number", note="number",
        flag="boolean",
    )  # fmt: skip
    assert list(kinds.values()) == ["number", "date", "category", "date", "number", "number", "boolean"]
    assert values["amount"] == pytest.approx(1.234)
    assert values["start"] == pytest.approx(18263)  # 2 January
    assert values["day"] == pytest.approx(18341)
    assert summary[5] == "note: number (8 missing → median 1); 8 are not numbers and count as missing: 'a', 'b'"
    assert encoded(number="ignore", note="text")[0]["number"] == "ignored"


def test_kinds_of_no_column_or_of_no_kind_are_refused():
    with pytest.raises(TableError, match=r"no column 'amnt' in the table: did you mean 'amount'\?"):
        TableEncoder(kinds={"amnt": "number"}).fit(table())
    with pytest.raises(TableError, match=r"kinds must be number, category, .*, got 'float' for column 'amount'"):
        TableEncoder(kinds={"amount": "float"}).fit(table())
    with pytest.raises(
        TableError, match=r"'start' holds no booleans, which it was said to: .*--kind start=ignore"
    ):
        TableEncoder(kinds={"start": "boolean"}).fit(table())


def test_mixed_units_are_said():
    with pytest.warns(
        UserWarning, match=r"column 'weight' mixes units \(kg \(24\), lb \(12\)\): it is not read as numbers"
    ):
        encoder = TableEncoder().fit(
            pl.DataFrame({"weight": ["5 kg", "6 kg", "7 lb"] * 12, "x": [1.5, 2.5, 4.0] * 12})
        )
    assert encoder.columns_[0]["kind"] == "category"

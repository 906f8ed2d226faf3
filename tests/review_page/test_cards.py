"""What a card says of the values of a row."""

import datetime

import numpy as np
import polars as pl

from usmo.columns import TableEncoder
from usmo.io import Sheet
from usmo.review_page.cards import Cards

POSITIVES = np.array([0, 3, 4, 7, 9, 12])


def test_written_numbers_and_dates_lie_where_plain_numbers_do():
    rng = np.random.default_rng(0)
    numbers, days = rng.lognormal(7.0, 2.0, 40).round(2), rng.integers(0, 900, 40)
    numbers[5] = numbers[POSITIVES].max() + 1.0
    dates = [datetime.date(2022, 1, 1) + datetime.timedelta(days=int(day)) for day in days]
    german = [f"{number:,.2f}".translate(str.maketrans(".,", ",.")) for number in numbers]
    plain = Cards(Sheet(pl.DataFrame({"number": numbers, "day": days})), [], [""] * 40)
    written = {
        "number": {"comma": german, "dollars": [f"${number:,.2f}" for number in numbers]},
        "day": {
            "text": [f"{date:%d.%m.%Y}" for date in dates], "date": dates,
            "moment": [datetime.datetime(date.year, date.month, date.day) for date in dates],
        },
    }  # fmt: skip
    for name, columns in written.items():
        cards = Cards(Sheet(pl.DataFrame(columns)), [], [""] * 40)
        for row in range(40):
            expected = {cell["name"]: cell["place"] for cell in plain.cells(row, POSITIVES)}[name]
            if name == "day":
                expected["words"] = expected["words"].replace("above", "later than")
            for cell in cards.cells(row, POSITIVES):
                assert cell["place"] == expected
                assert cell["value"] == str(columns[cell["name"]][row])
    assert "number" in plain.outside(5, POSITIVES)
    assert Cards(Sheet(pl.DataFrame({"number": german})), [], [""] * 40).outside(5, POSITIVES) == ["number"]


def test_a_missing_number_among_written_ones_has_no_place():
    cards = Cards(Sheet(pl.DataFrame({"price": [f"{k},50" for k in range(30)] + ["ask us", None]})), [], [""] * 32)
    assert [cards.cells(row, POSITIVES)[0].get("place") for row in (30, 31)] == [None, None]
    assert cards.cells(3, POSITIVES)[0]["place"]["words"].startswith("above")
    assert cards.outside(30, POSITIVES) == []


def test_values_are_placed_as_the_encoder_reads_them():
    """Without --kind the day is first, and codes are numbers."""
    months = [f"{k % 12 + 1:02d}/{k % 9 + 1:02d}/2024" for k in range(40)]
    sheet = Sheet(pl.DataFrame({"when": months, "branch": [10 * (k % 3) for k in range(40)], "x": range(40)}))
    encoder = TableEncoder(kinds={"when": "month-first", "branch": "category"}).fit(sheet)
    said, guessed = (Cards(sheet, [], [""] * 40, given) for given in (encoder, None))
    dates = [datetime.datetime.strptime(text, "%m/%d/%Y") for text in months]
    plain = Cards(Sheet(pl.DataFrame({"when": dates})), [], [""] * 40)
    for row in range(40):
        cells = {cell["name"]: cell for cell in said.cells(row, POSITIVES)}
        assert cells["when"]["place"] == plain.cells(row, POSITIVES)[0]["place"]
        assert cells["branch"]["place"]["words"].endswith("of all rows")
        assert "known positives and" in cells["branch"]["place"]["words"]
        assert not cells["branch"]["place"]["words"].startswith("above")
    assert any(guessed.cells(row, POSITIVES) != said.cells(row, POSITIVES) for row in range(40))

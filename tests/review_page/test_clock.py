"""A timestamp on a card is one column; why its row is proposed may be its hour."""

from datetime import datetime, timedelta

import numpy as np
import polars as pl

from tests.review_page.pages import ByFirstColumn
from usmo.io import Sheet
from usmo.review import Review
from usmo.review_page.cards import Cards
from usmo.review_page.reasons import Reasons


def test_a_timestamp_is_one_cell_and_its_hour_may_be_the_reason():
    """The known positives and row 4 are of 3 o'clock at night, in days that are spread over the year."""
    rng = np.random.default_rng(0)
    hours = np.where(np.arange(80) < 5, 3.0, rng.uniform(8, 22, 80))
    days = [100, 350, 20, 200, 280, *rng.integers(0, 366, 75).tolist()]
    moments = [
        datetime(2024, 1, 1) + timedelta(days=day, hours=hour) for day, hour in zip(days, hours, strict=True)
    ]
    sheet = Sheet(pl.DataFrame({"when": moments, "size": rng.normal(size=80)}))
    labels = np.r_[np.ones(4, dtype=int), np.zeros(76, dtype=int)]
    positives = np.arange(4)
    review = Review(sheet, labels, ranker=ByFirstColumn())
    cards = Cards(sheet, [], [""] * 80)
    assert [cell["name"] for cell in cards.cells(4, positives)] == ["when", "size"]
    assert cards.cells(4, positives)[0]["place"]["words"].startswith("later than 75")
    why = Reasons(review, cards).why(4, positives)
    assert why["kind"] == "close"
    assert "when (hour)" in [name for name, _ in why["for"]]

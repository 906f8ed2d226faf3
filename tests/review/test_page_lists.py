"""Lists of ids that a user pastes, and files for a spreadsheet."""

import polars as pl
import pytest

from usmo.io import Sheet
from usmo.review import Review
from usmo.review_page.cards import Cards
from usmo.review_page.desk import _listed_ids
from usmo.review_page.listing import Listing


@pytest.mark.parametrize(
    "text",
    ["a1\nb 2\na1\n", "a1,x\nb 2,y", "a1;x,1\nb 2;y,2", "a1\tx\nb 2\ty", ' "a1";x\n"b 2";y'.lstrip()],
)
def test_ids_are_the_first_fields_whatever_separates_them(text):
    assert _listed_ids(text, {"a1", "b 2"}) == ["a1", "b 2"]


def test_ids_with_commas_are_whole_lines():
    assert _listed_ids("Smith, A\nJones, B", {"Smith, A", "Jones, B"}) == ["Smith, A", "Jones, B"]


def test_no_cell_of_a_file_of_the_page_runs_in_a_spreadsheet():
    n = 30
    frame = pl.DataFrame({"x": [float(i % 7) for i in range(n)], "note": ["=1+1", "-3", "plain"] * 10})
    review = Review(frame.select("x"), [1] * 5 + [0] * 25, ids=[f"@{i}" for i in range(n)])
    review.tell([7], [1], note="+cmd")
    listing = Listing(review, Cards(Sheet(frame), [], review.ids))
    text = listing.file("all", "", "csv", whole=True).decode()
    assert "'=1+1" in text
    assert "'+cmd" in text
    assert "'@7" in text
    assert "'-3" not in text
    assert listing.file("skipped", "", "csv", whole=False).startswith(b"row,id,label")

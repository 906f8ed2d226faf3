"""The kind and notation of a text column: all texts of one kind, nearly all of them, or neither."""

import numpy as np
import pytest

from usmo.io import parse_numbers
from usmo.io.infer_types import infer_type


def test_numbers_in_text_take_the_notation_that_fits_the_column():
    def parsed(*texts, comma=False):
        return parse_numbers(texts, comma=comma)[0].tolist()

    assert parsed("1", "-2.5", "1e3", ".5") == [1, -2.5, 1000, 0.5]
    assert parsed("1,234", "5") == [1234, 5]
    assert parsed("1,234", "5", comma=True) == [1.234, 5]
    assert parsed("1.234,5", "2,25") == [1234.5, 2.25]
    assert np.isnan(parsed("1_000", "x", "nan", "0x1", "")).all()


def infer(rows, **options):
    """The decision on a column given row by row, None for a missing value."""
    texts = sorted({text for text in rows if text is not None})
    codes = np.array([-1 if text is None else texts.index(text) for text in rows])
    return infer_type(texts, codes, **options)


DAY = 18341  # 2020-03-20


@pytest.mark.parametrize(
    ("rows", "kind", "notation", "numbers"),
    [
        (["1.5", None, "-2", "1e3"], "number", ".", [1.5, np.nan, -2, 1000]),
        (["$1,234.50", "$-3", "-$4.5", "($5)", "USD 6"], "number", ".$", [1234.5, -3, -4.5, -5, 6]),
        (["1.234,50 €", "3,5 €", "7 EUR", "8"], "number", ",€", [1234.5, 3.5, 7, 8]),
        (["1 234", "2\u00a0345,5", "3\u202f456"], "number", ",", [1234, 2345.5, 3456]),
        (["1'234.5", "2’345"], "number", ".", [1234.5, 2345]),
        (["1,23,456.5", "12"], "number", ".", [123456.5, 12]),
        (["(123)", "5-", "7", "−8"], "number", ".", [-123, -5, 7, -8]),
        (["51.3%", "7 %", "8 percent"], "number", ".%", [51.3, 7, 8]),
        (["5 kg", "6.5kg", "7 kilos"], "number", ".kg", [5, 6.5, 7]),
        (["2 bedrooms", "1 bedroom", "3 bedrooms"], "number", ".bedroom", [2, 1, 3]),
        (["5,-", "6,50", "7,--"], "number", ",", [5, 6.5, 7]),
        (["14:30", "0:15", "1:00:36"], "number", ".h:mm", [14.5, 0.25, 1.01]),
        (["Fr. 12.50", "CHF 3"], "number", ".CHF", [12.5, 3]),
        (["True", "false", None], "boolean", "", [1, 0, np.nan]),
        (["ja", "Nein", "nein"], "boolean", "", [1, 0, 0]),
        (["Y", "N", "y"], "boolean", "", [1, 0, 1]),
        (["oui", "non"], "boolean", "", [1, 0]),
        (["on", "off"], "boolean", "", [1, 0]),
        (["1970-01-02", "1970-01-01T12:00", None], "date", "year-first", [1, 0.5, np.nan]),
        (["20/03/2020", "1/3/2020"], "date", "day-first", [DAY, DAY - 19]),
        (["03/20/2020", "3/1/20"], "date", "month-first", [DAY, DAY - 19]),
        (["20.03.2020 12:00", "01.03.20"], "date", "day-first", [DAY + 0.5, DAY - 19]),
        (["2020/03/20", "2020/3/1"], "date", "year-first", [DAY, DAY - 19]),
        (["Mar 20, 2020", "March 1, 2020"], "date", "month-name", [DAY, DAY - 19]),
        (["20-Mar-2020", "01-MAR-20"], "date", "month-name", [DAY, DAY - 19]),
        (["20. März 2020", "1. Mai 2020"], "date", "month-name", [DAY, DAY + 42]),
        (["2020-03", "2020-04"], "date", "year-month", [DAY - 19, DAY + 12]),
        (["3/20/2020 6:00 PM", "3/20/2020 12:00 AM"], "date", "month-first", [DAY + 0.75, DAY]),
        (["2020-03-20T06:00:00+06:00", "2020-03-20 00:00 UTC"], "date", "year-first", [DAY, DAY]),
        (["2020-03-20 01:00 CET", "2020-03-19T23:30-0030"], "date", "year-first", [DAY, DAY]),
    ],
)
def test_a_column_of_one_kind_becomes_a_number_per_row(rows, kind, notation, numbers):
    found = infer(rows)
    assert (found.kind, found.notation, found.sure, found.n_unread) == (kind, notation, True, 0)
    np.testing.assert_allclose(found.numbers, numbers, atol=1e-12)
    assert infer(rows, kinds=["number"]).kind == ("number" if kind == "number" else "text")


@pytest.mark.parametrize(
    "rows",
    [
        ["A12", "A13", "B1"], ["007", "012", "123"], ["1.2.3", "1.2.4"], ["10-19", "20-29"], ["3rd", "1st"],
        ["12A", "13B"], ["555-1234", "555-4321"], ["m", "f"], ["2019-20", "2020-21"],
        ["32/13/2020", "40/40/2020"], ["12 Oak St", "7 Elm St"],
        ["192.168.0.1", "10.0.0.1"], ["yes", "no", "maybe"], ["1e5x", "2e5y"],
    ],
)  # fmt: skip
def test_codes_ranges_and_words_stay_text(rows):
    assert infer(rows).kind == "text"


def test_a_column_that_does_not_decide_is_read_by_a_rule_and_says_so():
    assert infer(["1,234", "5,678"])[2:4] == (".", False)
    assert infer(["1,234", "5,678"], decimal=",")[2:4] == (",", False)
    assert infer(["1.234", "5.678"], decimal=",")[2:4] == (",", False)
    assert infer(["1.234", "5.678", "0,5"])[2:4] == (",", True)
    assert infer(["1/2/2020", "3/4/2020"])[2:4] == ("day-first", False)
    assert infer(["1/2/2020 3:00 pm", "3/4/2020 4:00 pm"])[2:4] == ("month-first", False)
    assert infer(["1/2/2020", "3/14/2020"])[2:4] == ("month-first", True)


def test_mixed_units_are_no_numbers_and_are_named():
    found = infer([f"{i} kg" for i in range(20)] + [f"{i} lb" for i in range(12)])
    assert (found.kind, found.mixed) == ("text", {"kg": 20, "lb": 12})
    few = infer([f"{i} kg" for i in range(30)] + ["7 lb"])
    assert (few.kind, few.notation, few.unread) == ("number", ".kg", ("7 lb",))


@pytest.mark.parametrize(
    ("good", "bad", "is_number"),
    [(9, 1, True), (8, 1, False), (20, 5, True), (19, 5, False), (20, 6, False)],
)
def test_few_other_texts_among_numbers_or_dates_are_missing_and_many_make_it_text(good, bad, is_number):
    """Limits: other texts in 10 % of the rows, or 5 of them against 20 good ones."""
    words = [f">{i}" for i in range(bad)]
    for right, kind in ((str, "number"), (lambda i: f"2020-01-{i + 1:02d}", "date")):
        found = infer([right(i) for i in range(good)] + words)
        assert found.kind == (kind if is_number else "text")
        if is_number:
            assert (sorted(found.unread), found.n_unread) == (words, bad)
            assert np.isnan(found.numbers).tolist() == [False] * good + [True] * bad


def test_a_kind_that_is_given_is_taken_whatever_the_other_texts_are():
    rows = ["1", "x", "y", "z"]
    found = infer(rows, kinds=["number"], forced=True)
    assert (found.kind, found.n_unread) == ("number", 3)
    assert infer(["007", "012"], kinds=["number"], forced=True).numbers.tolist() == [7, 12]
    assert infer(["x", "y"], kinds=["number"], forced=True).kind == "text"


def test_a_million_different_texts_are_decided_by_a_sample():
    texts = [f"${i:,}.50" for i in range(200_000)]
    found = infer_type(texts, np.arange(len(texts)))
    assert (found.kind, found.notation) == ("number", ".$")
    np.testing.assert_array_equal(found.numbers, np.arange(200_000) + 0.5)

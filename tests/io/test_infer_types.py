"""The kind of a text column: all texts of one kind, nearly all of them (an error), or neither."""

import numpy as np
import pytest

from usmo.io import TableError, parse_numbers
from usmo.io.infer_types import infer_type


def test_numbers_in_text_take_the_notation_that_fits_the_column():
    def parsed(*texts, comma=False):
        return parse_numbers(texts, comma=comma)[0].tolist()

    assert parsed("1", "-2.5", "1e3", ".5") == [1, -2.5, 1000, 0.5]
    assert parsed("1,234", "5") == [1234, 5]
    assert parsed("1,234", "5", comma=True) == [1.234, 5]
    assert parsed("1.234,5", "2,25") == [1234.5, 2.25]
    assert np.isnan(parsed("1_000", "x", "nan", "0x1", "")).all()


class Table:
    source = "the table"

    @staticmethod
    def place(row):
        return f"row {row}"


def infer(rows, **options):
    """The decision on a column given row by row, None for a missing value."""
    texts = sorted({text for text in rows if text is not None})
    codes = np.array([-1 if text is None else texts.index(text) for text in rows])
    return infer_type("c", texts, codes, Table(), **options)


@pytest.mark.parametrize(
    ("rows", "kind", "numbers"),
    [
        (["1.5", None, "-2", "1e3"], "number", [1.5, np.nan, -2, 1000]),
        (["True", "false", None], "boolean", [1, 0, np.nan]),
        (["1970-01-02", "1970-01-01T12:00", None], "date", [1, 0.5, np.nan]),
    ],
)
def test_a_column_of_one_kind_becomes_a_number_per_row(rows, kind, numbers):
    inferred, values, comma = infer(rows)
    assert (inferred, comma) == (kind, False)
    np.testing.assert_array_equal(values, numbers)
    assert infer(rows, kinds=["number"])[0] == ("number" if kind == "number" else "text")


@pytest.mark.parametrize(
    ("good", "bad", "is_refused"),
    [(9, 1, True), (8, 1, False), (20, 5, True), (19, 5, False), (20, 6, False)],
)
def test_few_bad_texts_among_numbers_or_dates_are_refused_and_many_make_it_text(good, bad, is_refused):
    """Limits: bad texts in 10 % of the rows, or 5 bad texts against 20 good ones."""
    words = [f"w{i}" for i in range(bad)]
    for right, kind in ((str, "numbers"), (lambda i: f"2020-01-{i + 1:02d}", "dates")):
        rows = [right(i) for i in range(good)] + words
        if is_refused:
            with pytest.raises(TableError, match=f"the table: row {good}: 'w0' in column 'c' stands among {kind}"):
                infer(rows)
        else:
            assert infer(rows) == ("text", None, False)


def test_a_single_text_above_numbers_is_a_second_header_line_in_a_file_only():
    rows = ["years", "1", "2", "3"]
    with pytest.raises(TableError, match="row 0: 'years' in column 'c' looks like a second header line"):
        infer(rows, from_file=True)
    assert infer(rows)[0] == infer(rows[:3], from_file=True)[0] == infer([*rows, "x"], from_file=True)[0] == "text"

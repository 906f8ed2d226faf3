"""Text that a spreadsheet would run: what is changed, and what is left as it is."""

import pytest

from usmo.io.formulas import shown_as_text, without_formulas


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "-", "--", "+49 1"]
)
def test_a_formula_gets_an_apostrophe(text):
    assert shown_as_text(text) == f"'{text}"


@pytest.mark.parametrize("value", ["-5", "+1.5e3", "-.5", "a=b", "", " =1", "'=1", -5, 2.5, None, True])
def test_numbers_and_other_cells_stay_as_they_are(value):
    assert shown_as_text(value) is value


def test_names_of_columns_are_cells_too():
    assert without_formulas({"=A1": ["x", -1], "n": ["=B2", None]}) == {"'=A1": ["x", -1], "n": ["'=B2", None]}

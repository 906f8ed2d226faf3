"""Which columns matter: effects on single rows, losses over all, and how the page shows them."""

import datetime

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from tests.report.pages import Page, table
from usmo import PUSVC, LinearPUSVC
from usmo.columns import TableEncoder
from usmo.io import Sheet
from usmo.report import build
from usmo.report.context import MOST_LISTED
from usmo.report.influence import effects, grouped, losses
from usmo.report.ranking_table import score_decimals
from usmo.report.source import SourceColumns


@pytest.fixture(scope="module")
def people():
    """The first two columns of X encode one column of the table, the fourth says nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4))
    hidden = np.arange(240) < 100
    X[hidden, :2] += 2.0
    X[hidden, 2] += 0.7
    known = hidden & (np.arange(240) % 2 == 0)
    return X, known, ["job", "job", "age", "noise"]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_effects_of_a_linear_model_are_what_its_columns_add(people, form):
    X, known, names = people
    model, unlabelled = LinearPUSVC(0.4).fit(X, known), np.flatnonzero(~known)
    rows, groups = unlabelled[:5], grouped(names)
    found = effects(model.decision_function, form(X), rows, model.decision_function(X[rows]), groups, unlabelled)
    others = np.random.default_rng(0).choice(unlabelled, 16, replace=False)
    added = model.coef_[0] * (X[rows] - X[others].mean(axis=0))
    np.testing.assert_allclose(found, np.c_[added[:, :2].sum(axis=1), added[:, 2:]], atol=1e-9)


def test_losses_order_the_columns(people):
    X, known, names = people
    model = PUSVC(0.4).fit(X, known)
    lost = losses(model.decision_function, X, np.arange(240), known.astype(int), grouped(names))
    assert lost[0] == max(lost) > 0.1
    assert abs(lost[2]) < 0.1


def test_the_page_shows_values_as_they_are_in_the_table_beside_typical_ones(people):
    X, known, names = people
    cells = {
        "job": np.where(known, "clerk", "miner").tolist(),
        "age": (40 + np.arange(240)).tolist(),
        "noise": [None] * 240,
    }
    text = build(
        model=PUSVC(0.4).fit(X, known), X=X, known=known, groups=names, cells=cells, top=3, made="2026-01-02",
        ignored=["code <b>: looks like an id"], parameters={"command": "usmo rank t.csv --top 3"},
        ranking_file="all rows.csv",
    )  # fmt: skip
    page = Page(text)
    assert "Made on 2026-01-02 with usmo" in page.text
    assert "usmo rank t.csv --top 3" in page.text
    assert page.text.index("1 column was not learnt from: code <b>: looks like an id") < page.text.index(
        "How well"
    )
    assert 'href="./all%20rows.csv"' in text
    ranking = page.text[page.text.index("Unlabelled rows by score") : page.text.rindex("Which columns matter")]
    assert "job miner typical clerk" in ranking
    matter = page.text[page.text.index("Typical unlabelled row") :]
    assert matter.index("job") < matter.index("noise")
    assert "no clear effect" in matter


def test_a_million_rows_asked_for_stay_a_short_page(people):
    X, known, _ = people
    X, known = np.tile(X, (3, 1)), np.tile(known, 3)
    page = Page(build(model=LinearPUSVC(0.4).fit(X, known), X=X, known=known, top=10**6, sensitivity=None))
    assert f"The first {MOST_LISTED} rows" in page.text
    assert "usmo rank writes the ranking of all rows with --output" in page.text


def test_scores_have_the_digits_that_tell_them_apart():
    assert score_decimals(np.array([3.0, 2.0, 1.0])) == 3
    assert score_decimals(1.0 - 1e-6 * np.arange(50)) == 6
    assert score_decimals(np.zeros(5)) == 3


def test_typical_values_are_medians_and_the_most_frequent_texts():
    frame = pl.DataFrame(
        {
            "n": [1.0, 2.0, 900.0, None],
            "day": ["2024-01-01", "2024-03-01", "2024-02-01", None],
            "word": ["a", "b", "b", "b"],
            "id": ["p", "q", "r", "s"],
        }
    )
    for columns in (Sheet(frame), frame.to_dict(as_series=False)):
        source = SourceColumns(columns, 4)
        found = [source.typical(name, np.arange(4)) for name in source.names]
        assert found == [2.0, "2024-02-01", "b", None]
    with pytest.raises(ValueError, match="cells must hold a value for each of the 5 rows"):
        SourceColumns(frame.to_dict(as_series=False), 5)


def test_the_typical_value_of_written_numbers_and_dates_is_their_median():
    numbers, days = np.array([1.5, 2_000.25, 7.0, 310.0, 12.0]), np.array([40, 3, 200, 75, 11])
    dates = [datetime.date(2023, 1, 1) + datetime.timedelta(days=int(day)) for day in days]
    columns = {
        "german": ["1,50", "2.000,25", "7,00", "310,00", "12,00"],
        "dollars": ["$1.50", "$2,000.25", "$7.00", "$310.00", "n.a."],
        "exceptions": [f"{number:.2f} kg" for number in numbers],
        "day first": [f"{date:%d.%m.%Y}" for date in dates],
        "month first": [f"{date:%m/%d/%Y}" for date in dates],
        "time": [f"{date:%Y-%m-%d}T08:00:00Z" for date in dates],
        "code": ["012", "012", "7", "901", "012"],
        "mode": ["yes", "no", "no", "yes", "yes"],
    }
    middle = dates[int(np.argsort(days)[2])]
    expected = [
        "12,00", "$7.00", "12.00 kg", f"{middle:%d.%m.%Y}", f"{middle:%m/%d/%Y}", f"{middle:%Y-%m-%d}", "012", "yes",
    ]  # fmt: skip
    frame = pl.DataFrame({name: values * 4 for name, values in columns.items()})
    for given in (Sheet(frame), frame.to_dict(as_series=False)):
        source = SourceColumns(given, 20)
        assert [source.typical(name, np.arange(5)) for name in columns] == expected
    few = SourceColumns({"day": ["02.03.2024", "01.04.2024", "05.01.2024", "28.02.2024"]}, 4)
    assert few.typical("day", np.arange(3)) == "02.03.2024"  # other rows tell that the day is first


def test_typical_values_are_those_of_the_columns_as_the_encoder_reads_them():
    frame = pl.DataFrame(
        {
            "when": ["03/05/2024", "04/02/2024", "01/06/2024", "12/01/2023", "05/01/2024"] * 4,
            "branch": [10, 30, 10, 50, 70] * 4,
            "v": [[float(k), 1.0] for k in range(20)],
            "x": range(20),
        }
    )
    sheet = Sheet(frame)
    encoder = TableEncoder(kinds={"when": "month-first", "branch": "category"}, embedding_columns=["v"]).fit(sheet)
    rows = np.arange(5)
    found = {name: SourceColumns(sheet, 20, encoder).typical(name, rows) for name in sheet.names}
    assert found == {"when": "03/05/2024", "branch": "10", "v": None, "x": 2.0}
    guessed = SourceColumns(sheet, 20)
    assert (guessed.typical("when", rows), guessed.typical("branch", rows)) == ("04/02/2024", 30.0)


def test_infinite_numbers_are_not_counted_in_a_median():
    assert SourceColumns({"x": ["inf", "-inf", "1", "2", "3"] * 4}, 20).typical("x", np.arange(20)) == "2"


def test_a_known_positive_alone_gives_a_page_with_its_doubts():
    X, known = table()
    known = np.arange(len(X)) == np.flatnonzero(known)[0]
    page = Page(build(model=PUSVC(0.2).fit(X, known), X=X, known=known))
    assert "1 known positives" not in page.text
    assert "1 known positive says little about probabilities" in page.text
    assert "Which columns matter" in page.text


def test_few_known_positives_are_said_to_be_few():
    X, known = table()
    known = known & (np.cumsum(known) <= 6)
    model = PUSVC(lam="cv").fit(X, known)
    page = Page(build(model=model, X=X, known=known, sensitivity=None))
    assert "6 known positives say little about the share of positives, λ and probabilities" in page.text
    assert (
        "6 known positives say little about λ and probabilities:"
        in Page(build(model=PUSVC(0.2, lam="cv").fit(X, known), X=X, known=known, sensitivity=None)).text
    )

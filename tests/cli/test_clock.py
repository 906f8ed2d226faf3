"""Timestamps on the command line: the hour alone finds the positives, and the column stays one column."""

from datetime import datetime, timedelta

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from tests.cli.command_line import called, rows_of
from tests.report.pages import Page
from usmo.cli import main

OPTIONS = ["--label-column", "known", "--positive", "yes", "--id-column", "id", "--prior", "0.3", "--lam", "0.01"]


@pytest.fixture(scope="module")
def transactions(tmp_path_factory):
    """Transactions of half a year; those between 1 and 5 at night are the positives, and half of them are known."""
    rng = np.random.default_rng(0)
    folder, n = tmp_path_factory.mktemp("clock"), 500
    hidden = rng.random(n) < 0.3
    hours = np.where(hidden, rng.uniform(1, 5, n), rng.uniform(7, 23, n))
    days = rng.integers(0, 180, n).tolist()
    moments = [
        datetime(2024, 1, 1) + timedelta(days=day, hours=hour) for day, hour in zip(days, hours, strict=True)
    ]
    known = hidden & (rng.random(n) < 0.5)
    for name, form in (("times.csv", "%Y-%m-%d %H:%M:%S"), ("days.csv", "%Y-%m-%d")):
        lines = [
            f"r{i},{moments[i].strftime(form)},{rng.normal():.3f},{'yes' if known[i] else ''}\n" for i in range(n)
        ]
        (folder / name).write_text("id,when,amount,known\n" + "".join(lines))
    return folder, hidden


def auc(ranking, hidden):
    rows = rows_of(ranking)
    return roc_auc_score(hidden[[int(row["row"]) - 1 for row in rows]], [float(row["score"]) for row in rows])


def test_the_hour_alone_tells_the_classes_apart(transactions, capfd):
    folder, hidden = transactions
    found, without = (
        auc(called(capfd, "rank", folder / name, *OPTIONS, "--kernel", "rbf"), hidden)
        for name in ("times.csv", "days.csv")
    )
    assert found > 0.95
    assert without < 0.65


def test_the_default_kernel_ranks_by_the_hour_too(transactions, capfd):
    folder, hidden = transactions
    assert auc(called(capfd, "rank", folder / "times.csv", *OPTIONS), hidden) > 0.95


def test_report_model_and_prediction_take_a_timestamp_as_one_column(transactions, capfd, tmp_path):
    folder, _ = transactions
    report, model = tmp_path / "r.html", tmp_path / "m.usmo"
    made = ["--report", report, "--model", model]
    ranking = rows_of(called(capfd, "rank", folder / "times.csv", *OPTIONS, *made))
    page = Page(report.read_text()).text
    assert "How 2 columns were encoded when: date and time of day" in page
    matter = page[page.index("Order lost (AUC)") :]
    assert matter.index("when100") < matter.index("amount")
    assert "(hour)" not in page
    assert "(weekday)" not in page
    described = called(capfd, "inspect", model)
    assert "  when: date and time of day\n  amount: number\n" in described
    scores = rows_of(called(capfd, "predict", model, folder / "times.csv"))
    by_id = {row["id"]: float(row["score"]) for row in scores}
    np.testing.assert_allclose([by_id[row["id"]] for row in ranking], [float(row["score"]) for row in ranking])


def test_propensity_columns_name_a_timestamp_once(transactions, capfd):
    folder, _ = transactions
    options = [*OPTIONS, "--scenario", "censored", "--propensity-columns", "when", "--kernel", "rbf"]
    assert main([str(each) for each in ["rank", folder / "times.csv", *options]]) == 0
    assert "a logistic function of the column when; its level" in capfd.readouterr().err

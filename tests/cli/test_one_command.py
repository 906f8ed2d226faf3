"""What one command computes and writes, on tables that need no downloaded data."""

import json
import os
from pathlib import Path

import polars as pl

from tests.cli.command_line import FIXED, called, rows_of, table
from usmo import PUSVC
from usmo.cli import fitting
from usmo.datasets import make_customers


def test_the_decision_values_of_the_table_are_computed_once_per_command(tmp_path, monkeypatch, capfd):
    """Ranking, messages, page and JSON of one command come from one evaluation of the fitted model on every row."""
    (tmp_path / "t.csv").write_bytes(table())
    models, evaluated = [], []

    def remembered(*arguments, **options):
        models.append(classifier(*arguments, **options))
        return models[-1]

    def counted(model, X):
        if any(model is each for each in models):  # not the refits of the report
            evaluated.append(X.shape[0])
        return decision_function(model, X)

    classifier, decision_function = fitting.classifier, PUSVC.decision_function
    monkeypatch.setattr(fitting, "classifier", remembered)
    monkeypatch.setattr(PUSVC, "decision_function", counted)
    files = ["--report", tmp_path / "x.html", "--model", tmp_path / "m.usmo"]
    result = json.loads(called(capfd, "rank", tmp_path / "t.csv", *FIXED, *files, "--json"))
    assert evaluated.count(60) == 1  # rows with a column replaced are others
    assert f"The decision marks {result['marked_positive']}." in (tmp_path / "x.html").read_text()
    assert sum(row["decision"] == "positive" for row in result["ranking"]) == result["marked_positive"]
    called(capfd, "fit", tmp_path / "t.csv", *FIXED, *files, "--json")
    assert evaluated.count(60) == 2


def test_the_table_of_the_demo_repeats_the_example_of_the_readme(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert called(capfd, "demo", "--write-table", "bank.csv") == "bank.csv\n"
    bank, (columns, positive) = pl.read_csv("bank.csv"), make_customers()
    assert bank.columns == list(columns)
    assert bank.shape == (1500, 12)
    known = (bank["plan"] == "yes").fill_null(False).to_numpy()
    assert (known.sum(), positive.sum()) == (80, 300)
    assert positive[known].all()
    options = ["--label-column", "plan", "--positive", "yes", "--report", "out.html", "--model", "bank.usmo"]
    ranking = rows_of(called(capfd, "rank", "bank.csv", *options, "--top", "50"))
    assert ranking[0]["id"] == bank["customer"][int(ranking[0]["row"]) - 1]
    assert positive[[int(row["row"]) - 1 for row in ranking]].mean() > 0.6
    assert sorted(os.listdir()) == ["bank.csv", "bank.usmo", "out.html"]
    again = json.loads(called(capfd, "demo", "--write-table", "bank.csv", "--json"))
    assert again == {"table": "bank.csv", "rows": 1500, "known_positives": 80}
    assert pl.read_csv("bank.csv").equals(bank)
    assert called(capfd, "demo", "--write-table", "-") == (tmp_path / "bank.csv").read_text()


def test_a_staged_file_is_synced_and_renamed_once(tmp_path, monkeypatch, capfd):
    (tmp_path / "t.csv").write_bytes(table())
    synced, renamed = [], []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(handle), fsync(handle)))
    monkeypatch.setattr(os, "replace", lambda a, b: (renamed.append(Path(b).name), replace(a, b)))
    names = ["x.html", "m.usmo", "r.csv"]
    options = [each for pair in zip(("--report", "--model", "--output"), names, strict=True) for each in pair]
    monkeypatch.chdir(tmp_path)
    called(capfd, "rank", tmp_path / "t.csv", *FIXED, *options)
    assert len(synced) == 3
    assert [name for name in renamed if name in names] == names

"""What one command computes and writes, on tables that need no downloaded data."""

import json
import os
from pathlib import Path

import polars as pl
from sklearn.datasets import load_breast_cancer

from tests.cli.command_line import FIXED, called, rows_of, table
from usmo import PUSVC
from usmo.cli import fitting


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
    assert evaluated == [60]
    assert f"The decision marks {result['marked_positive']}." in (tmp_path / "x.html").read_text()
    assert sum(row["decision"] == "positive" for row in result["ranking"]) == result["marked_positive"]
    called(capfd, "fit", tmp_path / "t.csv", *FIXED, *files, "--json")
    assert evaluated == [60, 60]


def test_the_table_of_the_demo_repeats_the_example_of_the_readme(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert called(capfd, "demo", "--write-table", "cancer.csv") == "cancer.csv\n"
    cancer, (_, target) = pl.read_csv("cancer.csv"), load_breast_cancer(return_X_y=True)
    assert cancer.columns[:2] == ["id", "mean_radius"]
    assert cancer.shape == (569, 32)
    known, malignant = (cancer["known"] == "yes").fill_null(False).to_numpy(), target == 0
    assert known.sum() == 60
    assert malignant[known].all()
    assert cancer["known"].null_count() == 509
    options = ["--label-column", "known", "--positive", "yes", "--id-column", "id"]
    files = ["--report", "out.html", "--model", "cancer.usmo"]
    ranking = rows_of(called(capfd, "rank", "cancer.csv", *options, *files, "--top", "3"))
    assert len(ranking) == 3
    assert malignant[[cancer["id"].to_list().index(row["id"]) for row in ranking]].all()
    assert sorted(os.listdir()) == ["cancer.csv", "cancer.usmo", "out.html"]
    again = json.loads(called(capfd, "demo", "--write-table", "cancer.csv", "--json"))
    assert again == {"table": "cancer.csv", "rows": 569, "known_positives": 60}
    assert pl.read_csv("cancer.csv").equals(cancer)
    assert called(capfd, "demo", "--write-table", "-") == (tmp_path / "cancer.csv").read_text()


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

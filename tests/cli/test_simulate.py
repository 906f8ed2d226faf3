"""``usmo simulate``: one JSON object, a table, a page, runs that are not repeated, clear errors."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from tests.cli.command_line import called
from tests.review.tables import two_clouds
from usmo.cli import main


@pytest.fixture
def table(tmp_path):
    X, truth = two_clouds(90, 15)
    frame = pl.DataFrame({"id": [f"r{k}" for k in range(90)], **{f"x{i}": X[:, i] for i in range(4)}})
    path = tmp_path / "table.csv"
    frame.with_columns(relevant=pl.Series(np.where(truth, "yes", "no").tolist())).write_csv(path)
    return path


OPTIONS = ("--truth-column", "relevant", "--positive", "yes", "--id-column", "id", "--jobs", "1")


def test_json_is_one_object_with_runs_and_their_mean(table, tmp_path, capfd):
    page, store = tmp_path / "page.html", tmp_path / "runs.jsonl"
    more = ("--seeds", "2", "--json", "--output", str(page), "--store", str(store))
    value = json.loads(called(capfd, "simulate", table, *OPTIONS, *more))
    assert set(value) == {"runs", "mean"}
    assert [run["seed"] for run in value["runs"]] == [0, 1]
    assert set(value["runs"][0]) == {"seed", "wss95", "recall_at", "atd", "stopping"}
    assert set(value["mean"]) == {"wss95", "recall_at", "atd", "stopping"}
    assert set(value["mean"]["recall_at"]) == {"0.05", "0.1", "0.2"}
    assert set(value["runs"][0]["stopping"]["audit"]) == {"reviewed", "saved", "recall", "promised", "kept"}
    assert value["mean"]["wss95"] == pytest.approx(np.mean([run["wss95"] for run in value["runs"]]))
    text = page.read_text()
    assert "Simulated reviews" in text
    assert "http" not in text.replace("http-equiv", "")
    before = store.read_bytes()
    assert json.loads(called(capfd, "simulate", table, *OPTIONS, *more)) == value
    assert store.read_bytes() == before


def test_errors_name_the_option(table, tmp_path, capfd):
    other = tmp_path / "no.jsonl"
    other.write_text("text\n")
    for code, message, *options in (
        (1, "--truth-column: ", "--truth-column", "relevnt"),
        (2, "below the 15 positives", *OPTIONS, "--start", "15"),
        (1, "is not a file of simulated reviews", *OPTIONS, "--store", str(other)),
    ):
        capfd.readouterr()
        assert main(["simulate", str(table), *options]) == code
        assert message in capfd.readouterr().err

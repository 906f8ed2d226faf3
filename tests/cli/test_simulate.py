"""``usmo simulate``: one JSON object, a table, a page, runs that are not repeated, clear errors."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from tests.cli.command_line import usmo
from tests.review.tables import two_clouds


@pytest.fixture
def table(tmp_path):
    X, truth = two_clouds(90, 15)
    frame = pl.DataFrame({"id": [f"r{k}" for k in range(90)], **{f"x{i}": X[:, i] for i in range(4)}})
    path = tmp_path / "table.csv"
    frame.with_columns(relevant=pl.Series(np.where(truth, "yes", "no").tolist())).write_csv(path)
    return path


OPTIONS = ("--truth-column", "relevant", "--positive", "yes", "--id-column", "id", "--jobs", "1")


def test_json_is_one_object_with_runs_and_their_mean(table, tmp_path):
    page, store = tmp_path / "page.html", tmp_path / "runs.jsonl"
    more = ("--seeds", "2", "--json", "--output", str(page), "--store", str(store))
    result = usmo("simulate", table, *OPTIONS, *more)
    assert result.code == 0, result.err
    value = json.loads(result.out)
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
    again = usmo("simulate", table, *OPTIONS, *more)
    assert json.loads(again.out) == value
    assert store.read_bytes() == before


def test_errors_name_the_option(table, tmp_path):
    wrong = usmo("simulate", table, "--truth-column", "relevnt", "--positive", "yes")
    assert wrong.code == 1
    assert "--truth-column" in wrong.err
    assert "relevant" in wrong.err
    many = usmo("simulate", table, *OPTIONS, "--start", "15")
    assert many.code == 2
    assert "below the 15 positives" in many.err
    other = tmp_path / "no.jsonl"
    other.write_text("text\n")
    assert "is not a file of simulated reviews" in usmo("simulate", table, *OPTIONS, "--store", str(other)).err

"""``usmo simulate``: one JSON object, a table, a page, runs that are not repeated, clear errors."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from tests.cli.command_line import called
from tests.review.tables import two_clouds
from usmo.cli import main
from usmo.cli.simulate import _digest
from usmo.review.simulation import Plan


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


def test_options_of_reading_have_their_effect(table, capfd):
    assert main(["simulate", str(table), *OPTIONS, "--encoding", "nonsense", "--dry-run"]) == 1
    assert "nonsense" in capfd.readouterr().err
    first = pl.arange(90) < 30
    pl.read_csv(table).with_columns(x0=pl.when(first).then(-999).otherwise("x0")).write_csv(table)
    assert main(["simulate", str(table), *OPTIONS, "--missing=-999", "--seeds", "10", "--dry-run"]) == 0
    found = capfd.readouterr()
    assert "30 missing" in found.err
    assert json.loads(found.out) == {"would": "simulate reviews", "reviews": 10, "rows": 90, "positives": 15}


def test_runs_of_a_sparse_table_with_the_same_values_in_other_columns_are_not_reused():
    truth, plan = np.array([True, False]), Plan("top", ("audit",), 1)
    one = sparse.csr_matrix(([1.0, 2.0], ([0, 1], [0, 1])), shape=(2, 3))
    other = sparse.csr_matrix(([1.0, 2.0], ([0, 1], [2, 1])), shape=(2, 3))
    assert _digest(one, truth, plan) == _digest(one.copy(), truth, plan)
    assert _digest(one, truth, plan) != _digest(other, truth, plan)

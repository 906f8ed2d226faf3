"""The reproduction: the three F-measures, resuming, the stopping test, the pages, the command."""

import csv
import subprocess
import sys

import numpy as np
import pytest

from tests.oracles import needs_data
from usmo import cli
from usmo.core.labels import pu_problem
from usmo.datasets import SMALL
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix
from usmo.reproduce import cells, figure_report, figures, report, stopping, tables


def test_the_three_f_measures_by_hand():
    y = np.array([1, 1, 0, 0, 0, 1])
    unlabelled = np.array([1, 2, 3, 4])  # rows 0 and 5 are labelled; truth there 1 0 0 0: majority 0
    f = np.array([1.0, -1.0, -1.0, 1.0, -1.0, 1.0])
    scores = cells.scores(f, y, unlabelled)
    # by position: predictions 1 0 0 1 against 1 0 0 0; class 0: hits 2, predicted 2, true 3
    assert scores["by_position"] == pytest.approx(100 * 4 / 5)
    # row by row: predictions 0 0 1 0; class 0: hits 2, predicted 3, true 3
    assert scores["aligned"] == pytest.approx(100 * 4 / 6)
    assert scores["f1"] == 0.0
    assert scores["auc"] == pytest.approx(100 / 3)


def test_published_numbers_are_complete():
    published = tables.published()
    assert len(published) == 2 * 12 * 4 * 4
    usmo = [published["linear", name, 0.1, "usmo"] for name in SMALL]
    assert np.mean(usmo) == pytest.approx(74.3, abs=0.05)


@needs_data
def test_tables_are_resumed_and_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "QUICK", ("heart",))
    monkeypatch.setattr(tables, "LAMBDAS", (1e-2,))
    rows = tables.run(tmp_path, 1, quick=True, jobs=1)
    assert {row["method"] for row in rows} == set(cells.METHODS)
    text = (tmp_path / "tables.csv").read_text()
    (tmp_path / "tables.csv").write_text(text[: len(text) - 20])  # killed while writing the last line
    calls = []
    real = tables.run_cell
    monkeypatch.setattr(tables, "run_cell", lambda *cell: calls.append(cell) or real(*cell))
    again = tables.run(tmp_path, 1, quick=True, jobs=1)
    assert len(calls) == 1
    assert len({(r["kernel"], r["method"]) for r in again}) == 8
    assert tables.run(tmp_path, 1, quick=True, jobs=1)
    assert len(calls) == 1
    difference, _ = tables.largest_difference(again, "usmo", "double_hinge_qp", "f1")
    assert difference <= 0.3
    stopped = stopping.run(tmp_path, names=("heart",))
    assert list(csv.DictReader((tmp_path / "stopping.csv").open()))
    assert all(row["missing_pair"] <= row["violation"] + 1e-9 for row in stopped)
    page = report.write(tmp_path, again, stopped).read_text()
    assert page.count("<table>") == 4
    assert "data:image/png;base64," in page
    assert "http" not in page.replace("http-equiv", "")


def test_published_test_misses_two_rows_at_h():
    """Two rows at σ = h whose f differ by ten satisfy the published conditions, not the complete ones."""
    X = np.array([[0.0], [10.0], [0.0]])
    problem = pu_problem(0.5, 0.05, np.array([0]), np.array([1, 2]))
    matrix = KernelMatrix(X + 1.0, Kernel("linear"))
    K = matrix.block(problem.c_rows, problem.c_rows)
    sigma = 0.5 * problem.c
    G = np.array([10.0, 0.0])
    stays, moves = sigma.copy(), sigma.copy()
    assert stopping._steps(stays, G.copy(), K, problem.c, 1e-3, False, 100) == 0
    assert stopping._steps(moves, G.copy(), K, problem.c, 1e-3, True, 100) > 0
    np.testing.assert_array_equal(stays, sigma)


@needs_data
def test_complete_test_ends_at_the_optimum():
    problem, matrix, _ = cells.cell_problem("heart", "gaussian", 1e-3, 0)
    sigma, G, _ = stopping.stopped_at(problem, matrix, complete=True)
    assert problem.kkt_violation(sigma, G) <= 1e-3 + 1e-9


@needs_data
def test_figures_are_resumed_and_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "QUICK", (("shuttle", 1), ("shuttle", 6)))
    monkeypatch.setattr(figures, "SIZES", (200, 300, 1000))
    rows = figures.run(tmp_path, quick=True)
    assert {(row["task"], row["method"]) for row in rows} == {
        (task, method) for task in ("shuttle 1", "shuttle 6") for method in ("fast", "usmo", "qp", "ramp")
    }
    by_method = {row["method"]: row["f_measure"] for row in rows if (row["task"], row["n"]) == ("shuttle 1", 300)}
    assert by_method["fast"] == pytest.approx(by_method["usmo"], abs=0.3)
    assert by_method["qp"] == pytest.approx(by_method["usmo"], abs=0.3)
    monkeypatch.setattr(figures, "curve", None)  # nothing is computed twice
    assert str(figures.run(tmp_path, quick=True)) == str(rows)
    runs = figures.passes((200, 300))
    assert [run["n"] for run in runs] == [200, 300]
    page = figure_report.write(tmp_path, rows, runs).read_text()
    assert page.count("<img") == 5


@needs_data
def test_quick_commands_write_their_pages(tmp_path):
    """What a reader types, in the version that takes a minute."""
    for what in ("tables", "figures"):
        assert cli.main(["reproduce", what, "--quick", "--out", str(tmp_path)]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert {"tables.csv", "stopping.csv", "averages.md", "figures-quick.csv"} <= names
    assert len(list(tmp_path.glob("*.html"))) == 2


@pytest.mark.parametrize(
    ("what", "missing"), [("tables", "australian.npz, heart.npz"), ("figures", "shuttle.npz")]
)
def test_missing_data_and_libraries_are_named_together_before_any_work(
    tmp_path, monkeypatch, capsys, what, missing
):
    monkeypatch.setenv("USMO_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("USMO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "clarabel", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert cli.main(["reproduce", what, "--quick", "--out", str(tmp_path / "out")]) == 1
    message = capsys.readouterr().err
    assert 'usmo reproduce needs clarabel, matplotlib: pip install "usmo-learn[reproduce]"' in message
    assert f"and {missing}" in message
    assert "set USMO_DATA to the folder that holds them" in message
    assert message.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_tables_on_openml_are_downloaded_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setenv("USMO_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("USMO_CACHE", str(tmp_path / "cache"))
    fetched = []
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda data_id, **_: fetched.append(data_id) or 1 / 0)
    monkeypatch.setattr(tables, "QUICK", ("ionosphere",))
    with pytest.raises(FileNotFoundError, match=r"OpenML \(data set 59\) cannot be reached"):
        tables.run(tmp_path / "out", 1, quick=True)
    assert fetched == [59]
    assert not (tmp_path / "out").exists()


def test_command_line():
    assert cli.main(["reproduce", "everything"]) == 2
    assert cli.main(["reproduce", "tables", "--draws", "0"]) == 2
    shown = subprocess.run([sys.executable, "-m", "usmo", "reproduce", "--help"], capture_output=True, text=True)
    assert shown.returncode == 0
    assert "Example: usmo reproduce tables" in shown.stdout

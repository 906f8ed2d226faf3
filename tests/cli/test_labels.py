"""Known negatives, costs and propensities from the command line."""

import json

import numpy as np
import pytest

import usmo
from tests.cli.command_line import program


def run(*arguments, check=True):
    result = program(*arguments, text=True)
    assert not check or result.returncode == 0, result.stderr
    return result


def _three_kinds(folder):
    """A table with known positives, known negatives and rows without a label, and their propensities."""
    rng = np.random.default_rng(0)
    truth = np.arange(200) < 60
    x = rng.normal(size=(200, 2)) + 2.0 * truth[:, None]
    label = np.where(truth & (rng.random(200) < 0.5), "yes", "")
    label = np.where(~truth & (rng.random(200) < 0.2), "no", label)
    lines = [
        f"{a:.4f},{b:.4f},{word},{0.5 if word == 'yes' else ''}" for (a, b), word in zip(x, label, strict=True)
    ]
    path = folder / "three.csv"
    path.write_text("a,b,known,chance\n" + "\n".join(lines) + "\n")
    return path, label


def test_known_negatives_are_recognised_used_and_reported(tmp_path):
    path, label = _three_kinds(tmp_path)
    options = [
        "--label-column",
        "known",
        "--positive",
        "yes",
        "--ignore",
        "chance",
        "--prior",
        "0.2",
        "--lam",
        "0.01",
    ]
    plain = run("rank", path, *options, "--json")
    assert f"known: 'no' ({(label == 'no').sum()} rows) count as unlabelled" in plain.stderr
    assert "--negative no" in plain.stderr
    model, page = tmp_path / "m.usmo", tmp_path / "p.html"
    result = run("rank", path, *options, "--negative", "no", "--model", model, "--report", page, "--json")
    summary = json.loads(result.stdout)
    assert summary["known_negatives"] == (label == "no").sum()
    assert len(summary["ranking"]) == (label == "").sum()  # rows that are known are not ranked
    assert "known negatives" in result.stderr
    assert "known negative" in page.read_text()
    fitted = usmo.load(model).named_steps["model"]
    assert 0 < fitted.eta_ < 1
    again = run("report", model, path, "--output", tmp_path / "q.html")
    assert "not the one" not in again.stderr
    inspected = run("inspect", model)
    assert "negative: no" in inspected.stdout
    assert "class_weight: balanced" in inspected.stdout


def test_costs_and_propensities_from_the_command_line(tmp_path):
    path, label = _three_kinds(tmp_path)
    options = ["--label-column", "known", "--positive", "yes", "--negative", "no", "--lam", "0.01"]
    model = tmp_path / "m.usmo"
    run(
        "fit", path, *options, "--propensity-column", "chance", "--scenario", "censored", "--class-weight", "3",
        "--model", model, "--report", tmp_path / "p.html",
    )  # fmt: skip
    fitted = usmo.load(model).named_steps["model"]
    assert fitted.class_weight == {0: 1.0, 1: 3.0}
    assert fitted.prior_ == pytest.approx((label == "yes").sum() / 0.5 / 200)
    assert fitted.propensity_ == (0.5, 0.5)
    assert "between 0.5 and\n0.5" in (tmp_path / "p.html").read_text()
    for extra, message in (
        (["--group-column", "known"], "must name a group in every row, got none in row"),
        (["--group-column", "patient"], "--group-column"),
        (["--class-weight", "0.5"], "must be 'balanced', 'none' or a number of at least 1, got '0.5'"),
        (["--propensity-column", "a", "--scenario", "censored"], "must hold numbers above 0 and up to 1"),
        (["--propensity-column", "chance"], "propensity needs --scenario censored, got --scenario case-control"),
        (["--negative", "nope"], "no row has 'nope'"),
    ):
        failed = run("fit", path, *options, *extra, "--model", tmp_path / "n.usmo", check=False)
        assert failed.returncode in (1, 2)
        assert message in failed.stderr
    assert not (tmp_path / "n.usmo").exists()


def test_rows_of_a_group_are_held_out_together_and_their_column_is_not_learnt_from(tmp_path):
    """The truth is noise that each group repeats: a division of rows finds it, one of groups does not."""
    rng = np.random.default_rng(1)
    patient = np.repeat(np.arange(40), 5)
    x = rng.normal(size=(40, 3))[patient] + 0.01 * rng.normal(size=(200, 3))
    known = np.isin(patient, np.arange(12)) & (rng.random(200) < 0.5)
    lines = [
        f"p{p},{a:.4f},{b:.4f},{c:.4f},{'yes' if k else ''}"
        for p, (a, b, c), k in zip(patient, x, known, strict=True)
    ]
    path = tmp_path / "visits.csv"
    path.write_text("patient,a,b,c,known\n" + "\n".join(lines) + "\n")
    options = ["--label-column", "known", "--positive", "yes", "--prior", "0.15", "--kernel", "rbf", "--json"]
    by_row = json.loads(run("rank", path, *options, "--ignore", "patient").stdout)
    model, page = tmp_path / "m.usmo", tmp_path / "page.html"
    grouped = [*options, "--group-column", "patient"]
    by_group = json.loads(run("rank", path, *grouped, "--model", model).stdout)
    assert by_row["quality"]["auc"] > by_group["quality"]["auc"] + 0.15
    pipeline = usmo.load(model)
    assert list(pipeline.named_steps["columns"].get_feature_names_out()) == ["a", "b", "c"]
    first = [[row["score"] for row in answer["ranking"]] for answer in (by_row, by_group)]
    np.testing.assert_allclose(first[0], first[1])
    run("report", model, path, "--output", page)
    assert "rows of one group together" in " ".join(page.read_text().split())
    chosen = json.loads(run("select", path, *grouped).stdout)
    assert chosen["lam"] > 0
    estimates = [json.loads(run("prior", path, *options[:4], "--json", *extra).stdout) for extra in
                 (["--ignore", "patient"], ["--group-column", "patient"])]  # fmt: skip
    assert estimates[0] != estimates[1]


def test_propensities_are_estimated_by_the_score_and_by_columns_of_the_table(tmp_path):
    rng = np.random.default_rng(0)
    place, amount = rng.choice(["north", "south"], 500), rng.normal(size=500).round(3)
    positive = amount + 0.3 * rng.normal(size=500) > 0.5
    known = positive & (rng.random(500) < np.where(place == "north", 0.9, 0.15))
    path = tmp_path / "places.csv"
    lines = [f"{p},{a},{'yes' if k else ''}" for p, a, k in zip(place, amount, known, strict=True)]
    path.write_text("place,amount,known\n" + "\n".join(lines) + "\n")
    options = ["--label-column", "known", "--positive", "yes", "--kernel", "rbf", "--prior", "0.3"]
    model, page = tmp_path / "m.usmo", tmp_path / "p.html"
    result = run(
        "rank", path, *options, "--scenario", "censored", "--propensity-columns", "place", "--model", model,
        "--report", page, "--json",
    )  # fmt: skip
    assert "assumed to be a logistic function of the column place" in result.stderr
    low, high = json.loads(result.stdout)["propensity"]
    assert low < 0.5 * high
    assert "as a logistic function of\nthe column place" in page.read_text()
    fitted = usmo.load(model).named_steps["model"]
    assert fitted.propensity_ == (low, high)
    by_score = run("fit", path, *options, "--scenario", "censored", "--propensity", "estimate", "--model", model)
    assert "a logistic function of the score, and increasing with it" in by_score.stderr
    for extra, message in (
        (["--propensity-columns", "plaice", "--scenario", "censored"], "place"),
        (["--propensity-columns", "known", "--scenario", "censored"], "is not learnt from"),
        (["--propensity-columns", ",", "--scenario", "censored"], "must name columns of the table, got ','"),
    ):
        failed = run("fit", path, *options, *extra, "--model", tmp_path / "n.usmo", check=False)
        assert failed.returncode in (1, 2)
        assert message in failed.stderr
    assert not (tmp_path / "n.usmo").exists()


def test_a_prior_from_known_negatives_asks_for_them_in_the_words_of_the_command_line(tmp_path):
    path, _ = _three_kinds(tmp_path)
    result = run("prior", path, "--label-column", "known", "--method", "negatives-only", check=False)
    assert "negatives-only needs at least 2 known negatives" in result.stderr
    assert "--negative" in result.stderr.splitlines()[-1]

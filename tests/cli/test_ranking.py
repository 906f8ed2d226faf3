"""The ranking as a table: rows with their own columns, ids recognised, nothing that a spreadsheet would run."""

import json
import re

import polars as pl
import pytest

from tests.cli.command_line import called, rows_of
from usmo.cli import main
from usmo.cli.answers import beside, share_marked

OPTIONS = ["--label-column", "known", "--positive", "yes", "--prior", "0.2", "--lam", "0.01"]
OWN = ["rank", "row", "id", "score", "probability", "decision"]


@pytest.fixture
def people(tmp_path):
    """A table with a column of ids, one called score, a date, a gap and cells that a spreadsheet would run."""
    frame = pl.DataFrame(
        {
            "who": [f"p{i}" for i in range(60)],
            "age": [20 + 7 * i % 41 for i in range(60)],
            "score": [None if i == 40 else 0.5 * i for i in range(60)],
            "since": [f"2024-01-{1 + i % 28:02d}" for i in range(60)],
            "note": [("=1+1", "-3 kg", "plain")[i % 3] for i in range(60)],
            "known": ["yes" if i < 15 else None for i in range(60)],
        }
    )
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    return tmp_path


def test_a_ranking_carries_the_columns_of_each_row(people, capfd):
    table = rows_of((people / "t.csv").read_text())
    found = rows_of(called(capfd, "rank", people / "t.csv", *OPTIONS))
    assert list(found[0]) == [*OWN, "age", "table.score", "since", "note"]
    assert len(found) == 45
    for row in found:
        source = table[int(row["row"]) - 1]
        assert (row["id"], row["age"], row["since"]) == (source["who"], source["age"], source["since"])
        assert (row["table.score"] or None) == (None if source["score"] == "" else source["score"])


@pytest.mark.parametrize(
    ("asked", "names"),
    [("age,note", ["age", "note"]), ("none", []), ("known", ["known"]), (" since , age ", ["since", "age"])],
)
@pytest.mark.parametrize("output", ["o.csv", "o.parquet", "o.jsonl"])
def test_columns_chooses_them_in_every_format(people, capfd, asked, names, output):
    target = people / output
    result = called(
        capfd, "rank", people / "t.parquet", *OPTIONS, "--columns", asked, "--output", target, "--json"
    )
    assert list(json.loads(result)["ranking"][0]) == [*OWN, *names]
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}[output.split(".")[1]]
    assert read(target).columns == [*OWN, *names]


def test_an_unknown_column_is_refused_before_the_fit(people, capfd):
    assert main(["rank", str(people / "t.csv"), *OPTIONS, "--columns", "agee"]) == 1
    said = capfd.readouterr().err
    assert "--columns: " in said
    assert "'age'" in said
    assert "fitting" not in said


def test_the_id_column_is_recognised_and_kept_by_the_model(people, capfd):
    capfd.readouterr()
    assert main(["rank", str(people / "t.csv"), *OPTIONS, "--model", str(people / "m.usmo")]) == 0
    out, err = capfd.readouterr()
    assert "rows are named by column who; --id-column names another" in err
    scores = {row["id"]: row["score"] for row in rows_of(out)}
    predicted = rows_of(called(capfd, "predict", people / "m.usmo", people / "t.csv", "--columns", "age"))
    assert list(predicted[0]) == [*OWN[1:], "age"]
    assert {row["id"]: row["score"] for row in predicted if row["id"] in scores} == scores


def test_without_ids_rows_have_their_numbers_only(people, capfd):
    pl.read_csv(people / "t.csv").drop("who").write_csv(people / "u.csv")
    found = rows_of(called(capfd, "rank", people / "u.csv", *OPTIONS, "--columns", "none"))
    assert list(found[0]) == [name for name in OWN if name != "id"]


def test_no_cell_of_a_csv_ranking_runs_in_a_spreadsheet(people, capfd):
    found = rows_of(called(capfd, "rank", people / "t.csv", *OPTIONS, "--columns", "note"))
    assert {row["note"] for row in found} == {"'=1+1", "'-3 kg", "plain"}
    assert min(float(row["score"]) for row in found) < 0  # numbers with a sign stay numbers
    exact = json.loads(called(capfd, "rank", people / "t.csv", *OPTIONS, "--columns", "note", "--json"))
    assert {row["note"] for row in exact["ranking"]} == {"=1+1", "-3 kg", "plain"}


def test_a_model_given_for_a_table_and_a_table_for_a_model_are_named_as_such(people, capfd):
    table, model = str(people / "t.csv"), str(people / "m.usmo")
    called(capfd, "fit", table, *OPTIONS, "--model", model)
    for arguments, message in (
        (["rank", model, *OPTIONS], f"{model} is a model file, not a table"),
        (["predict", model, model], f"{model} is a model file, not a table"),
        (["predict", table, model], f"{table} is a table, not a model file"),
        (["inspect", table], f"{table} is a table, not a model file"),
    ):
        assert main(arguments) == 1
        assert message in capfd.readouterr().err


@pytest.mark.parametrize("lam", ["0.01", "cv"])
def test_the_page_the_answer_and_the_model_file_have_the_same_quality(people, capfd, lam):
    page, model = people / "r.html", people / "m.usmo"
    options = [*OPTIONS, "--lam", lam, "--report", page, "--model", model, "--json"]
    answer = json.loads(called(capfd, "rank", people / "t.csv", *options))["quality"]
    stored = json.loads(called(capfd, "inspect", model, "--json"))["extra"]["summary"]["quality"]
    assert stored == answer
    for measure in ("recall", "precision", "AUC"):
        shown = re.search(rf"\({measure}\)<small>.*?</small></th><td class=\"n\">([0-9.]+)<", page.read_text())
        assert shown[1] == f"{answer[measure.lower()]:.2f}"


def test_one_known_positive_gives_a_ranking_and_a_page(people, capfd):
    lines = (people / "t.csv").read_text().splitlines()
    text = "\n".join([*lines[:2], *(line.removesuffix("yes") for line in lines[2:])])
    (people / "one.csv").write_text(text)
    capfd.readouterr()
    options = ["--label-column", "known", "--positive", "yes", "--report", str(people / "r.html")]
    assert main(["rank", str(people / "one.csv"), *options]) == 0
    out, err = capfd.readouterr()
    assert len(rows_of(out)) == 59
    assert "60 rows, 1 known positive," in err
    assert "note: 1 known positive cannot tell the share of positives: --prior 0.05 assumed" in err
    assert "prior 0.050 (assumed)" in err
    page = (people / "r.html").read_text()
    assert "1 known positive says little about" in page
    assert "1 known positives" not in page + err


def test_three_known_positives_do_not_tell_the_prior(people, capfd):
    lines = (people / "t.csv").read_text().splitlines()
    (people / "three.csv").write_text("\n".join([*lines[:4], *(line.removesuffix("yes") for line in lines[4:])]))
    capfd.readouterr()
    options = ["--label-column", "known", "--positive", "yes", "--model", str(people / "m.usmo")]
    assert main(["rank", str(people / "three.csv"), *options]) == 0
    err = capfd.readouterr().err
    assert "3 known positives cannot tell the share of positives: --prior 0.05 assumed" in err
    assert "prior 0.0500 (assumed)" in called(capfd, "inspect", people / "m.usmo")


@pytest.mark.parametrize(
    ("options", "assumed"),
    [
        (["--scenario", "censored"], "tell the share of positives: --prior 0.0975 assumed. The order"),
        (["--prior", "0.3", "--lam", "cv"], "tell lambda: --lam auto assumed\n"),
        (
            ["--kernel", "auto"],
            "tell the share of positives and the kernel: --prior 0.05 and --kernel forest+rbf as",
        ),
    ],
)
def test_what_three_known_positives_do_not_tell_is_assumed(people, capfd, options, assumed):
    """In the censored scenario the prior counts the labelled rows too, 3 of 60."""
    lines = (people / "t.csv").read_text().splitlines()
    (people / "three.csv").write_text("\n".join([*lines[:4], *(line.removesuffix("yes") for line in lines[4:])]))
    capfd.readouterr()
    assert main(["rank", str(people / "three.csv"), "--label-column", "known", "--positive", "yes", *options]) == 0
    assert f"3 known positives cannot {assumed}" in capfd.readouterr().err


def test_a_warning_names_the_option(tmp_path, capfd):
    (tmp_path / "t.csv").write_text("a,known\n1,yes\n1,\n2,\n")
    options = ["--label-column", "known", "--positive", "yes", "--lam", "1e6"]
    assert main(["rank", str(tmp_path / "t.csv"), *options]) == 0
    assert "has no meaning. Lower --lam, or" in capfd.readouterr().err


def test_a_prior_that_follows_from_propensities_is_not_called_given(people, capfd):
    pl.read_csv(people / "t.csv").with_columns(e=0.5).write_csv(people / "e.csv")
    capfd.readouterr()
    options = [
        "--label-column",
        "known",
        "--positive",
        "yes",
        "--propensity-column",
        "e",
        "--scenario",
        "censored",
    ]
    assert main(["rank", str(people / "e.csv"), *options, "--model", str(people / "m.usmo")]) == 0
    assert "(follows from the propensities)" in capfd.readouterr().err
    assert "(follows from the propensities)" in called(capfd, "inspect", people / "m.usmo")


def test_no_column_is_lost_to_an_equal_name():
    found = beside({"score": [1]}, {"score": [2], "table.score": [3], "table.id": [4], "id": [5], "x": [6]})
    assert found == {
        "score": [1], "table.table.score": [2], "table.score": [3], "table.id": [4], "table.table.id": [5], "x": [6],
    }  # fmt: skip


def test_a_page_of_a_short_ranking_does_not_promise_all_rows(people, capfd):
    page, short = people / "r.html", people / "top.csv"
    called(capfd, "rank", people / "t.csv", *OPTIONS, "--top", "5", "--output", short, "--report", page)
    assert "all rows is in" not in page.read_text()
    assert 'The ranking is also in <a href="./top.csv">' in page.read_text()


def test_a_report_on_another_table_says_so(people, capfd):
    model, page = people / "m.usmo", people / "r.html"
    called(capfd, "fit", people / "t.csv", *OPTIONS, "--model", model)
    pl.read_csv(people / "t.csv").with_columns(pl.col("age") + 1).write_csv(people / "other.csv")
    called(capfd, "report", model, people / "other.csv", "--output", page)
    text = page.read_text()
    assert "The model was fitted on another table than this one." in text
    for false_here in (
        "a score was learnt:",
        "fair sample of all positives",
        "model.fit(X",
        "held out",
        "say little",
    ):
        assert false_here not in text
    called(capfd, "report", model, people / "t.csv", "--output", page)
    assert "another table" not in page.read_text()


def test_a_command_without_use_says_so(people, capfd):
    noise = pl.DataFrame(
        {
            "x": [(i * 7919) % 1009 / 8 for i in range(400)],
            "known": ["yes" if i % 9 == 0 else None for i in range(400)],
        }
    )
    noise.with_columns(z=pl.Series([(i * 104729) % 997 / 8 for i in range(400)])).write_csv(people / "noise.csv")
    capfd.readouterr()
    options = ["--label-column", "known", "--positive", "yes", "--prior", "0.2"]
    assert main(["rank", str(people / "noise.csv"), *options]) == 0
    err = capfd.readouterr().err
    assert "no better than chance" in err or "of the marks or more are false alarms" in err


@pytest.mark.parametrize(
    ("marked", "rows", "said"),
    [
        (0, 45, "0 of 45 rows are marked as positive"),
        (1, 1, "1 of 1 row is marked as positive"),
        (1234, 12345, "1,234 of 12,345 rows are marked as positive"),
    ],
)
def test_the_share_marked_counts_both_numbers_alike(marked, rows, said):
    assert share_marked(marked, rows, "row") == said

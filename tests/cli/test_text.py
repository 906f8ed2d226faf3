"""Tables with text and vectors on the command line."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.command_line import called, rows_of
from tests.tables_of_text import CHINESE, documents
from usmo.cli import main
from usmo.io import write

LABELS = ["--label-column", "known", "--positive", "yes"]
FIXED = [*LABELS, "--prior", "0.4", "--lam", "0.01"]
N = 80
VECTORS = np.random.default_rng(0).normal(size=(N, 5)) + np.arange(N)[:, None] % 2 * 3


@pytest.fixture
def papers(tmp_path):
    """A table whose even rows are about one subject; ten of them are known."""
    table = {
        "id": [f"doc-{i}" for i in range(N)],
        "Title": documents(N, length=4, seed=1),
        "abstract": [None if i % 9 == 0 else text for i, text in enumerate(documents(N, length=30))],
        "year": [str(1990 + i % 7) for i in range(N)],
        "note": [f"{i % 4} of a few" for i in range(N)],
        "known": ["yes" if i % 2 == 0 and i < 20 else None for i in range(N)],
    }
    write(table, tmp_path / "t.csv")
    write({**table, "vector": pl.Series(VECTORS.tolist())}, tmp_path / "t.parquet")
    pl.read_parquet(tmp_path / "t.parquet").write_ndjson(tmp_path / "t.jsonl")
    np.save(tmp_path / "v.npy", VECTORS)
    return tmp_path


def subjects(output):
    """Whether each ranked row is about the subject of the known ones."""
    return np.array([(int(row["row"]) - 1) % 2 == 0 for row in rows_of(output)])


def test_rank_learns_from_text_with_nothing_else_said(papers, capfd):
    capfd.readouterr()
    options = ["--report", papers / "r.html", "--model", papers / "m.usmo", "--output", papers / "o.csv"]
    assert main(["rank", str(papers / "t.csv"), *FIXED, *map(str, options)]) == 0
    said = capfd.readouterr().err
    for part in (
        "id: ignored, text with 80 different values", "Title: text, ", "abstract: text, ", "9 missing",
        "year: number", "note: 4 categories", "the kernel is linear, the default for text",
    ):  # fmt: skip
        assert part in said
    ranked = subjects((papers / "o.csv").read_text())
    assert ranked[:30].mean() > 0.9
    page, first = (papers / "r.html").read_text(), rows_of((papers / "o.csv").read_text())[0]
    titles = documents(N, length=4, seed=1)
    assert titles[int(first["row"]) - 1] in page
    assert ">for " in page
    assert ">against " in page
    scores = rows_of(called(capfd, "predict", papers / "m.usmo", papers / "t.csv"))
    assert {row["row"]: row["score"] for row in scores}[first["row"]] == first["score"]
    again = called(capfd, "report", papers / "m.usmo", papers / "t.csv", "--output", papers / "again.html")
    assert titles[int(first["row"]) - 1] in Path(again.strip()).read_text()


@pytest.mark.parametrize(
    ("options", "kinds", "kernel"),
    [
        ([], {"Title": "text", "abstract": "text", "id": "ignored", "note": "4 categories"}, "linear"),
        (["--no-text"], {"Title": "ignored", "abstract": "ignored"}, "forest+rbf"),
        (["--no-text", "--text-column", "Title"], {"Title": "text", "abstract": "ignored"}, "linear"),
        (["--text-column", "note", "--text-column", "year"], {"note": "text", "year": "text"}, "linear"),
        (["--kernel", "rbf"], {"Title": "text"}, "rbf"),
        (["--ignore", "Title", "--ignore", "abstract"], {"note": "4 categories"}, "forest+rbf"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["rank", "fit"])
def test_options_choose_the_text_columns(papers, capfd, command, options, kinds, kernel):
    more = ["--model", papers / "m.usmo"] if command == "fit" else []
    plan = json.loads(called(capfd, command, papers / "t.csv", *FIXED, *options, *more, "--dry-run"))
    assert plan["kernel"] == kernel
    for name, kind in kinds.items():
        assert any(line.startswith(f"{name}: {kind}") for line in plan["columns"]), plan["columns"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--text-column", "titel"], "--text-column: no column 'titel' in .*: did you mean 'Title'"),
        (["--text-column", "known"], "--text-column: 'known' is not learnt from"),
        (["--embedding-column", "Title"], "column 'Title' must hold lists of numbers"),
        (["--embeddings", "none.npy"], "no file 'none.npy'"),
    ],
)
def test_wrong_columns_are_refused(papers, capfd, options, message):
    assert main(["rank", str(papers / "t.csv"), *FIXED, *options]) > 0
    assert pl.Series([capfd.readouterr().err]).str.contains(message).item()


@pytest.mark.parametrize(
    ("column", "what"), [("Title", "text"), ("abstract", "text"), ("vector", "vectors")]
)  # fmt: skip
def test_text_and_vectors_are_refused_as_propensity_columns_before_a_fit(papers, capfd, column, what):
    options = ["--embedding-column", "vector", "--scenario", "censored", "--propensity-columns", f"year,{column}"]
    assert main(["rank", str(papers / "t.parquet"), *FIXED, *options, "--dry-run"]) == 1
    said = capfd.readouterr().err.splitlines()[-1]
    assert said == (
        f"usmo: --propensity-columns: column {column!r} holds {what}; propensities are functions of numbers, dates "
        "and categories"
    )


def test_an_approximation_is_refused_where_text_makes_the_kernel_linear(papers, capfd):
    asked = ["rank", str(papers / "t.csv"), *FIXED, "--approximation", "nystroem"]
    assert main(asked) == 2
    said = capfd.readouterr().err.splitlines()[-1]
    assert "--approximation: 'nystroem' does not go with the linear kernel, the default for text" in said
    model = papers / "m.usmo"
    called(capfd, *asked, "--kernel", "rbf", "--model", model)
    assert {"kernel rbf", "approximation: nystroem"} <= set(called(capfd, "inspect", model).splitlines())


def test_prior_and_select_learn_from_text(papers, capfd):
    line = called(capfd, "prior", papers / "t.csv", *LABELS).splitlines()[1]
    assert 0 < float(line.split(",")[1]) < 1
    chosen = rows_of(called(capfd, "select", papers / "t.csv", *LABELS, "--prior", "0.4"))
    assert [row["chosen"] for row in chosen].count("yes") == 1


@pytest.mark.parametrize("options", [["--embedding-column", "vector"], ["--embeddings", "v.npy"]])
@pytest.mark.parametrize("text", [[], ["--no-text"]])
@pytest.mark.parametrize("table", ["t.parquet", "t.jsonl"])
def test_vectors_are_learnt_from(papers, capfd, monkeypatch, table, options, text):
    monkeypatch.chdir(papers)
    ignored = [] if text == [] else ["--ignore", "vector"] if "--embeddings" in options else []
    asked = [table, *FIXED, *options, *text, *ignored, "--model", "m.usmo"]
    assert subjects(called(capfd, "rank", *asked))[:30].mean() > 0.9
    beside = options if "--embeddings" in options else []
    assert len(rows_of(called(capfd, "predict", "m.usmo", table, *beside))) == N
    called(capfd, "report", "m.usmo", table, "--output", "r.html", *beside)
    if beside:
        assert main(["predict", "m.usmo", table]) == 1
        assert f"give those of {table} with --embeddings" in capfd.readouterr().err


def test_a_table_of_chinese_and_unlike_rows_to_predict(papers, capfd):
    texts = documents(N, CHINESE, between="")
    write({"c": texts, "known": ["yes" if i % 2 == 0 and i < 20 else None for i in range(N)]}, papers / "zh.csv")
    assert subjects(called(capfd, "rank", papers / "zh.csv", *FIXED, "--model", papers / "m.usmo"))[:30].all()
    write({"c": ["1984", "42", ""]}, papers / "new.csv")
    scores = [
        float(row["score"]) for row in rows_of(called(capfd, "predict", papers / "m.usmo", papers / "new.csv"))
    ]
    assert len(set(scores)) == 1

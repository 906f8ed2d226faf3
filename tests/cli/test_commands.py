"""The command line as users meet it: every command on files of every format, alone and one after the other."""

import gzip
import io
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import click
import numpy as np
import polars as pl
import pytest
from sklearn.datasets import dump_svmlight_file

import usmo.cli.fitting
from tests.cli.command_line import FIXED, LABELS, called, contents, program, rows_of
from tests.oracles import needs_data
from tests.tables import bank_table
from usmo.cli import main
from usmo.cli.commands import cli
from usmo.fitting.warm_up import compile_kernel_solvers
from usmo.priors import ESTIMATORS

pytestmark = needs_data


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    """A folder with a small table, its model and its ranking."""
    folder = tmp_path_factory.mktemp("bank")
    bank_table(300, 1).write_csv(folder / "bank.csv")
    files = ["--model", folder / "bank.usmo", "--output", folder / "ranking.csv"]
    assert main([str(each) for each in ("rank", folder / "bank.csv", *FIXED, *files, "--quiet")]) == 0
    return folder


@pytest.fixture(scope="module")
def ranking(bank):
    return rows_of((bank / "ranking.csv").read_text())


def is_ranking(ranking, ids):
    """Complete, each row once, in order."""
    assert sorted(row["id"] for row in ranking) == sorted(ids)
    assert [int(row["rank"]) for row in ranking] == list(range(1, len(ids) + 1))
    for name in ("score", "probability"):
        assert (np.diff([float(row[name]) for row in ranking]) <= 0).all()
    assert all((float(row["score"]) > 0) == (row["decision"] == "positive") for row in ranking)


def same_scores(rows, ranking):
    scores = {str(row["row"]): float(row["score"]) for row in rows}
    np.testing.assert_allclose(
        [scores[row["row"]] for row in ranking], [float(r["score"]) for r in ranking], atol=2e-6
    )


def test_a_new_user_ranks_a_table_and_finds_the_hidden_positives(tmp_path):
    table, positive = bank_table(2000, 0, truth=True)
    table.write_csv(tmp_path / "bank.csv")
    command = [Path(sys.executable).with_name("usmo"), "rank", "bank.csv", *LABELS, "--report", "out.html"]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, check=False)
    said = done.stderr.decode().splitlines()
    assert done.returncode == 0, said
    assert all(line.startswith("usmo: ") for line in said)
    assert sorted(os.listdir(tmp_path)) == ["bank.csv", "out.html"]
    page = (tmp_path / "out.html").read_text()
    ranking = rows_of(done.stdout.decode())
    unlabelled = table["known"].is_null().to_numpy()
    is_ranking(ranking, table["id"].to_numpy()[unlabelled])
    assert page.endswith("</html>\n")
    assert ranking[0]["id"] in page
    hidden = set(table["id"].to_numpy()[unlabelled & positive])
    precision = np.mean([row["id"] in hidden for row in ranking[:100]])
    base = len(hidden) / len(ranking)
    print(f"precision in the top 100: {precision:.2f}, share of positives among the unlabelled rows: {base:.3f}")
    assert precision > 4 * base


def test_ranking_and_model_of_one_run_agree(bank, ranking, capfd):
    table = pl.read_csv(bank / "bank.csv")
    is_ranking(ranking, table.filter(pl.col("known").is_null())["id"])
    scored = rows_of(called(capfd, "predict", bank / "bank.usmo", bank / "bank.csv"))
    assert [row["id"] for row in scored] == table["id"].to_list()
    same_scores(scored, ranking)


def test_predict_adapts_to_another_mixture(bank, tmp_path, capfd):
    """Of the rows that the model ranks in the upper half: more of them are positive than in the whole table."""
    table = pl.read_csv(bank / "bank.csv")
    scored = rows_of(called(capfd, "predict", bank / "bank.usmo", bank / "bank.csv"))
    score = np.array([float(row["score"]) for row in scored])
    upper = table.filter(pl.Series(score > np.median(score)))
    upper.write_csv(tmp_path / "upper.csv")
    assert main(["predict", str(bank / "bank.usmo"), str(tmp_path / "upper.csv"), "--adapt"]) == 0
    said = capfd.readouterr()
    share = float(re.search(r"the share of positives here is (0\.\d+)", said.err).group(1))
    trained = float(re.search(r"\((0\.\d+) in training\)", said.err).group(1))
    assert share > 1.3 * trained
    marked = sum(row["decision"] == "positive" for row in rows_of(said.out))
    assert marked == pytest.approx(share * len(upper), abs=0.02 * len(upper))


def test_prior_tests_the_labels_and_says_so(bank, capfd):
    assert main(["prior", str(bank / "bank.csv"), *LABELS, "--method", "best-bin"]) == 0
    assert "labels are" in capfd.readouterr().err
    found = json.loads(called(capfd, "prior", bank / "bank.csv", *LABELS, "--method", "best-bin", "--json"))
    test = found["labels_at_random"]
    assert set(test) == {"p_value", "prior", "prior_given", "largest_prior", "columns"}
    options = ("--method", "best-bin", "--json", "--scenario", "censored")
    of_all = json.loads(called(capfd, "prior", bank / "bank.csv", *LABELS, *options))["labels_at_random"]["prior"]
    labelled = 1 - (1 - of_all) / (1 - test["prior"])  # of_all = labelled + (1 - labelled)·prior
    assert 0.01 < labelled < of_all


def test_fit_inspect_predict_report(bank, ranking, tmp_path, capfd):
    model, page = tmp_path / "m.usmo", tmp_path / "page.html"
    assert called(capfd, "fit", bank / "bank.csv", *FIXED, "--model", model) == f"{model}\n"
    shown = called(capfd, "inspect", model)
    for line in (
        f"{model}: PUSVC",
        "prior 0.2000 (given)",
        "lambda 0.01 (given)",
        "kernel forest+rbf",
        "label: known",
    ):
        assert line in shown.splitlines()
    for part in (
        "made on 20",
        "known positives\n",
        "command: usmo fit ",
        "% of the optimum",
        "columns:\n  age: number",
    ):
        assert part in shown
    scored = called(capfd, "predict", model, bank / "bank.csv", "--output", tmp_path / "scores.csv")
    assert scored == ""
    same_scores(rows_of((tmp_path / "scores.csv").read_text()), ranking)
    assert called(capfd, "report", model, bank / "bank.csv", "--output", page) == f"{page}\n"
    assert ranking[0]["id"] in page.read_text()
    assert sorted(os.listdir(tmp_path)) == ["m.usmo", "page.html", "scores.csv"]


def test_report_says_if_the_table_is_another_one(bank, tmp_path, capfd):
    pl.read_csv(bank / "bank.csv").head(250).write_csv(tmp_path / "part.csv")
    command = ["report", str(bank / "bank.usmo"), str(tmp_path / "part.csv"), "--output", str(tmp_path / "p.html")]
    assert main(command) == 0
    assert "note: the table is not the one that the model was trained on" in capfd.readouterr().err


def test_standard_input_equals_the_file(bank, ranking, monkeypatch, capfd):
    def give():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((bank / "bank.csv").read_bytes())))

    give()
    assert called(capfd, "rank", "-", *FIXED) == (bank / "ranking.csv").read_text()
    give()
    same_scores(rows_of(called(capfd, "predict", bank / "bank.usmo", "-")), ranking)


@pytest.mark.parametrize("name", ["t.tsv", "t.csv.gz", "t.jsonl", "t.parquet", "t.feather"])
def test_the_format_of_a_table_does_not_matter(bank, ranking, tmp_path, capfd, name):
    table, path = pl.read_csv(bank / "bank.csv", try_parse_dates=True), tmp_path / name
    if name == "t.csv.gz":
        path.write_bytes(gzip.compress((bank / "bank.csv").read_bytes()))
    elif name == "t.tsv":
        table.write_csv(path, separator="\t")
    else:
        getattr(table, {"jsonl": "write_ndjson", "parquet": "write_parquet", "feather": "write_ipc"}[name[2:]])(
            path
        )
    found = rows_of(called(capfd, "rank", path, *FIXED))
    assert [row["id"] for row in found] == [row["id"] for row in ranking]
    same_scores(found, ranking)
    same_scores(rows_of(called(capfd, "predict", bank / "bank.usmo", path)), ranking)


@pytest.mark.parametrize("name", ["t.npz", "t.svm"])
def test_matrices_are_ranked_and_scored(tmp_path, capfd, name):
    rng = np.random.default_rng(0)
    X, hidden = rng.normal(size=(120, 4)), np.arange(120) < 40
    X[hidden] += 2.0
    known = (hidden & (np.arange(120) % 2 == 0)).astype(int)
    labels = ["--label-column", "y" if name == "t.npz" else "label", "--prior", "0.2", "--lam", "0.01"]
    if name == "t.npz":
        np.savez(tmp_path / name, X=X, y=known, ids=[f"r{i}" for i in range(1, 121)])
        labels += ["--id-column", "ids"]
    else:
        dump_svmlight_file(X, known, str(tmp_path / name), zero_based=False)
    found = rows_of(called(capfd, "rank", tmp_path / name, *labels, "--model", tmp_path / "m.usmo"))
    numbers = [int(row["row"]) - 1 for row in found]
    assert sorted(numbers) == np.flatnonzero(known == 0).tolist()
    assert hidden[numbers[:20]].mean() > 0.8  # a fifth of the unlabelled rows
    same_scores(rows_of(called(capfd, "predict", tmp_path / "m.usmo", tmp_path / name)), found)


def test_every_command_gives_one_json_object(bank, ranking, tmp_path, capfd):
    table, model = bank / "bank.csv", bank / "bank.usmo"

    def loaded(*arguments):
        return json.loads(called(capfd, *arguments, "--json"))

    ranked = loaded("rank", table, *FIXED, "--output", tmp_path / "r.csv")
    assert [row["id"] for row in ranked["ranking"]] == [row["id"] for row in ranking]
    assert (tmp_path / "r.csv").read_text() == (bank / "ranking.csv").read_text()
    assert ranked["prior"] == 0.2
    assert 0 <= ranked["certificate"]["relative_gap"] < 0.01
    assert ranked["marked_positive"] == sum(row["decision"] == "positive" for row in ranking)
    fitted = loaded("fit", table, *FIXED, "--model", tmp_path / "m.usmo")
    assert fitted == {**{k: v for k, v in ranked.items() if k != "ranking"}, "model": str(tmp_path / "m.usmo")}
    assert loaded("inspect", model)["extra"]["columns"]["positive"] == "yes"
    same_scores(loaded("predict", model, table)["rows"], ranking)
    page = tmp_path / "p.html"
    assert loaded("report", model, table, "--output", page) == {"report": str(page)}
    estimates = loaded("prior", table, *LABELS, "--method", "best-bin,tice")["estimates"]
    assert list(estimates) == ["best-bin", "tice"]
    for each in estimates.values():
        assert each["interval"][0] <= each["prior"] <= each["interval"][1]
    chosen = loaded("select", table, *LABELS, "--prior", "0.2", "--gammas", "0.5", "--gammas", "1")
    assert chosen["lam"] in chosen["results"]["lam"]
    assert len(set(chosen["results"]["gamma"])) == 2
    assert loaded("bench", "--sizes", "100")["bench"][0]["rows"] == 100


def test_prior_and_select_write_tables(bank, capfd):
    (row,) = rows_of(called(capfd, "prior", bank / "bank.csv", *LABELS, "--method", "best-bin"))
    assert list(row) == ["method", "prior", "low", "high"]
    rows = rows_of(called(capfd, "select", bank / "bank.csv", *LABELS, "--prior", "0.2", "--kernel", "linear"))
    assert sum(row["chosen"] == "yes" for row in rows) == 1


COMMANDS = {
    "rank": ["rank", "bank.csv", *FIXED, "--output", "new.csv", "--report", "new.html", "--model", "new.usmo"],
    "fit": ["fit", "bank.csv", *FIXED, "--model", "new.usmo", "--report", "new.html"],
    "predict": ["predict", "bank.usmo", "bank.csv", "--output", "new.csv"],
    "report": ["report", "bank.usmo", "bank.csv", "--output", "new.html"],
    "prior": ["prior", "bank.csv", *LABELS, "--method", "best-bin"],
    "select": ["select", "bank.csv", *LABELS, "--prior", "0.2", "--folds", "2"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_dry_run_writes_nothing_and_a_quiet_one_says_nothing(bank, tmp_path, monkeypatch, capfd, name):
    for file in ("bank.csv", "bank.usmo"):
        (tmp_path / file).write_bytes((bank / file).read_bytes())
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    plan = json.loads(called(capfd, *COMMANDS[name], "--dry-run"))
    assert plan["rows"] == 300
    assert contents(tmp_path) == before
    assert main([*COMMANDS[name], "--quiet"]) == 0
    assert capfd.readouterr().err == ""
    assert set(contents(tmp_path)) - set(before) == {each for each in COMMANDS[name] if each.startswith("new.")}


def test_a_quiet_run_does_not_speak_of_compilation(bank, tmp_path, monkeypatch):
    watched = threading.Semaphore(0)
    monkeypatch.setattr("usmo.system.compilation._announce", lambda _done: watched.release())
    for quiet in ([], ["--quiet"]):
        compile_kernel_solvers.cache_clear()
        assert main(["fit", str(bank / "bank.csv"), *FIXED, "--model", str(tmp_path / "m.usmo"), *quiet]) == 0
        assert watched.acquire(timeout=0 if quiet else 60) == (not quiet)


def test_top_cuts_the_ranking_and_output_takes_every_written_format(bank, ranking, tmp_path, capfd):
    called(capfd, "rank", bank / "bank.csv", *FIXED, "--top", "7", "--output", tmp_path / "r.parquet")
    assert pl.read_parquet(tmp_path / "r.parquet")["id"].to_list() == [row["id"] for row in ranking[:7]]


def test_predict_goes_by_column_names_and_can_pass_over_new_categories(bank, ranking, tmp_path, capfd):
    table = pl.read_csv(bank / "bank.csv")
    mixed = table.select(reversed(table.columns)).drop("known").with_columns(pl.lit("x").alias("extra"))
    mixed.write_csv(tmp_path / "mixed.csv")
    assert main(["predict", str(bank / "bank.usmo"), str(tmp_path / "mixed.csv")]) == 0
    out, err = capfd.readouterr()
    same_scores(rows_of(out), ranking)
    assert "note: columns that the training table did not have are ignored: 'extra'" in err
    table.with_columns(pl.lit("stoker").alias("job")).write_csv(tmp_path / "new.csv")
    found = rows_of(called(capfd, "predict", bank / "bank.usmo", tmp_path / "new.csv", "--unknown", "ignore"))
    assert len(found) == 300


def test_another_id_column_may_name_the_rows(bank, tmp_path, capfd):
    table = pl.read_csv(bank / "bank.csv").with_columns(pl.int_range(300).add(1000).alias("number"))
    table.write_csv(tmp_path / "t.csv")
    assert main(["predict", str(bank / "bank.usmo"), str(tmp_path / "t.csv"), "--id-column", "number"]) == 0
    out, err = capfd.readouterr()
    assert [int(row["id"]) for row in rows_of(out)] == list(range(1000, 1300))
    assert "note" not in err


def test_demo_finds_the_hidden_digits(tmp_path, capfd):
    found = json.loads(called(capfd, "demo", "--json", "--report", tmp_path / "demo.html"))
    assert found["f1"] > 0.85
    assert abs(found["prior"] - found["true_prior"]) < 0.05
    assert os.listdir(tmp_path) == ["demo.html"]


def test_help_of_every_command_has_an_example_and_loads_no_numbers(tmp_path):
    script = (
        "import sys; from usmo.cli import main\n"
        "for name in sys.argv[1:]: assert main([name, '--help']) == 0 == main(['--help']) == main(['--version'])\n"
        "print(sorted({'numpy', 'scipy', 'sklearn', 'numba', 'polars', 'matplotlib'} & set(sys.modules)))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", script, *cli.commands], capture_output=True, text=True, check=True
    )
    assert shown.stdout.endswith("[]\n")
    for name in cli.commands:
        assert f"\n  Example: usmo {name} " in shown.stdout
    assert shown.stderr == ""


def test_every_option_has_a_sentence_of_help():
    options = [
        (name, option.name, option.help) for name, command in cli.commands.items() for option in command.params
        if isinstance(option, click.Option)
    ]  # fmt: skip
    assert len(options) > 150
    assert [option for option in options if not (option[2] or "").endswith((".", "?"))] == []


def test_help_names_every_estimator_of_the_prior():
    (method,) = [option for option in cli.commands["prior"].params if option.name == "method"]
    assert method.help.partition(";")[0].split(", ") == list(ESTIMATORS)


def test_help_of_saved_models_does_not_say_that_they_learn():
    for name in ("predict", "report"):
        (vectors,) = [option for option in cli.commands[name].params if option.name == "embeddings"]
        assert "learn" not in vectors.help


def test_module_and_script_are_the_same_program_in_any_locale():
    script = Path(sys.executable).with_name("usmo")
    for arguments in (["--help"], ["select", "--help"], []):
        plain = dict(os.environ, LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
        by_script = subprocess.run([script, *arguments], capture_output=True, env=plain, check=True)
        assert by_script.stdout == program(*arguments).stdout
        assert "λ" in by_script.stdout.decode()


def test_a_closed_pipe_ends_the_run_quietly(bank):
    command = [sys.executable, "-m", "usmo", "predict", str(bank / "bank.usmo"), str(bank / "bank.csv"), "--quiet"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
    done = subprocess.run(
        f"{sys.executable} -m usmo --help >&- 2>&-", shell=True, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_prior_says_of_each_method_what_it_leaves_open(tmp_path, capfd):
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{z:.3f},{'yes' if k < 12 else ''}" for k, (x, z) in enumerate(rng.normal(size=(150, 2)))]
    path = tmp_path / "noise.csv"
    path.write_text("\n".join(["x,z,known", *rows]) + "\n")
    asked = [
        "prior",
        path,
        "--label-column",
        "known",
        "--positive",
        "yes",
        "--method",
        "best-bin,saturation",
        "--json",
    ]
    capfd.readouterr()
    assert main([str(each) for each in asked]) == 0
    out, err = capfd.readouterr()
    notes = json.loads(out)["notes"]
    assert notes[0] == "12 known positives say little about the share of positives"
    assert any(
        note.startswith("saturation: These columns do not determine the share of positives, ") for note in notes
    )
    assert all(f"usmo: note: {note}" in err for note in notes)


def test_a_share_that_known_negatives_exclude_is_refused(tmp_path, capfd):
    lines = [f"{k % 7},{k % 5},{'yes' if k < 10 else 'no' if k < 70 else ''}" for k in range(100)]
    path = tmp_path / "answered.csv"
    path.write_text("\n".join(["x,z,known", *lines]) + "\n")
    options = ["--label-column", "known", "--positive", "yes", "--negative", "no", "--scenario", "censored"]
    assert main(["rank", str(path), *options, "--prior", "0.5"]) == 1
    assert "--prior must be at most 0.4 with --scenario censored" in capfd.readouterr().err
    assert main(["rank", str(path), *options, "--prior", "0.35", "--quiet"]) == 0


@pytest.mark.parametrize(("kernel", "rows"), [("linear", None), ("rbf", 50)])
def test_quality_of_a_wide_linear_fit_is_that_of_all_rows(tmp_path, monkeypatch, capfd, kernel, rows):
    """A linear fit to fewer rows than columns has other thresholds than that to all rows."""
    rng, asked = np.random.default_rng(0), []
    X = rng.normal(size=(120, 60))
    lines = [",".join([*(f"{x:.3f}" for x in row), "yes" if k < 30 else ""]) for k, row in enumerate(X)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join([*(f"x{j}" for j in range(60)), "known"]), *lines]) + "\n")
    real = usmo.cli.fitting.held_out

    def recorded(*arguments, **options):
        asked.append(options.get("most"))
        return real(*arguments, **options)

    monkeypatch.setattr("usmo.cli.fitting.held_out", recorded)
    monkeypatch.setattr("usmo.cli.fitting._HELD_OUT_ROWS", 50)
    options = ["--label-column", "known", "--positive", "yes", "--prior", "0.2", "--kernel", kernel, "--json"]
    quality = json.loads(called(capfd, "rank", path, *options))["quality"]
    assert asked == [rows]
    assert quality["n_positives"] == (30 if rows is None else 25)

"""What goes wrong is said in one line on stderr, with an exit code, and leaves every file as it was."""

import errno
import gzip
import io
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from tests.cli.command_line import contents, program, table
from usmo import PUSVC
from usmo.cli import main

RANK = "rank t.csv --label-column known --positive yes"
RANK_GZ, RANK_JSON = (RANK.replace("t.csv", name) for name in ("t.csv.gz", "t.jsonl"))
FIXED = f"{RANK} --prior 0.2 --lam 0.01"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Model files as bytes: of the table, of a matrix, of arrays in Python."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "t.csv").write_bytes(table())
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) < 20
    np.savez(folder / "t.npz", X=X, y=y.astype(int))
    fixed = ["--prior", "0.2", "--lam", "0.01", "--quiet", "--model"]
    labels = ["--label-column", "known", "--positive", "yes", "--id-column", "id"]
    assert main(["fit", str(folder / "t.csv"), *labels, *fixed, str(folder / "table")]) == 0
    assert main(["fit", str(folder / "t.npz"), "--label-column", "y", *fixed, str(folder / "matrix")]) == 0
    PUSVC(0.2, lam=0.01).fit(X, y).save(folder / "arrays")
    return {name: (folder / name).read_bytes() for name in ("table", "matrix", "arrays")}


def flipped(data):
    half = len(data) // 2
    return data[:half] + bytes([data[half] ^ 4]) + data[half + 1 :]


def arrays(**parts):
    stream = io.BytesIO()
    np.savez(stream, **parts)
    return stream.getvalue()


GOOD, WIDE = {"t.csv": table()}, arrays(X=np.ones((5, 4)))
USAGE = {
    "no such command": ("rnk t.csv", r"no command 'rnk': did you mean 'rank'\? \(usmo --help\)"),
    "strange command": ("xyzzy", "no command 'xyzzy': commands are rank, fit, "),
    "no such option": ("rank t.csv --lamm 1", r"No such option.*--lam.*\(usmo rank --help\)"),
    "kind of no column": (f"{RANK} --kind number", "must be COLUMN=KIND, such as price=number, got 'number'"),
    "no such kind": (f"{RANK} --kind age=float", "--kind: age=float: a kind is number, category, date"),
    "no such option of usmo": ("--fast rank t.csv", "No such option.*--fast"),
    "no table": ("rank --label-column known", r"Missing argument 'DATA' \(usmo rank --help\)"),
    "no label column": ("rank t.csv", "Missing option '--label-column'"),
    "propensities for prior": ("prior t.csv --label-column known --propensity-column e --scenario censored",
                               "--propensity-column: does not go with prior: propensities imply the share"),
    "no model": ("fit t.csv --label-column known", "Missing option '--model'"),
    "option without value": ("rank t.csv --label-column", "'--label-column' requires an argument"),
    "an argument too many": (f"{RANK} more.csv", "unexpected extra argument"),
    "prior above 1": (f"{RANK} --prior 1.5", "'--prior': must be 'estimate' or a number between 0 and 1, got '1"),
    "prior is text": (f"{RANK} --prior half", "must be 'estimate' or a number between 0 and 1, got 'half'"),
    "prior is nan": (f"{RANK} --prior nan", "must be 'estimate' or a number between 0 and 1, got 'nan'"),
    "lam is 0": (f"{RANK} --lam 0", "'--lam': must be 'auto', 'cv' or a positive number, got '0'"),
    "lam is infinite": (f"{RANK} --lam inf", "must be 'auto', 'cv' or a positive number, got 'inf'"),
    "gamma is text": (f"{RANK} --gamma x", "'--gamma': must be 'scale', 'auto' or a positive number, got 'x'"),
    "bad kernel": (f"{RANK} --kernel cubic", r"'cubic' is not one of 'auto', 'forest\+rbf', 'forest', 'rbf'"),
    "trees and an approximation": (
        f"{RANK} --kernel forest --approximation nystroem", "'forest' does not go with --approximation nystroem"
    ),
    "no kernel and an approximation": (
        f"{RANK} --kernel linear --approximation nystroem",
        "--kernel: 'linear' does not go with --approximation nystroem; it accepts rbf and poly",
    ),
    "bad scenario": (f"{RANK} --scenario both", "'both' is not one of 'case-control', 'censored'"),
    "top of 0": (f"{RANK} --top 0", "0 is not in the range x>=1"),
    "bad seed": (f"{RANK} --seed 1.5", "'1.5' is not a valid integer range"),
    "bad method": ("prior t.csv --label-column known --method best", "must be all or some of .* got 'best'"),
    "one fold": ("select t.csv --label-column known --folds 1", "1 is not in the range x>=2"),
    "bad figure": ("reproduce everything", "'everything' is not one of 'tables', 'figures'"),
    "no folder": (f"{FIXED} --report none/out.html", "--report: there is no folder .*none"),
    "output is a folder": (f"{FIXED} --output .", "--output: . is a folder: give the name of a file"),
    "output of no format": (
        f"{FIXED} --output out.xyz", r"--output: unknown file type of 'out.xyz': accepted are .*, .parquet and .xlsx \("
    ),
    "output of a read format": (f"{FIXED} --output out.npz", "npz files cannot be written: accepted are csv, tsv"),
    "output over the table": (f"{FIXED} --output ./t.csv", "./t.csv is the input already: give another file"),
    "two files in one": (f"{FIXED} --report o --model o", "--model: o is the file of --report already"),
    "table of no format": ("demo --write-table bank.xyz", "--write-table: unknown file type of 'bank.xyz'"),
    "table and page": ("demo --write-table c.csv --report o.html", "--report: does not go with --write-table"),
    "page to stdout": (f"{FIXED} --report -", "--report: must be the name of a file, got '-'"),
}  # fmt: skip

TABLES = {
    "misspelt label column": (GOOD, "rank t.csv --label-column knwon", "--label-column: no column 'knwon' in "
                              r"t.csv: did you mean 'known'\? \(columns: id, age, job, known\)"),
    "misspelt id column": (GOOD, f"{RANK} --id-column idd", r"--id-column: no column 'idd' .*did you mean 'id'\?"),
    "misspelt ignored column": (GOOD, f"{RANK} --ignore jobs", "--ignore: no column 'jobs'"),
    "misspelt positive": (GOOD, "rank t.csv --label-column known --positive yse", r"did you mean 'yes'\? .*20"),
    "positive and negative": (GOOD, f"{RANK} --negative Yes", "'yes' and 'Yes' in column 'known' mean the same"),
    "positive is missing": (GOOD, "rank t.csv --label-column known --positive NA", "'NA' stands for a missing value, .*"
                            "not known to be positive: write another word"),
    "no such positive": (GOOD, "rank t.csv --label-column known --positive 2",
                         "--positive: no row has '2' in column 'known'"),
    "no such negative": (GOOD, f"{RANK} --negative 2", "--negative: no row has '2' in column 'known'"),
    "one row alone": ({"t.csv": table(1, known=1)}, RANK, "the only row has 'yes' in column 'known'"),
    "all rows positive": ({"t.csv": table(known=60)}, RANK, "all 60 rows have 'yes' in column 'known'"),
    "no row labelled": ({"t.csv": table(known=0)}, RANK, r"no row has 'yes' .*values: all missing"),
    "empty file": ({"t.csv": b""}, RANK, "t.csv is empty: it needs a header line"),
    "header only": ({"t.csv": table(0)}, RANK, "t.csv holds a header line but no rows"),
    "kind that is none": (GOOD, f"{RANK} --kind job=number", "column 'job' holds no numbers, .*--kind job=ignore"),
    "kinds that are none": (GOOD, f"{RANK} --kind job=number --kind age=boolean",
                            "column 'age' holds no booleans.*column 'job' holds no numbers"),
    "address on the web": (GOOD, "rank https://a.b/t.csv --label-column known", "network: download it first"),
    "workbook with another name": ({"t.csv": b"PK\x03\x04" + b"x" * 99}, RANK, "a zip archive or a workbook: name it"),
    "infinite": ({"t.csv": table(last="r,inf,cook,\n")}, RANK, "line 62: infinite value in column 'age'"),
    "ragged line": ({"t.csv": table(last="r,30,cook\n")}, RANK, "line 62 has 3 fields where the header has 4"),
    "open quote": ({"t.csv": table(last='r,30,"cook,\n')}, RANK, "line 62 cannot be read .*: close the quote"),
    "no such encoding": (GOOD, f"{RANK} --encoding latin-x", "--encoding latin-x is not known"),
    "binary junk": ({"t.csv": bytes(range(256)) * 9}, RANK, "t.csv is not text"),
    "packed without ending": ({"t.csv": gzip.compress(table())}, RANK, "is compressed: rename it to t.csv.gz"),
    "ending without packing": ({"t.csv.gz": table()}, RANK_GZ, "is not compressed with gz"),
    "cut archive": ({"t.csv.gz": gzip.compress(table())[:-9]}, RANK_GZ, "is damaged or cut"),
    "unknown ending": ({"t.sav": b"PK"}, RANK.replace("t.csv", "t.sav"), "unknown file type .*as CSV"),
    "broken workbook": ({"t.xlsx": b"PK"}, RANK.replace("t.csv", "t.xlsx"), "is damaged or not a workbook"),
    "unknown format": (GOOD, f"{RANK} --format excel", "unknown format 'excel': accepted are"),
    "wrong format": (GOOD, f"{RANK} --format parquet", "t.csv is damaged or not a Parquet file"),
    "no such file": (GOOD, RANK.replace("t.csv", "tt.csv"), r"no file 'tt.csv': did you mean 't.csv'\?"),
    "a folder without tables": (GOOD, RANK.replace("t.csv", "/proc/self/task"), "is a folder without tables"),
    "bad JSON": ({"t.jsonl": b'{"a": 1}\n{"a":\n'}, RANK_JSON, "line 2 is not JSON"),
    "bad svmlight": ({"t.svm": b"1 1:2\n-1 2:x\n"}, "rank t.svm --label-column label", "line 2 is not 'label"),
    "matrix without X": ({"t.npz": arrays(Z=np.ones(3))}, "rank t.npz --label-column y", "holds Z but no 'X'"),
    "labels too short": ({"t.npz": arrays(X=np.ones((3, 2)), y=[1])}, "rank t.npz --label-column y",
                         "y must hold one value per row of X"),
    "no column left": (GOOD, f"{RANK} --id-column id --ignore age --ignore job", "no column of t.csv can be"),
    "only useless columns": (GOOD, f"{RANK} --ignore age --ignore job", "id: ignored, text with 60"),
    "more folds than positives": ({"t.csv": table(known=1)}, "select t.csv --label-column known --positive yes "
                                  "--prior 0.2 --folds 5", "at least 2 labelled positives"),
    "parameters as options": (GOOD, f"{RANK} --prior 0.2 --scenario censored",
                              "usmo: --prior must be at least 0.3333 with --scenario censored,"),
    "two parameters as options": (GOOD, f"{RANK} --propensity estimate", "--propensity estimate needs --scenario cens"),
    "column called like an option": ({"t.csv": table(header="id,class_weight,job,known\n", last="r,inf,cook,\n")}, RANK,
                                     r"fit without it \(--ignore class_weight\)"),
    "parameter with a number": ({"t.csv": b"e,a,known\n0.5,1,yes\n0.5,2,yes\n,3,\n,4,\n"}, f"{RANK} "
                                "--propensity-column e --scenario censored --prior 0.6 --lam 1",
                                "leave --prior estimate, got --prior 0.6"),
    "parameter with double quotes": ({"t.csv": b"g,a,known\n" + 5 * b"v,1,yes\nw,2,\n"}, f"{RANK} --group-column g",
                                     "usmo: the estimate .*; give --prior as a number .* instead of --prior estimate"),
    "prior of one positive": ({"t.csv": table(known=1)}, "prior t.csv --label-column known --positive yes",
                              "usmo: the estimate needs at least 2 labelled positives .* got 1 and 59$"),
    "lambda of one positive": ({"t.csv": table(known=1)}, "select t.csv --label-column known --positive yes "
                               "--prior 0.2", "usmo: the choice of lambda needs .* got 1 and 59$"),
    "nothing on stdin": ({}, RANK.replace("t.csv", "-"), "standard input is empty"),
}  # fmt: skip

MODELS = {
    "missing column": ({"n.csv": b"id,age\na,30\n"}, "predict table n.csv", r"no column 'job' in n.csv"),
    "misspelt column": ({"n.csv": b"id,age,jobb\na,30,cook\n"}, "predict table n.csv", r"did you mean 'jobb'\?"),
    "unknown category": ({"n.csv": table(last="r,30,stoker,\n")}, "predict table n.csv",
                         r"line 62: 'stoker' in column 'job' is not in the training table .*--unknown ignore"),
    "text for a number": ({"n.csv": b"age,job\nold,cook\nx,cook\n"}, "predict table n.csv", "line 2: 'old' .* not a"),
    "date for a number": ({"n.csv": b"age,job\n2020-01-01,cook\n2020-01-02,cook\n"}, "predict table n.csv",
                          "2: '2020.* not a number"),
    "infinite number": ({"n.csv": b"age,job\n-inf,cook\n"}, "predict table n.csv", "line 2: infinite value"),
    "no such id column": (GOOD, "predict table t.csv --id-column nr", "--id-column: no column 'nr'"),
    "matrix for a table": ({"n.npz": WIDE}, "predict table n.npz", "X is a matrix, .* fitted to a data frame"),
    "table for a matrix": (GOOD, "predict matrix t.csv", "X is a data frame, the encoder was fitted to a matrix"),
    "matrix too narrow": (
        {"n.npz": arrays(X=np.ones((5, 2)))},
        "predict matrix n.npz",
        "has 2 features, .* is expecting 3",
    ),
    "no such model": (GOOD, "predict tabel t.csv", r"no file 'tabel': did you mean 'table'\?"),
    "no such model to inspect": (GOOD, "inspect nothing.usmo", "no file 'nothing.usmo': check the path"),
    "model is a folder": (GOOD, "inspect .", "it is a folder or a device"),
    "model is a table": (GOOD, "predict t.csv t.csv", "t.csv is a table, not a model file"),
    "model is an array file": ({"n.npz": WIDE}, "inspect n.npz", "it is not a file that usmo.files.save wrote"),
    "model cut off": ({"cut": lambda data: data[: len(data) // 2]}, "predict cut t.csv", "its end is missing"),
    "model with a wrong bit": ({"bad": flipped}, "predict bad t.csv", "SHA-256 .* the file is damaged"),
    "damaged model to inspect": ({"bad": flipped}, "inspect bad", "SHA-256 .* the file is damaged"),
    "empty model": ({"bad": b""}, "predict bad t.csv", "it does not start as a zip"),
    "model without columns": (GOOD, "predict arrays t.csv", "holds a model of Python arrays without the columns"),
    "report without labels": ({"n.csv": b"id,age,job\na,30,cook\n"}, "report table n.csv --output o.html",
                              "the model's label column: no column 'known'"),
    "report without positives": ({"n.csv": table(known=0)}, "report table n.csv --output o.html",
                                 "usmo: no row has"),
    "report over its model": (GOOD, "report table t.csv --output table", "table is the input already"),
    "no format of scores": (GOOD, "predict table t.csv --output s", "unknown file type of 's'"),
}  # fmt: skip


def expect_one_line(capfd, folder, command, code, message):
    """The command fails with this code and message, and leaves the folder as it was."""
    before = contents(folder)
    for quiet in ([], ["--quiet"]):
        first, *others = command.split()
        if quiet and first not in ("rank", "fit", "predict", "prior", "select", "report"):
            continue
        capfd.readouterr()
        found = main([first, *quiet, *others])
        out, err = capfd.readouterr()
        lines = err.splitlines()
        assert found == code, err
        assert out == ""
        assert all(line.startswith("usmo: ") for line in lines)
        assert not quiet or len(lines) == 1
        assert re.search(message, lines[-1]), lines[-1]
        assert contents(folder) == before


@pytest.mark.parametrize(("command", "message"), USAGE.values(), ids=USAGE)
def test_a_command_that_is_not_understood_ends_with_2(tmp_path, monkeypatch, capfd, command, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes(table())
    expect_one_line(capfd, tmp_path, command, 2, message)


@pytest.mark.parametrize(("files", "command", "message"), TABLES.values(), ids=TABLES)
def test_a_table_that_cannot_be_used_ends_with_1(tmp_path, monkeypatch, capfd, files, command, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    outputs = " --output o.csv --report o.html --model o.usmo" if command.startswith("rank") else ""
    expect_one_line(capfd, tmp_path, command + outputs, 1, message)


@pytest.mark.parametrize(("files", "command", "message"), MODELS.values(), ids=MODELS)
def test_a_model_that_does_not_fit_is_refused(tmp_path, monkeypatch, capfd, models, files, command, message):
    monkeypatch.chdir(tmp_path)
    for name, data in {**GOOD, **models, **files}.items():
        (tmp_path / name).write_bytes(data(models["table"]) if callable(data) else data)
    code = 2 if "is the input" in message or "file type of 's'" in message else 1
    expect_one_line(capfd, tmp_path, command, code, message)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do everything")
@pytest.mark.parametrize(("command", "code"), [(FIXED, 1), (FIXED.replace("t.csv", "u.csv") + " --model f/m", 2)])
def test_permissions_are_respected(tmp_path, monkeypatch, capfd, command, code):
    monkeypatch.chdir(tmp_path)
    for name, mode in (("t.csv", 0), ("u.csv", 0o600)):
        (tmp_path / name).write_bytes(table())
        (tmp_path / name).chmod(mode)
    (tmp_path / "f").mkdir(mode=0o500)
    expect_one_line(capfd, tmp_path, command, code, "check its permissions|no permission to write f/m")


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_full_disk_leaves_none_of_the_files(tmp_path, monkeypatch, capfd, at):
    """The report, the model and the ranking are written one after the other: whichever fails, none appears."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes(table())
    (tmp_path / "o.html").write_text("as it was")
    calls = []

    def fsync(handle):
        calls.append(handle)
        if len(calls) % at == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("usmo.system.atomic._sync_folder", lambda folder: None)
    monkeypatch.setattr(os, "fsync", fsync)
    name = ("o.html", "o.usmo", "o.csv")[at - 1]
    expect_one_line(
        capfd, tmp_path, f"{FIXED} --report o.html --model o.usmo --output o.csv", 1,
        rf"^usmo: {name} cannot be written \(No space left on device\)$",
    )  # fmt: skip


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("option", ["--output", "--report", "--model"])
def test_a_device_without_room_is_an_error_and_stays_a_device(tmp_path, monkeypatch, capfd, option):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes(table())
    (tmp_path / "full.csv").symlink_to("/dev/full")
    expect_one_line(
        capfd, tmp_path, f"{FIXED} {option} full.csv", 1, r"full.csv cannot be written \(No space left"
    )
    assert not os.path.isfile("/dev/full")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_stdout_without_room_is_an_error(tmp_path, models):
    (tmp_path / "table").write_bytes(models["table"])
    (tmp_path / "t.csv").write_bytes(table())
    command = ["predict", tmp_path / "table", tmp_path / "t.csv", "--quiet"]
    with open("/dev/full", "wb") as full:
        done = program(*command, stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"usmo: ")
    assert done.stderr.endswith(b"\n")
    assert done.stderr.count(b"\n") == 1
    assert b"No space left on device" in done.stderr


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), r"^usmo: not enough memory: take fewer rows, or --kernel linear$"),
        (MemoryError("Unable to\nallocate"), r"not enough memory \(Unable to allocate\)"),
        (PermissionError(errno.EACCES, "Permission denied", "x"), "^usmo: x: Permission denied$"),
        (RuntimeError("two\nlines"), "^usmo: two lines$"),
        (ValueError(), "^usmo: ValueError$"),
        (KeyError("lost"), "test_errors.py:[0-9]+: KeyError: 'lost': a fault in usmo, please report it$"),
    ],
)
def test_errors_from_anywhere_are_one_line(tmp_path, monkeypatch, capfd, error, message):
    def fail(*_a, **_k):
        raise error

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("usmo.cli.fitting.classifier", fail)
    (tmp_path / "t.csv").write_bytes(table())
    expect_one_line(capfd, tmp_path, f"{FIXED} --model m.usmo", 1, message)


@pytest.mark.parametrize("command", ["rank t.csv --label-column knwon", "rank", "nothing"])
def test_the_program_ends_as_the_function_says(tmp_path, monkeypatch, capfd, command):
    (tmp_path / "t.csv").write_bytes(table())
    monkeypatch.chdir(tmp_path)
    done = program(*command.split(), cwd=tmp_path)
    assert main(command.split()) == done.returncode
    assert capfd.readouterr().err == done.stderr.decode()
    assert os.listdir(tmp_path) == ["t.csv"]

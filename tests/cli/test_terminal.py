"""Text from a file never reaches a terminal as characters that it acts on, in whatever place a command prints it."""

import csv
import io
import sys

import pytest

from tests.cli.command_line import program
from usmo.cli import main

ESCAPES = "\x1b]0 title\x07\x9b31m\u202e\x7f"
LABELS = ["--label-column", f"known{ESCAPES}", "--positive", f"yes{ESCAPES}", "--id-column", f"id{ESCAPES}"]
FIXED = [*LABELS, "--prior", "0.2", "--lam", "0.01"]


def table(*rows, columns=("id", "age", "job", "known")):
    stream = io.StringIO()
    csv.writer(stream).writerows([[f"{name}{ESCAPES}" for name in columns], *rows])
    return stream.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, a model, and a table with a category that the model does not know."""
    folder = tmp_path_factory.mktemp("escapes")
    jobs = (f"miner{ESCAPES}", "cook", "clerk")
    rows = [[f"r{i}{ESCAPES}", 20 + 7 * i % 41, jobs[i % 3], f"yes{ESCAPES}" * (i < 20)] for i in range(60)]
    (folder / "t.csv").write_text(table(*rows))
    new = [["a", 30, "cook", 1], ["b", 20, f"stoker{ESCAPES}", 2]]
    (folder / "n.csv").write_text(table(*new, columns=("id", "age", "job", "more")))
    assert main(["fit", str(folder / "t.csv"), *FIXED, "--model", str(folder / "m.usmo")]) == 0
    return folder


class Terminal(io.TextIOWrapper):
    def isatty(self):
        return True

    def text(self):
        self.flush()
        return self.buffer.getvalue().decode()


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["rank", "t.csv", *FIXED], 0),
        (["rank", "t.csv", *FIXED, "--json"], 0),
        (["rank", "t.csv", *LABELS, "--dry-run"], 0),
        (["rank", "t.csv", "--label-column", "knwon"], 1),
        (["rank", "t.csv", "--label-column", f"known{ESCAPES}"], 1),
        (["predict", "m.usmo", "t.csv"], 0),
        (["predict", "m.usmo", "n.csv"], 1),
        (["predict", "m.usmo", "n.csv", "--unknown", "ignore"], 0),
        (["inspect", "m.usmo"], 0),
        (["inspect", "m.usmo", "--json"], 0),
        (["report", "m.usmo", "n.csv", "--output", "o.html"], 1),
    ],
)
def test_a_terminal_gets_no_control_characters_of_a_file(folder, monkeypatch, command, code):
    monkeypatch.chdir(folder)
    streams = [Terminal(io.BytesIO(), "utf-8", "surrogateescape") for _ in range(2)]
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    assert main(command) == code
    output = "".join(stream.text() for stream in streams)
    assert "title" in output
    assert not set(ESCAPES) - set("]0 title31m") & set(output), output


def test_a_pipe_gets_the_ids_as_they_are(folder):
    done = program("rank", "t.csv", *FIXED, "--quiet", cwd=folder)
    ids = [row["id"] for row in csv.DictReader(io.StringIO(done.stdout.decode()))]
    assert sorted(ids) == sorted(f"r{i}{ESCAPES}" for i in range(20, 60))

"""The pages as texts: their code runs, and every warning and error has an entry in the troubleshooting page."""

import ast
import re
from pathlib import Path

import pytest

from usmo.cli import main
from usmo.system import caller

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
SOURCES = sorted((ROOT / "src" / "usmo").rglob("*.py"))


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.stem)
def test_python_blocks_of_a_page_run_in_their_order(page, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": page.stem}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/first-ranking.md"])
def test_first_rankings_hold_every_unlabelled_row_and_no_known_one(page):
    names = {}
    exec(compile(blocks(ROOT / page, "python")[0], page, "exec"), names)
    y, ranking = names["y"], names["ranking"]
    assert sorted(ranking) == [row for row, label in enumerate(y) if label == 0]
    scores = names["model"].decision_function(names["X"])[ranking]
    assert (scores[:-1] >= scores[1:]).all()


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")], ids=lambda page: page.stem)
def test_commands_of_a_page_succeed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "console"):
        for command in re.findall(r"^\$ usmo (.*)$", block, re.MULTILINE):
            assert main(command.split()) == 0, command


def headings(page):
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}


def warnings_of_the_package():
    """The topics of all calls of ``usmo.system.caller.warn``, with the place of each."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("caller.warn", "warn"):
                topics = [word.value.value for word in node.keywords if word.arg == "topic"]
                yield f"{path.relative_to(ROOT)}:{node.lineno}", topics[0] if topics else None


def test_every_warning_ends_with_its_entry_in_the_troubleshooting_page():
    entries, found = headings(ROOT / caller.HELP), list(warnings_of_the_package())
    assert len(found) >= 10
    assert [place for place, topic in found if topic not in entries] == []


def test_every_error_class_has_an_entry_in_the_troubleshooting_page():
    entries = headings(ROOT / caller.HELP)
    errors = [
        node.name
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        and any(ast.unparse(base).endswith(("Error", "Warning", "Exception")) for base in node.bases)
        and not node.name.startswith("_")
    ]
    assert {"TableError", "ModelFileError", "LockHeld"} <= set(errors)
    assert [name for name in errors if name.lower() not in entries] == []


def test_warning_points_at_its_entry():
    with pytest.warns(UserWarning, match=r"^text \(docs/troubleshooting.md#large-exact-fit\)$"):
        caller.warn("text", topic="large-exact-fit")

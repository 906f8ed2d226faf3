"""What a user meets before the first fit: installation hints, imports, compilation, documentation, types."""

import doctest
import os
import re
import runpy
import subprocess
import sys
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path

import pytest

import usmo
from usmo.cli import main

ROOT = Path(__file__).parent.parent

FIT = (
    "import numpy as np; from usmo import PUSVC; PUSVC(0.5).fit(np.arange(8.0)[:, None], [0, 0, 0, 0, 0, 1, 1, 1])"
)


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )


def test_importing_loads_no_compiler_plotting_or_qp_library():
    result = run("import sys, usmo; print([m for m in ('numba', 'clarabel', 'matplotlib') if m in sys.modules])")
    assert result.stdout.strip() == "[]"


def test_first_fit_on_a_machine_says_that_it_compiles_and_the_second_does_not(tmp_path):
    cold, warm = (run(FIT, NUMBA_CACHE_DIR=str(tmp_path)).stderr for _ in range(2))
    assert cold.strip() == "usmo: compiling the solver for this machine; this takes about ten seconds, once."
    assert warm == ""


def test_no_function_is_compiled_after_the_announcement():
    """The toy problem of the announcement compiles every signature that a real fit uses."""
    code = """
import numpy as np
from usmo.fitting.warm_up import compile_kernel_solvers
from usmo.kernels import tiles
from usmo.solvers import pair, pair_steps, usmo

def signatures():
    functions = [getattr(f, "_dispatcher", f) for m in (tiles, pair, pair_steps, usmo) for f in vars(m).values()]
    return [len(f.signatures) for f in functions if hasattr(f, "signatures")]

compile_kernel_solvers()
before = signatures()
from usmo import PUSVC
rng = np.random.default_rng(0)
X, y = rng.normal(size=(200, 3)), np.arange(200) < 20
for solver in ("blocks", "usmo"):
    PUSVC(0.4, lam=1e-4, solver=solver).fit(X, y)
    small = PUSVC(0.4, lam=1e-4, solver=solver, cache_size=0.001, scenario="censored")
    small.fit(X.astype(np.float32), y, sample_weight=rng.random(200))
print(sum(before) > 3, before == signatures())
"""
    assert run(code).stdout.strip() == "True True"


@pytest.mark.parametrize("name", ["PUSVC", "LinearPUSVC", "PUSVCCV", "PUOutlierDetector", "OpenSetPUSVC", "path"])
def test_docstring_example_runs(name):
    public = getattr(usmo, name)
    tests = doctest.DocTestFinder(recurse=False).find(public, name, module=sys.modules[public.__module__])
    results = [doctest.DocTestRunner().run(test) for test in tests]
    assert sum(result.attempted for result in results) >= 6
    assert not any(result.failed for result in results)


def test_a_users_typed_script_runs():
    """``make test`` checks the types of the same script with mypy."""
    runpy.run_path(str(ROOT / "tests" / "typing" / "example.py"), run_name="__main__")


def test_version_is_that_of_the_distribution():
    assert version("usmo-learn") == usmo.__version__


OTHER_PROJECT = re.compile(
    r"""\b(?:install|add)\s+(?:-\S+\s+)*["'`]*usmo(?![-\w./])  # pip install usmo, uv add "usmo"
      | \busmo\[                                              # usmo[dask], the extra of another distribution
      | pypi\S*/usmo(?![-\w])                                 # pypi.org/project/usmo
    """,
    re.VERBOSE,
)
"""Texts that lead users to the distribution ``usmo`` on PyPI, which is another project."""


@pytest.mark.parametrize(
    ("text", "misleads"),
    [
        ("pip install usmo", True),
        ('pip install -U "usmo"', True),
        ("pip install 'usmo[dask]'", True),
        ("the extra ``usmo[qp]``", True),
        ("https://pypi.org/project/usmo/", True),
        ('pip install "usmo-learn[dask]"', False),
        ("https://pypi.org/project/usmo-learn/", False),
        ("from usmo import PUSVC", False),
    ],
)
def test_misleading_hints_are_recognised(text, misleads):
    assert bool(OTHER_PROJECT.search(text)) == misleads


def test_no_text_leads_users_to_the_other_project_of_this_name():
    folders = ("src/usmo/", "docs/", "examples/", "benchmarks/")
    names = [name for name in tracked_files() if name.startswith(folders) or "/" not in name]
    assert len(names) > 100
    hints = []
    for path in (ROOT / name for name in names):
        if path.suffix != ".png":
            text = path.read_text(encoding="utf-8")
            hints += [f"{path.relative_to(ROOT)}: {match[0]}" for match in OTHER_PROJECT.finditer(text)]
    assert hints == []


def test_python_example_of_the_readme_runs():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names = {}
    exec(example, names)
    assert names["model"].certificate_.relative_gap < 1e-3
    assert len(text.splitlines()) <= 100


@pytest.mark.skipif(
    tuple(map(int, version("scikit-learn").split(".")[:2])) < (1, 7), reason="older versions grow other trees"
)
def test_commands_of_the_readme_give_the_ranking_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ usmo (.*)$", text, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["demo", "rank"]
    for command in commands:
        assert main(command.split()) == 0
    shown, printed = (
        re.findall(r"^\d,\d+,C-\d+,", output, re.MULTILINE) for output in (text, capsys.readouterr().out)
    )
    assert shown == printed
    assert len(shown) == 3
    assert (tmp_path / "out.html").exists()
    assert (tmp_path / "bank.usmo").exists()


def without_code(page):
    """The text of a document without its code blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def test_links_between_documents_lead_to_files_and_headings():
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target, heading in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", without_code(page)):
            file = (page.parent / target) if target else page
            assert file.exists(), f"{page.name}: {target}"
            if heading:
                titles = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
                anchors = [re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles]
                assert heading in anchors, f"{page.name}: {target}#{heading}"


def test_architecture_page_names_files_and_functions_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    sources = {
        str(path.relative_to(ROOT / "src" / "usmo")): path for path in (ROOT / "src" / "usmo").rglob("*.py")
    }
    references = re.findall(r"`(?:usmo/)?([\w/]+\.py)`(?:\s`([\w.]+)`)?", page)
    assert len(references) > 40
    for name, defined in references:
        files = [path for key, path in sources.items() if key == name or key.endswith(f"/{name}")]
        assert files, f"{name} does not exist"
        words = [f"def {word}(" for word in defined.split(".")] + [f"class {word}" for word in defined.split(".")]
        texts = [path.read_text(encoding="utf-8") for path in files]
        assert not defined or any(word in text for word in words for text in texts), f"{name} has no {defined}"


def tracked_files():
    """Files of the checkout that git does not ignore, new ones included."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in names if (ROOT / name).exists()]


def test_source_distribution_holds_every_tracked_file():
    always = {"pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"}  # setuptools adds these
    folders = ["src/usmo"]
    for line in (ROOT / "MANIFEST.in").read_text().splitlines():
        rule, *names = line.split()
        if rule == "include":
            always.update(names)
        elif rule == "graft":
            folders += names
    missing = [
        name
        for name in tracked_files()
        if name not in always and not any(name.startswith(f"{folder}/") for folder in folders)
    ]
    assert missing == []


def test_wheel_holds_every_data_file_of_the_package():
    tomllib = pytest.importorskip("tomllib")
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    assert setup["packages"]["find"] == {"where": ["src"]}
    patterns = setup["package-data"]["usmo"]
    names = [name.removeprefix("src/usmo/") for name in tracked_files() if name.startswith("src/usmo/")]
    data = [name for name in names if not name.endswith(".py")]
    assert "py.typed" in data
    assert [name for name in data if not any(fnmatch(name, pattern) for pattern in patterns)] == []

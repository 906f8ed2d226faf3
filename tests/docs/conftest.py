"""The built site: that of ``make docs`` if USMO_SITE names it, else a short build without running the gallery."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site. The processes of a parallel run share one build, which fails on any warning."""
    if os.environ.get("USMO_SITE"):
        return Path(os.environ["USMO_SITE"]).resolve()
    pytest.importorskip("sphinx_gallery")
    pytest.importorskip("pydata_sphinx_theme")
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own) / "site"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "errors.txt").exists():
            (folder / "errors.txt").write_text(build(folder), encoding="utf-8")
    errors = (folder / "errors.txt").read_text(encoding="utf-8")
    assert not errors, errors
    return folder / "site"


def build(folder):
    """Build the site without running the gallery, and return what went wrong."""
    # Sphinx writes generated pages beside the others: work on a copy
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("generated", "gallery"))
    for name in ("src", "examples"):
        (folder / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going", "-D", "plot_gallery=0"]
    result = subprocess.run([*command, "docs", "site"], cwd=folder, capture_output=True, text=True)
    return "" if result.returncode == 0 else result.stderr or f"exit code {result.returncode}"

"""The built site: that of ``make docs`` if USMO_SITE names it, else a short build without running the gallery."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site; the build fails on any warning."""
    if os.environ.get("USMO_SITE"):
        return Path(os.environ["USMO_SITE"]).resolve()
    pytest.importorskip("sphinx_gallery")
    pytest.importorskip("pydata_sphinx_theme")
    folder = tmp_path_factory.mktemp("site")
    # Sphinx writes generated pages beside the others: work on a copy
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("generated", "gallery"))
    for name in ("src", "examples"):
        (folder / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going", "-D", "plot_gallery=0"]
    result = subprocess.run([*command, "docs", "site"], cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return folder / "site"

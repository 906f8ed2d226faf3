"""Running the command line: in this process, or as a program of its own."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from usmo.cli import main

LABELS = ["--label-column", "known", "--positive", "yes", "--id-column", "id"]
FIXED = [*LABELS, "--prior", "0.2", "--lam", "0.01"]
"""Nothing is estimated or selected: fast."""


def program(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """``python -m usmo`` with these arguments."""
    command = [sys.executable, "-m", "usmo", *map(str, arguments)]
    return subprocess.run(command, **{"capture_output": True, "check": False, **options})


def called(capfd: Any, *arguments: Any) -> str:
    """What a command that goes well writes to stdout."""
    capfd.readouterr()
    code = main([str(each) for each in arguments])
    out, err = capfd.readouterr()
    assert code == 0, err
    assert all(line.startswith("usmo: ") for line in err.splitlines())
    return out


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def contents(folder: Path) -> dict[str, str]:
    """Every file and folder below, with a digest of what is in it."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
        if os.access(path, os.R_OK)
    }


def table(rows: int = 60, known: int = 20, header: str = "id,age,job,known\n", last: str = "") -> bytes:
    """A table of a number and three jobs, as bytes."""
    jobs = ("miner", "cook", "clerk")
    body = "".join(f"r{i},{20 + 7 * i % 41},{jobs[i % 3]},{'yes' if i < known else ''}\n" for i in range(rows))
    return (header + body + last).encode()

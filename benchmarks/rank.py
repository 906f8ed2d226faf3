"""Stages of ``usmo rank`` on a table of bank customers: python -m benchmarks.rank [--rows 4000] [--report]

Every run is a process of its own, so that imports count. Reading includes imports and the start of Python. The best of
``--runs`` is printed, stage by stage, in seconds and in shares of the whole.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from usmo.cli.progress import REPORT
from usmo.datasets import make_customers
from usmo.io import write
from usmo.system import stages

_NAMED = (stages.PRIOR, stages.LAMBDA, stages.FIT, REPORT)


def measured(table: Path, report: bool) -> dict[str, float]:
    """Seconds of each stage of one run: the lines on stderr say when a stage begins."""
    command = [
        sys.executable,
        "-u",
        "-m",
        "usmo",
        "rank",
        str(table),
        "--label-column",
        "plan",
        "--positive",
        "yes",
    ]
    command += ["--output", str(table.with_name("ranking.csv"))]
    command += ["--report", str(table.with_name("out.html"))] if report else []
    began = last = time.perf_counter()
    seconds, stage = {}, "start, imports, reading"
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            name = line.removeprefix("usmo: ").strip()
            if name in _NAMED:
                now = time.perf_counter()
                seconds[stage], stage, last = now - last, name, now
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    now = time.perf_counter()
    return {**seconds, f"{stage} and writing": now - last, "whole": now - began}


def main(rows: list[int], runs: int, report: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for n in rows:
            table = Path(folder) / f"customers-{n}.csv"
            write(make_customers(n, n_known=n // 20)[0], table)
            measured(table, report)  # compiles
            best = min((measured(table, report) for _ in range(runs)), key=lambda each: each["whole"])
            print(f"{n:,} rows")
            for name, seconds in best.items():
                print(f"  {name:40s} {seconds:7.2f} s {100 * seconds / best['whole']:5.0f} %", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[4000])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    main(arguments.rows, arguments.runs, arguments.report)

"""``usmo reproduce``: the paper's tables and figures, next to the published numbers."""

from __future__ import annotations

from pathlib import Path

import click

from usmo.cli import interrupts
from usmo.cli.messages import Messages
from usmo.reproduce import figure_report, figures, report, stopping, tables
from usmo.system.atomic import write_whole


def reproduce(what: str, draws: int, out: Path, jobs: int | None, quick: bool) -> None:
    """Compute the tables or the figures; print the path of the page."""
    interrupts.raise_instead()
    interrupts.set_outcome("finished results are kept, the same command continues from there")
    with Messages(quiet=False):
        click.echo(_figures(out, quick) if what == "figures" else _tables(out, draws, jobs, quick))


def _tables(out: Path, draws: int, jobs: int | None, quick: bool) -> Path:
    rows = tables.run(out, min(2, draws) if quick else draws, quick=quick, jobs=jobs)
    stopped = stopping.run(out, names=tables.QUICK) if quick else stopping.run(out)
    write_whole(out / "averages.md", report.markdown(rows).encode())
    return report.write(out, rows, stopped)


def _figures(out: Path, quick: bool) -> Path:
    rows = figures.run(out, quick=quick)
    course = figures.passes((500, 1000)) if quick else figures.passes()
    return figure_report.write(out, rows, course)

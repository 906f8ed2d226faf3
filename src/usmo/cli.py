"""The command line: ``usmo reproduce``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="usmo", description="Exact classifiers from positive and unlabelled rows.")
    commands = root.add_subparsers(dest="command", required=True)
    reproduce = commands.add_parser(
        "reproduce",
        help="the paper's tables again, next to the published numbers",
        epilog="example: usmo reproduce tables --draws 10 --out out/reproduction",
    )
    reproduce.add_argument(
        "what", choices=["tables", "figures"], help="the tables of F-measures, or time and F-measure against n"
    )
    reproduce.add_argument("--draws", type=_positive, default=10, help="tables: draws of the labels (10)")
    reproduce.add_argument(
        "--out", type=Path, default=Path("out/reproduction"), help="folder for CSV, Markdown and HTML"
    )
    reproduce.add_argument("--jobs", type=_positive, help="tables: processes; as many as cores by default")
    reproduce.add_argument("--quick", action="store_true", help="a small part, in half a minute")
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 if it went well, 1 if it failed, 2 if it was not understood."""
    options = parser().parse_args(arguments)
    try:
        print(_figures(options) if options.what == "figures" else _tables(options))
    except (OSError, ValueError, ImportError) as error:
        print(f"usmo: {error}", file=sys.stderr)
        return 1
    return 0


def _tables(options: argparse.Namespace) -> Path:
    from usmo.reproduce import report, stopping, tables

    draws = min(2, options.draws) if options.quick else options.draws
    rows = tables.run(options.out, draws, quick=options.quick, jobs=options.jobs)
    found = stopping.run(options.out, names=tables.QUICK) if options.quick else stopping.run(options.out)
    (options.out / "averages.md").write_text(report.markdown(rows))
    return report.write(options.out, rows, found)


def _figures(options: argparse.Namespace) -> Path:
    from usmo.reproduce import figure_report, figures

    rows = figures.run(options.out, quick=options.quick)
    course = figures.passes((500, 1000)) if options.quick else figures.passes()
    return figure_report.write(options.out, rows, course)

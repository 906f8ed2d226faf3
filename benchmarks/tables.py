"""Messy versions of known tables: python -m benchmarks.tables [--draws 2]   (USMO_DATA set)

Four tables are written as CSV files: numbers with two decimals, categories in words, one column as ISO dates, 4 % of
the cells empty. Every version writes the same values as a program or person would. ``usmo rank`` reads it with nothing
else said. The AUC on the hidden positives must lie within 0.01 of that of the clean file, in the mean of the tables.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import sys
import tempfile
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.metrics import roc_auc_score

from usmo.cli import main as run
from usmo.datasets import load, make_pu
from usmo.datasets.loading import table_file
from usmo.io import write

TABLES = ("bank-marketing", "diabetes", "liverDisorders", "heart-statlog")
ROWS, GAPS, LIMIT = 1500, 0.04, 0.01
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

Cells = dict[str, list[Any]]
"""The columns of a table: numbers, dates and texts, None where a cell is empty."""


def clean(name: str, draw: int) -> tuple[Cells, np.ndarray, float]:
    """A table with labels in the column known, which of its rows are positive, and the prior of the unlabelled ones."""
    rng = np.random.default_rng(draw)
    X, y = load(name)
    rows = np.sort(rng.choice(len(y), min(len(y), ROWS), replace=False))
    X, truth = X[rows], y[rows] == 1
    columns: Cells = {}
    with np.load(table_file(name)) as stored:
        names = (
            stored["feature_names"].tolist() if "feature_names" in stored else [f"x{j}" for j in range(X.shape[1])]
        )
        for j, each in enumerate(names):
            if f"cat_{each}" in stored:
                columns[each] = [str(text) for text in stored[f"cat_{each}"][X[:, j].astype(int)]]
            elif len(np.unique(X[:, j])) <= 2:
                columns[each] = ["true" if value == X[:, j].max() else "false" for value in X[:, j]]
            else:
                scale = 1.0 if np.abs(X[:, j]).max() > 20 else 2000.0
                columns[each] = [round(float(value), 2) for value in scale * X[:, j]]
    first = next(each for each, values in columns.items() if isinstance(values[0], float))
    columns[first] = [date(2000, 1, 1) + timedelta(days=round(value)) for value in columns[first]]
    for values in columns.values():
        for i in np.flatnonzero(rng.random(len(values)) < GAPS):
            values[i] = None
    labels, prior = make_pu(truth.astype(int), fraction=0.3, random_state=draw)
    columns["known"] = ["yes" if label == 1 else None for label in labels]
    return columns, truth, prior


def written(columns: Cells, number: Callable[[float], str], day: Callable[[date], str], **options: Any) -> str:
    """A table as CSV, with numbers and dates as two functions write them."""
    show = {float: number, date: day}
    stream = io.StringIO()
    writer = csv.writer(stream, **options)
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(["" if value is None else show.get(type(value), str)(value) for value in row])
    return stream.getvalue()


def plain(x: float) -> str:
    return f"{x:.2f}"


def german(x: float) -> str:
    return f"{x:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


def currency(x: float) -> str:
    return f"${x:,.2f}" if x >= 0 else f"(${-x:,.2f})"


def american(day: date) -> str:
    return f"{day.month}/{day.day}/{day.year}"


def named(day: date) -> str:
    return f"{day.day}-{MONTHS[day.month - 1]}-{day.year}"


def swiss(x: float) -> str:
    return f"{abs(x):,.2f}".replace(",", "'") + "-" * (x < 0)


def european(day: date) -> str:
    return day.strftime("%d.%m.%Y")


def spoilt(columns: Cells, texts: list[str], gaps_only: bool) -> Cells:
    """The table with these texts in its empty cells, or instead in one of a hundred cells with numbers."""
    rng, result = np.random.default_rng(0), {}
    for name, values in columns.items():
        result[name] = list(values)
        for i, value in enumerate(values):
            is_chosen = value is None if gaps_only else isinstance(value, float) and rng.random() < 0.01
            if name != "known" and is_chosen:
                result[name][i] = texts[rng.integers(len(texts))]
    return result


def workbook(columns: Cells) -> bytes:
    stream = io.BytesIO()
    write(
        pl.DataFrame({name: pl.Series(values, strict=False) for name, values in columns.items()}),
        stream,
        format="xlsx",
    )
    return stream.getvalue()


MISSING = ["n.a.", "#N/A", "unknown", "--", "?", "None", "."]
VERSIONS: dict[str, tuple[str, Callable[[Cells], str | bytes]]] = {
    "clean": ("csv", lambda t: written(t, plain, str)),
    "currency: $1,234.50, ($5.00)": ("csv", lambda t: written(t, currency, str)),
    "decimal comma: 1.234,50 €": ("csv", lambda t: written(t, lambda x: f"{german(x)} €", str, delimiter=";")),
    "German Excel: cp1252, title, 31.12.2020": (
        "csv",
        lambda t: ("Übersicht für März\r\n\r\n" + written(t, german, european, delimiter=";")).encode("cp1252"),
    ),
    "American: 12/31/2020, yes and no": (
        "csv",
        lambda t: written(t, plain, american).replace("true", "Yes").replace("false", "No"),
    ),
    "percent: 51.3%": ("csv", lambda t: written(t, lambda x: f"{x:.2f}%", str)),
    "units: 5.25 kg": ("csv", lambda t: written(t, lambda x: f"{x:.2f} kg", named)),
    "apostrophes and trailing minus": ("csv", lambda t: written(t, swiss, str)),
    "seven spellings of missing": ("csv", lambda t: written(spoilt(t, MISSING, True), plain, str)),
    "1 % bad cells: >50, see note": ("csv", lambda t: written(spoilt(t, [">50", "see note"], False), plain, str)),
    "workbook (.xlsx)": ("xlsx", workbook),
    "UTF-16 with tabs and spaces: 1 234,50": (
        "txt",
        lambda t: written(t, lambda x: german(x).replace(".", "\u00a0"), european, delimiter="\t").encode("utf-16"),
    ),
}  # fmt: skip


def auc(path: Path, truth: np.ndarray, known: list[Any], prior: float) -> float:
    """The AUC of ``usmo rank`` on the rows that are not known."""
    output = path.with_name("ranking.csv")
    options = [
        "--label-column",
        "known",
        "--positive",
        "yes",
        "--prior",
        f"{prior:.4f}",
        "--lam",
        "0.01",
        "--quiet",
    ]
    with contextlib.redirect_stderr(io.StringIO()) as said:
        if run(["rank", str(path), *options, "--output", str(output)]):
            sys.exit(f"{path}: {said.getvalue()}")
    ranking = pl.read_csv(output)
    rows = ranking["row" if "row" in ranking.columns else "id"].to_numpy() - 1
    assert all(known[row] is None for row in rows)
    return float(roc_auc_score(truth[rows], ranking["score"].to_numpy()))


def main(draws: int) -> None:
    tables = {(name, draw): clean(name, draw) for name in TABLES for draw in range(draws)}
    print(
        f"AUC of usmo rank, mean of {draws} draws      "
        + "  ".join(f"{name:>14s}" for name in TABLES)
        + "    mean  difference"
    )
    base, failed = 0.0, False
    for version, (ending, make) in VERSIONS.items():
        areas = np.zeros((len(TABLES), draws))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"table.{ending}"
            for (name, draw), (columns, truth, prior) in tables.items():
                data = make(columns)
                path.write_bytes(data if isinstance(data, bytes) else data.encode())
                areas[TABLES.index(name), draw] = auc(path, truth, columns["known"], prior)
        mean = areas.mean()
        base = base or mean
        failed |= bool(abs(mean - base) > LIMIT)
        shown = "  ".join(f"{each:14.4f}" for each in areas.mean(axis=1))
        print(f"{version:40s} {shown}  {mean:.4f}  {mean - base:+.4f}", flush=True)
    if failed:
        sys.exit(f"a version differs by more than {LIMIT}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2)
    main(parser.parse_args().draws)

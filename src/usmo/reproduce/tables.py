"""The two tables of F-measures: 12 data sets × 4 λ × 2 kernels × 4 methods, over several draws of the labels."""

from __future__ import annotations

import csv
import os
import sys
import time
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from usmo.datasets import SMALL
from usmo.reproduce.cells import FIELDS, KERNELS, LAMBDAS, METHODS, Row, methods_of, run_cell
from usmo.reproduce.requirements import check_requirements
from usmo.reproduce.results import write_rows

QUICK = ("australian", "heart", "ionosphere")
"""Data sets of the quick run."""


def published() -> dict[tuple[str, str, float, str], float]:
    """The paper's F-measures by kernel, data set, λ and method."""
    names = {name.lower(): name for name in SMALL}
    text = resources.files("usmo.reproduce").joinpath("published.csv").read_text()
    return {
        (row["kernel"], names[row["dataset"].lower()], float(row["lambda"]), row["method"]): float(
            row["f_measure"]
        )
        for row in csv.DictReader(text.splitlines())
    }


def read(path: Path) -> list[Row]:
    """The complete rows of a results file, without an unfinished last line."""
    if not path.is_file():
        return []
    rows: list[Row] = []
    finished = path.read_text().rpartition("\n")[0]
    for row in csv.DictReader(finished.splitlines()):
        try:
            numbers = {name: float(row[name]) for name in FIELDS if name not in ("kernel", "dataset", "method")}
        except (KeyError, TypeError, ValueError):
            continue
        rows.append({**row, **numbers, "draw": int(numbers["draw"])})
    return rows


def run(out: Path, draws: int, *, quick: bool = False, jobs: int | None = None) -> list[Row]:
    """Compute the cells missing in ``out/tables.csv`` and return all rows; each finished cell is written at once."""
    names = QUICK if quick else SMALL
    check_requirements(names)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "tables.csv"
    rows = read(path)
    have = {(r["kernel"], r["dataset"], r["lambda"], r["draw"], r["method"]) for r in rows}
    # the slowest first, so that the workers finish together
    cells = [
        (name, kernel, lam, draw)
        for name in sorted(names, key=lambda name: name != "krvskp")
        for draw in range(draws)
        for kernel in KERNELS
        for lam in LAMBDAS
    ]
    missing = [
        cell for cell in cells
        if any((cell[1], cell[0], cell[2], cell[3], method) not in have for method in methods_of(cell[0], cell[3]))
    ]  # fmt: skip
    write_rows(path, FIELDS, rows)  # without an unfinished line
    began = time.perf_counter()
    with path.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        for done, results in enumerate(_run_cells(missing, jobs), 1):
            writer.writerows(results)
            stream.flush()
            rows.extend(results)
            if done % 20 == 0 or done == len(missing):
                spent = time.perf_counter() - began
                left = spent / done * (len(missing) - done)
                print(
                    f"usmo: {done} of {len(missing)} cells, {spent:.0f} s, about {left:.0f} s left",
                    file=sys.stderr,
                )
    wanted = {(name, draw) for name in names for draw in range(draws)}
    return [row for row in rows if (row["dataset"], row["draw"]) in wanted]


def _run_cells(cells: list[tuple[str, str, float, int]], jobs: int | None) -> Iterable[list[Row]]:
    """The results of each cell as it finishes, from ``jobs`` processes or as many as there are cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    workers = jobs or cores
    if workers == 1 or len(cells) < 2:
        return (run_cell(*cell) for cell in cells)
    return Parallel(workers, return_as="generator_unordered")(delayed(run_cell)(*cell) for cell in cells)


def averages(rows: list[Row], measure: str) -> dict[tuple[str, float, str], tuple[float, float]]:
    """Mean over data sets of the mean over draws, and the standard deviation of that average over the draws."""
    table = {}
    for kernel in KERNELS:
        for lam in LAMBDAS:
            for method in METHODS:
                by_draw: dict[int, list[float]] = {}
                by_set: dict[str, list[float]] = {}
                for row in rows:
                    if (row["kernel"], row["lambda"], row["method"]) == (kernel, lam, method):
                        by_draw.setdefault(row["draw"], []).append(row[measure])
                        by_set.setdefault(row["dataset"], []).append(row[measure])
                if by_set:
                    mean = float(np.mean([np.mean(values) for values in by_set.values()]))
                    complete = [np.mean(v) for v in by_draw.values() if len(v) == len(by_set)]
                    spread = float(np.std(complete, ddof=1)) if len(complete) > 1 else float("nan")
                    table[kernel, lam, method] = mean, spread
    return table


def largest_difference(rows: list[Row], first: str, second: str, measure: str) -> tuple[float, str]:
    """The largest difference of two methods in a cell, both averaged over their common draws, and the cell's name."""
    cells: dict[tuple[str, str, float], dict[tuple[str, int], float]] = {}
    for row in rows:
        if row["method"] in (first, second):
            cell = row["kernel"], row["dataset"], row["lambda"]
            cells.setdefault(cell, {})[row["method"], row["draw"]] = row[measure]
    largest = 0.0, ""
    for (kernel, dataset, lam), values in cells.items():
        shared = [draw for method, draw in values if method == first and (second, draw) in values]
        if shared:
            difference = abs(float(np.mean([values[first, d] - values[second, d] for d in shared])))
            if difference > largest[0]:
                largest = difference, f"{dataset}, {kernel}, λ = {lam:g}"
    return largest

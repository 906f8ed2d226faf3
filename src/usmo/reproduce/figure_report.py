"""The figures as one self-contained HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from usmo.reproduce.cells import KERNELS
from usmo.reproduce.page import data_uri, new_figure, write_page

_NAMES = {"fast": "PUSVC", "usmo": "USMO", "qp": "QP", "ramp": "Ramp loss"}
_COLOURS = {"fast": "#111111", "usmo": "#1b9e77", "qp": "#3b6fb6", "ramp": "#c4553b"}


def write(out: Path, rows: list[dict[str, Any]], course: list[dict[str, Any]]) -> Path:
    """Write ``out/figures.html``: time and F-measure for every task, and the course of the algorithm."""
    parts = [
        "<h1>Time and F-measure against the number of unlabelled rows</h1>",
        "<p>100 labelled positives (fewer where a class has fewer than 200 rows), λ = 0.01, the true prior, "
        "F-measure of the positive class on at most 5,000 test rows. PUSVC is the block solver, for the linear "
        "kernel and tables of few columns or many rows the interior point; USMO the paper's algorithm. Hollow "
        "points use poker hands drawn at random beyond the real ones. A curve ends where a method holds no more "
        "rows or takes too long; the QP goes to 4,000 rows for the first class of a table. F-measures are by the "
        "sign of f, the paper's rule; dashed: the share π of the unlabelled rows is taken for positive.</p>",
    ]
    for kernel in KERNELS:
        parts.append(f"<h2>{kernel.capitalize()} kernel</h2>")
        for measure, label in (("seconds", "time in seconds"), ("f_measure", "F-measure on test rows")):
            source = _curves(rows, kernel, measure)
            parts.append(f'<p><img alt="{label}, {kernel} kernel" src="{source}"></p>')
    if course:
        parts.append("<h2>The course of the algorithm</h2>")
        source = _course(course)
        parts.append(f'<p><img alt="Objective and violation by pass; passes against rows" src="{source}"></p>')
    return write_page(out / "figures.html", "USMO, figures", parts)


def _curves(rows: list[dict[str, Any]], kernel: str, measure: str) -> str:
    from matplotlib.ticker import NullFormatter

    names = list(dict.fromkeys(row["task"] for row in rows))
    columns = min(6, len(names))
    lines = -(-len(names) // columns)
    figure = new_figure(2.1 * columns + 0.6, 1.8 * lines + 0.5)
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=measure == "f_measure").ravel()
    for axis in axes[len(names) :]:
        axis.set_visible(False)
    for axis, name in zip(axes, names, strict=False):
        for method, title in _NAMES.items():
            points = [r for r in rows if (r["task"], r["kernel"], r["method"]) == (name, kernel, method)]
            if points:
                x, y = [r["n"] for r in points], [r[measure] for r in points]
                axis.plot(x, y, color=_COLOURS[method], label=title, linewidth=1.2)
                for drawn, fill in ((0, _COLOURS[method]), (1, "white")):
                    some = [k for k, r in enumerate(points) if r["drawn"] == drawn]
                    axis.scatter(
                        [x[k] for k in some], [y[k] for k in some], s=12, color=fill, zorder=3,
                        edgecolors=_COLOURS[method],
                    )  # fmt: skip
                if measure == "f_measure" and method == "fast":
                    y = [r["f_at_prior"] for r in points]
                    axis.plot(x, y, "--", color=_COLOURS[method], linewidth=1.0, label=f"{title}, at the prior")
        axis.set_title(name, fontsize=9)
        axis.set_xscale("log")
        axis.xaxis.set_minor_formatter(NullFormatter())
        if measure == "seconds":
            axis.set_yscale("log")
        axis.tick_params(labelsize=7)
        axis.grid(alpha=0.3)
    what = "seconds" if measure == "seconds" else "F-measure"
    figure.supylabel(f"{what}, against unlabelled rows", fontsize=9)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8)
    return data_uri(figure)


def _course(course: list[dict[str, Any]]) -> str:
    figure = new_figure(11, 3.2)
    left, middle, right = figure.subplots(1, 3)
    for run in course:
        history = run["history"]
        number = np.arange(1, len(history) + 1)
        left.plot(number, [record.objective for record in history], marker=".", label=f"n = {run['n']}")
        middle.semilogy(
            [record.seconds for record in history], [max(record.violation, 1e-6) for record in history], marker="."
        )
    right.plot([run["n"] for run in course], [run["passes"] for run in course], marker="o", color="#111111")
    for axis, x, y in (
        (left, "pass", "dual objective"), (middle, "seconds", "violation"), (right, "unlabelled rows", "passes")
    ):  # fmt: skip
        axis.set_xlabel(x)
        axis.set_ylabel(y)
        axis.grid(alpha=0.3)
    left.legend(fontsize=8)
    right.set_ylim(bottom=0)
    return data_uri(figure)

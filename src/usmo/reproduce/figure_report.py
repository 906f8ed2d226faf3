"""The page of the figures: time and F-measure for every task, and the passes of the paper's algorithm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from usmo.reproduce.cells import KERNELS, Row
from usmo.reproduce.page import data_uri, new_figure, write_page

_NAMES = {"fast": "PUSVC", "usmo": "USMO", "qp": "QP", "ramp": "Ramp loss"}
_COLOURS = {"fast": "#111111", "usmo": "#1b9e77", "qp": "#3b6fb6", "ramp": "#c4553b"}
_MEASURES = {"time in seconds": "seconds", "F-measure on test rows": "f_measure"}


def write(out: Path, rows: list[Row], passes: list[dict[str, Any]]) -> Path:
    """Write ``out/figures.html`` from the rows of ``figures.run`` and the runs of ``figures.passes``."""
    curves = {
        kernel: {label: _curves(rows, kernel, measure) for label, measure in _MEASURES.items()}
        for kernel in KERNELS
    }
    return write_page(
        out / "figures.html", "figures.html", curves=curves, passes=_passes(passes) if passes else ""
    )


def _curves(rows: list[Row], kernel: str, measure: str) -> str:
    """One panel per task, one curve per method, as a data URI."""
    from matplotlib.ticker import NullFormatter

    names = list(dict.fromkeys(row["task"] for row in rows))
    columns = min(6, len(names))
    panel_rows = -(-len(names) // columns)
    figure = new_figure(2.1 * columns + 0.6, 1.8 * panel_rows + 0.5)
    axes = figure.subplots(panel_rows, columns, squeeze=False, sharex=True, sharey=measure == "f_measure").ravel()
    for axis in axes[len(names) :]:
        axis.set_visible(False)
    for axis, name in zip(axes, names, strict=False):
        for method, title in _NAMES.items():
            points = [r for r in rows if (r["task"], r["kernel"], r["method"]) == (name, kernel, method)]
            if points:
                x, y = [r["n"] for r in points], [r[measure] for r in points]
                axis.plot(x, y, color=_COLOURS[method], label=title, linewidth=1.2)
                for drawn, fill in ((0, _COLOURS[method]), (1, "white")):
                    chosen = [k for k, r in enumerate(points) if r["drawn"] == drawn]
                    axis.scatter(
                        [x[k] for k in chosen], [y[k] for k in chosen], s=12, color=fill, zorder=3,
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
    label = "seconds" if measure == "seconds" else "F-measure"
    figure.supylabel(f"{label}, against unlabelled rows", fontsize=9)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8)
    return data_uri(figure)


def _passes(runs: list[dict[str, Any]]) -> str:
    """Objective and violation by pass, and the number of passes against n, as a data URI."""
    figure = new_figure(11, 3.2)
    left, middle, right = figure.subplots(1, 3)
    for run in runs:
        history = run["history"]
        number = np.arange(1, len(history) + 1)
        left.plot(number, [record.objective for record in history], marker=".", label=f"n = {run['n']}")
        middle.semilogy(
            [record.seconds for record in history], [max(record.violation, 1e-6) for record in history], marker="."
        )
    right.plot([run["n"] for run in runs], [run["passes"] for run in runs], marker="o", color="#111111")
    for axis, x, y in (
        (left, "pass", "dual objective"), (middle, "seconds", "violation"), (right, "unlabelled rows", "passes")
    ):  # fmt: skip
        axis.set_xlabel(x)
        axis.set_ylabel(y)
        axis.grid(alpha=0.3)
    left.legend(fontsize=8)
    right.set_ylim(bottom=0)
    return data_uri(figure)

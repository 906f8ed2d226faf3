"""The page of the tables: published numbers beside ours, with plots."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from usmo.reproduce import tables
from usmo.reproduce.cells import KERNELS, LAMBDAS, METHODS, Row
from usmo.reproduce.page import data_uri, new_figure, write_page
from usmo.reproduce.stopping import summary

NAMES = {"init": "Init", "ramp_cccp": "Ramp loss", "double_hinge_qp": "QP", "usmo": "USMO"}
_COLOURS = {"init": "#8c8c8c", "ramp_cccp": "#c4553b", "double_hinge_qp": "#3b6fb6", "usmo": "#1b9e77"}
_HEADS = ("kernel, λ", "method", "published", "by position", "aligned", "F1", "AUC")


def write(out: Path, rows: list[Row], stopping: list[Row] | None) -> Path:
    """Write ``out/reproduction.html``."""
    return write_page(
        out / "reproduction.html",
        "tables.html",
        data_sets=len({row["dataset"] for row in rows}),
        draws=1 + max(row["draw"] for row in rows),
        heads=_HEADS,
        averages=list(_averages(rows)),
        plot=_plot(rows),
        agreement=[
            (measure, *tables.largest_difference(rows, "usmo", "double_hinge_qp", measure))
            for measure in ("aligned", "f1", "auc")
        ],
        stopping=summary(stopping) if stopping else {},
        methods=[NAMES[method] for method in METHODS],
        cells={kernel: list(_cells(rows, kernel)) for kernel in KERNELS},
    )


def markdown(rows: list[Row]) -> str:
    """The averages as a Markdown table."""
    lines = [_HEADS, ["---"] * len(_HEADS), *_averages(rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _averages(rows: list[Row]) -> Iterator[list[str]]:
    """The lines of the table of averages, for every kernel, λ and method."""
    published = tables.published()
    names = {row["dataset"] for row in rows}
    measures = [tables.averages(rows, m) for m in ("by_position", "aligned", "f1", "auc")]
    for key in measures[0]:
        kernel, lam, method = key
        printed = np.mean([published[kernel, name, lam, method] for name in names])
        values = [_with_spread(*measure[key]) for measure in measures]
        yield [f"{kernel}, {lam:g}", NAMES[method], f"{printed:.1f}", *values]


def _with_spread(mean: float, spread: float) -> str:
    return f"{mean:.1f}" if np.isnan(spread) else f"{mean:.1f} ± {spread:.1f}"


def _cells(rows: list[Row], kernel: str) -> Iterator[tuple[str, list[float]]]:
    """One line per data set and λ: for each method the published number, and the means by position and of F1."""
    published = tables.published()
    cells: dict[tuple[str, float, str], list[Row]] = {}
    for row in rows:
        if row["kernel"] == kernel:
            cells.setdefault((row["dataset"], row["lambda"], row["method"]), []).append(row)
    for name in sorted({name for name, _, _ in cells}):
        for lam in LAMBDAS:
            line: list[float] = []
            for method in METHODS:
                draws = cells.get((name, lam, method), [])
                means = (np.mean([r[m] for r in draws]) if draws else np.nan for m in ("by_position", "f1"))
                line += [published[kernel, name, lam, method], *(float(mean) for mean in means)]
            yield f"{name}, {lam:g}", line


def _plot(rows: list[Row]) -> str:
    """The averages against λ, as a data URI."""
    published = tables.published()
    names = {row["dataset"] for row in rows}
    titles = {"published": "as printed", "by_position": "recomputed by position", "aligned": "recomputed, aligned"}
    figure = new_figure(11, 6.5)
    axes = figure.subplots(2, 3, sharex=True, sharey=True)
    for line, kernel in zip(axes, KERNELS, strict=True):
        for axis, (measure, title) in zip(line, titles.items(), strict=True):
            means = None if measure == "published" else tables.averages(rows, measure)
            for method in METHODS:
                values = [
                    np.mean([published[kernel, name, lam, method] for name in names]) if means is None
                    else means.get((kernel, lam, method), (np.nan,))[0]
                    for lam in LAMBDAS
                ]  # fmt: skip
                style = {"linestyle": "--", "marker": "s"} if method == "double_hinge_qp" else {"marker": "o"}
                axis.plot(LAMBDAS, values, color=_COLOURS[method], label=NAMES[method], **style)
            axis.set_title(f"{kernel}, {title}", fontsize=10)
            axis.set_xscale("log")
            axis.grid(alpha=0.3)
        line[0].set_ylabel("average F-measure")
    for axis in axes[1]:
        axis.set_xlabel("λ")
    axes[0, 0].legend(fontsize=9)
    return data_uri(figure)

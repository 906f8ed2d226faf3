"""The tables as one self-contained HTML page: published numbers beside ours, with plots."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from usmo.reproduce import tables
from usmo.reproduce.cells import KERNELS, LAMBDAS, METHODS, Row
from usmo.reproduce.page import data_uri, new_figure, write_page

NAMES = {"init": "Init", "ramp_cccp": "Ramp loss", "double_hinge_qp": "QP", "usmo": "USMO"}
_COLOURS = {"init": "#8c8c8c", "ramp_cccp": "#c4553b", "double_hinge_qp": "#3b6fb6", "usmo": "#1b9e77"}


def write(out: Path, rows: list[Row], stopping: list[dict[str, Any]] | None) -> Path:
    """Write ``out/reproduction.html``."""
    draws = 1 + max(row["draw"] for row in rows)
    parts = [
        "<h1>The F-measures of the USMO paper, recomputed</h1>",
        f"<p>{len({r['dataset'] for r in rows})} data sets, {draws} draws of the labelled fifth of positives. "
        "<em>Published way</em>: predictions on all rows compared, by position, with the classes of the "
        "unlabelled rows, the majority class counting as positive. <em>Aligned</em>: the same, every "
        "prediction compared with its own row. <em>F1</em>: of the positive class on the unlabelled rows. "
        "Mean ± standard deviation of the average over draws.</p>",
        _average_table(rows),
        f'<p><img alt="Averages by method, published and recomputed" src="{_plot(rows)}"></p>',
        _agreement(rows),
    ]
    if stopping:
        from usmo.reproduce.stopping import summary

        lines = "".join(
            f"<tr><td>{html.escape(k)}</td><td>{v:.3g}</td></tr>" for k, v in summary(stopping).items()
        )
        parts.append(f"<h2>The published stopping test</h2><table>{lines}</table>")
    parts += [_cell_table(rows, kernel) for kernel in KERNELS]
    return write_page(out / "reproduction.html", "USMO, recomputed", parts)


_HEADS = ("kernel, λ", "method", "published", "that way", "aligned", "F1", "AUC")


def _averages(rows: list[Row]) -> Iterator[list[str]]:
    """The lines of the table of averages, for every kernel, λ and method."""
    published = tables.published()
    names = {row["dataset"] for row in rows}
    measures = [tables.averages(rows, m) for m in ("published", "aligned", "f1", "auc")]
    for key in measures[0]:
        kernel, lam, method = key
        printed = np.mean([published[kernel, name, lam, method] for name in names])
        values = [_spread(*measure[key]) for measure in measures]
        yield [f"{kernel}, {lam:g}", NAMES[method], f"{printed:.1f}", *values]


def markdown(rows: list[Row]) -> str:
    """The averages as a Markdown table."""
    lines = [_HEADS, ["---"] * len(_HEADS), *_averages(rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _average_table(rows: list[Row]) -> str:
    head = "".join(f"<th>{name}</th>" for name in _HEADS)
    lines = ("".join(f"<td>{value}</td>" for value in line) for line in _averages(rows))
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _spread(mean: float, spread: float) -> str:
    return f"{mean:.1f}" if np.isnan(spread) else f"{mean:.1f} ± {spread:.1f}"


def _agreement(rows: list[Row]) -> str:
    lines = []
    for measure in ("aligned", "f1", "auc"):
        difference, where = tables.largest_difference(rows, "usmo", "double_hinge_qp", measure)
        lines.append(f"<li>{measure}: {difference:.2f} points{f' ({html.escape(where)})' if where else ''}</li>")
    return f"<h2>USMO against the QP: largest difference in a cell</h2><ul>{''.join(lines)}</ul>"


def _cell_table(rows: list[Row], kernel: str) -> str:
    published = tables.published()
    cells: dict[tuple[str, float, str], list[Row]] = {}
    for row in rows:
        if row["kernel"] == kernel:
            cells.setdefault((row["dataset"], row["lambda"], row["method"]), []).append(row)
    names = list(dict.fromkeys(name for name, _, _ in cells))
    lines = []
    for name in sorted(names):
        for lam in LAMBDAS:
            columns = ""
            for method in METHODS:
                found = cells.get((name, lam, method), [])
                way, right = (np.mean([r[m] for r in found]) if found else np.nan for m in ("published", "f1"))
                columns += (
                    f"<td>{published[kernel, name, lam, method]:.1f}</td><td>{way:.1f}</td><td>{right:.1f}</td>"
                )
            lines.append(f"<tr><td>{html.escape(name)}, {lam:g}</td>{columns}</tr>")
    heads = "".join(f'<th colspan="3">{NAMES[method]}</th>' for method in METHODS)
    sub = "<th>published</th><th>that way</th><th>F1</th>" * len(METHODS)
    return (
        f'<h2>{kernel.capitalize()} kernel, cell by cell</h2><div class="scroll"><table><tr><th></th>{heads}</tr>'
        f"<tr><th>data set, λ</th>{sub}</tr>{''.join(lines)}</table></div>"
    )


def _plot(rows: list[Row]) -> str:
    """The averages against λ, as a data URI."""
    published = tables.published()
    names = {row["dataset"] for row in rows}
    figure = new_figure(11, 6.5)
    axes = figure.subplots(2, 3, sharex=True, sharey=True)
    for line, kernel in zip(axes, KERNELS, strict=True):
        for axis, measure in zip(line, ("printed", "published", "aligned"), strict=True):
            means = None if measure == "printed" else tables.averages(rows, measure)
            for method in METHODS:
                values = [
                    np.mean([published[kernel, name, lam, method] for name in names]) if means is None
                    else means.get((kernel, lam, method), (np.nan,))[0]
                    for lam in LAMBDAS
                ]  # fmt: skip
                style = {"linestyle": "--", "marker": "s"} if method == "double_hinge_qp" else {"marker": "o"}
                axis.plot(LAMBDAS, values, color=_COLOURS[method], label=NAMES[method], **style)
            titles = {
                "printed": "as printed",
                "published": "recomputed that way",
                "aligned": "recomputed, aligned",
            }
            axis.set_title(f"{kernel}, {titles[measure]}", fontsize=10)
            axis.set_xscale("log")
            axis.grid(alpha=0.3)
        line[0].set_ylabel("average F-measure")
    for axis in axes[1]:
        axis.set_xlabel("λ")
    axes[0, 0].legend(fontsize=9)
    return data_uri(figure)

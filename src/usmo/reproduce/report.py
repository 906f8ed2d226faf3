"""The reproduction as one self-contained HTML page: published numbers beside ours, with plots."""

from __future__ import annotations

import base64
import html
import io
from pathlib import Path
from typing import Any

import numpy as np

from usmo.reproduce import tables
from usmo.reproduce.cells import KERNELS, LAMBDAS, METHODS, Row

NAMES = {"init": "Init", "ramp_cccp": "Ramp loss", "double_hinge_qp": "QP", "usmo": "USMO"}
_COLOURS = {"init": "#8c8c8c", "ramp_cccp": "#c4553b", "double_hinge_qp": "#3b6fb6", "usmo": "#1b9e77"}
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.85rem; margin: 1rem 0; }
th, td { padding: 0.2rem 0.5rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
tr.mean td { font-weight: 600; border-top: 2px solid #888; }
.scroll { overflow-x: auto; } img { max-width: 100%; background: white; } caption { text-align: left; }
.small { color: #888; font-size: 0.85rem; }
"""


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
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width, initial-scale=1"><title>USMO, recomputed</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>"
    )
    path = out / "reproduction.html"
    new = path.with_suffix(".tmp")
    new.write_text(page, encoding="utf-8")
    new.replace(path)
    return path


def markdown(rows: list[Row]) -> str:
    """The averages as a Markdown table."""
    published = tables.published()
    names = {row["dataset"] for row in rows}
    measures = [tables.averages(rows, m) for m in ("published", "aligned", "f1", "auc")]
    lines = ["| kernel, λ | method | published | that way | aligned | F1 | AUC |", "|---|---|---|---|---|---|---|"]
    for key in measures[0]:
        kernel, lam, method = key
        printed = np.mean([published[kernel, name, lam, method] for name in names])
        values = " | ".join(_spread(*measure[key]) for measure in measures)
        lines.append(f"| {kernel}, {lam:g} | {NAMES[method]} | {printed:.1f} | {values} |")
    return "\n".join(lines) + "\n"


def _average_table(rows: list[Row]) -> str:
    published = tables.published()
    names = {row["dataset"] for row in rows}
    measures = {m: tables.averages(rows, m) for m in ("published", "aligned", "f1", "auc")}
    head = (
        "<tr><th>kernel, λ</th><th>method</th><th>published</th><th>published way</th><th>aligned</th><th>F1</th>"
    )
    lines = []
    for kernel in KERNELS:
        for lam in LAMBDAS:
            for method in METHODS:
                if (kernel, lam, method) not in measures["f1"]:
                    continue
                printed = np.mean([published[kernel, name, lam, method] for name in names])
                values = "".join(f"<td>{_spread(*measures[m][kernel, lam, method])}</td>" for m in measures)
                lines.append(
                    f"<tr><td>{kernel}, {lam:g}</td><td>{NAMES[method]}</td><td>{printed:.1f}</td>{values}</tr>"
                )
    return f'<div class="scroll"><table>{head}<th>AUC</th></tr>{"".join(lines)}</table></div>'


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
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('the report needs the extra "plot": pip install "usmo[plot]"') from error
    published = tables.published()
    names = {row["dataset"] for row in rows}
    figure = Figure(figsize=(11, 6.5), layout="constrained")
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
    return _data_uri(figure)


def _data_uri(figure: Any) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


_FIGURE_NAMES = {"fast": "PUSVC", "usmo": "USMO", "qp": "QP", "ramp": "Ramp loss"}
_FIGURE_COLOURS = {"fast": "#111111", "usmo": "#1b9e77", "qp": "#3b6fb6", "ramp": "#c4553b"}


def write_figures(out: Path, rows: list[dict[str, Any]], course: list[dict[str, Any]]) -> Path:
    """Write ``out/figures.html``: time and F-measure for every task, and the course of the algorithm."""
    parts = [
        "<h1>Time and F-measure against the number of unlabelled rows</h1>",
        "<p>100 labelled positives (fewer where a class has fewer than 200 rows), λ = 0.01, the true prior, "
        "F-measure of the positive class on at most 5,000 test rows. PUSVC is the block solver, for the linear "
        "kernel the interior point; USMO the paper's algorithm. Hollow points use poker hands drawn at random "
        "beyond the real ones. A curve ends where a method holds no more rows or takes too long.</p>",
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
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>USMO, figures</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>"
    )
    path = out / "figures.html"
    new = path.with_suffix(".tmp")
    new.write_text(page, encoding="utf-8")
    new.replace(path)
    return path


def _curves(rows: list[dict[str, Any]], kernel: str, measure: str) -> str:
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    names = list(dict.fromkeys(row["task"] for row in rows))
    columns = min(6, len(names))
    lines = -(-len(names) // columns)
    figure = Figure(figsize=(2.1 * columns + 0.6, 1.8 * lines + 0.5), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=measure == "f_measure").ravel()
    for axis in axes[len(names) :]:
        axis.set_visible(False)
    for axis, name in zip(axes, names, strict=False):
        for method, title in _FIGURE_NAMES.items():
            points = [r for r in rows if (r["task"], r["kernel"], r["method"]) == (name, kernel, method)]
            if points:
                x, y = [r["n"] for r in points], [r[measure] for r in points]
                axis.plot(x, y, color=_FIGURE_COLOURS[method], label=title, linewidth=1.2)
                for drawn, fill in ((0, _FIGURE_COLOURS[method]), (1, "white")):
                    some = [k for k, r in enumerate(points) if r["drawn"] == drawn]
                    axis.scatter(
                        [x[k] for k in some], [y[k] for k in some], s=12, color=fill, zorder=3,
                        edgecolors=_FIGURE_COLOURS[method],
                    )  # fmt: skip
        axis.set_title(name, fontsize=9)
        axis.set_xscale("log")
        axis.xaxis.set_minor_formatter(NullFormatter())
        if measure == "seconds":
            axis.set_yscale("log")
        axis.tick_params(labelsize=7)
        axis.grid(alpha=0.3)
    figure.supylabel("seconds" if measure == "seconds" else "F-measure", fontsize=9)
    figure.supxlabel("unlabelled rows", fontsize=9)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    return _data_uri(figure)


def _course(course: list[dict[str, Any]]) -> str:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.2), layout="constrained")
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
    return _data_uri(figure)

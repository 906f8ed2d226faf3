"""The plots of the page and the numbers of their captions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from usmo.core.arrays import Array
from usmo.estimators.counts import count_marked
from usmo.report.context import ReportContext
from usmo.report.formatting import number, score
from usmo.report.svg import Panel, Plot, log_range
from usmo.system.words import quantity

_BINS = 36
_REACH = 3.0
"""The histogram extends this many interquartile ranges of the unlabelled rows beyond the middle halves of P and U,
so that a few outliers do not flatten it."""


class Histogram(NamedTuple):
    """The plot, what it shows in words, its bins (from, to, rows of P, rows of U) and the rows beyond its ends."""

    plot: Plot
    description: str
    bins: list[tuple[float, float, int, int]]
    beyond: int


class Curve(NamedTuple):
    """A plot and what it shows in words."""

    plot: Plot
    description: str


def histogram(context: ReportContext) -> Histogram:
    """Histograms of the known positives and of the unlabelled rows over one axis, with the threshold."""
    f_p, f_u = context.f[context.positives], context.f[context.unlabelled]
    edges, beyond = bins(f_p, f_u)
    p, u = rows_per_bin(f_p, edges), rows_per_bin(f_u, edges)
    styles = ["bar above" if edge >= 0 else "bar" for edge in edges[:-1]]
    x = float(edges[0]), float(edges[-1])
    above = Panel(x, (0.0, max(1.0, 1.08 * float(p.max()))), 26, 80)
    below = Panel(x, (0.0, max(1.0, 1.08 * float(u.max()))), 148, 150)
    for panel, counts, name in ((above, p, "p"), (below, u, "u")):
        panel.left_axis(whole=True)
        panel.bars(edges, counts, [f"{style} {name}" for style in styles])
        panel.vertical(0.0, "threshold")
    above.text("0", 14, f"Known positives ({quantity(len(f_p))})", "start strong")
    below.text("0", 136, f"Unlabelled rows ({quantity(len(f_u))})", "start strong")
    above.bottom_axis("", ticks=False)
    below.bottom_axis("score")
    description = f"Known positives: {_spread(f_p)}. Unlabelled rows: {_spread(f_u)}."
    title = "Scores of known positives and unlabelled rows"
    filled = [
        (float(low), float(high), int(i), int(j))
        for low, high, i, j in zip(edges[:-1], edges[1:], p, u, strict=True)
        if i or j
    ]
    return Histogram(Plot("plot-scores", 336, title, description, [above, below]), description, filled, beyond)


def bins(f_p: Array, f_u: Array) -> tuple[Array, int]:
    """Edges of equal bins with 0 among them, and the number of rows beyond the first and the last."""
    spread = _REACH * float(np.subtract(*np.quantile(f_u, [0.75, 0.25])))
    low, high = float(min(f_p.min(), f_u.min())), float(max(f_p.max(), f_u.max()))
    if spread > 0:
        quarters = np.quantile(f_p, [0.25, 0.75]), np.quantile(f_u, [0.25, 0.75])
        low = max(low, float(min(q[0] for q in quarters)) - spread)
        high = min(high, float(max(q[1] for q in quarters)) + spread)
    low, high = min(low, 0.0), max(high, 0.0)
    # equal bins from 0 in both directions, the outermost reaching just over the rows there
    width = ((high - low) or 2.0) / (_BINS - 2)
    first = min(-1, int(np.floor(low / width)))
    last = max(1, int(np.floor(high / width)) + 1)
    edges = width * np.arange(first, last + 1)
    return np.asarray(edges, dtype=np.float64), int(
        sum(((f < edges[0]) | (f > edges[-1])).sum() for f in (f_p, f_u))
    )


def rows_per_bin(f: Array, edges: Array) -> Any:
    """The number of rows in each bin; rows beyond the ends count in the outermost bins."""
    # a row at exactly 0 is not marked: it belongs to the bin that ends there
    at = np.searchsorted(edges, f, side="left") - 1
    return np.bincount(np.clip(at, 0, len(edges) - 2), minlength=len(edges) - 1)


def _spread(f: Array) -> str:
    low, middle, high = np.quantile(f, [0.25, 0.5, 0.75])
    return (
        f"{quantity(count_marked(f))} of {quantity(len(f))} above 0, median {score(float(middle))}, "
        f"middle half from {score(float(low))} to {score(float(high))}"
    )


def prior_curve(context: ReportContext, priors: Array, values: Array, counted: str) -> Plot | None:
    """A count of rows against the prior; None for a single prior."""
    if len(priors) < 2:
        return None
    room = 0.06 * float(priors[-1] - priors[0])
    x = max(0.0, 100 * float(priors[0] - room)), min(100.0, 100 * float(priors[-1] + room))
    panel = Panel(x, (0.0, max(1.0, 1.1 * float(values.max()))), 26, 160)
    if context.interval is not None:
        panel.band(100 * context.interval[0], 100 * context.interval[1], "band")
    panel.left_axis(whole=True)
    panel.vertical(100 * context.prior, "threshold", "used")
    panel.curve(100 * priors, values.astype(np.float64), "p")
    panel.bottom_axis("share of positives, %")
    points = "; ".join(
        f"{number(100 * float(a))} % positives: {quantity(int(b))}" for a, b in zip(priors, values, strict=True)
    )
    return Plot("plot-prior", 226, f"{counted} against the share of positives", points, [panel])


def convergence(context: ReportContext) -> tuple[str, Curve | None]:
    """The work of the fit in words, and its KKT violation and objective by round on a logarithmic scale."""
    history = tuple(getattr(context.model, "history_", ()))
    if not history:
        return "", None
    end = history[-1]
    work = f"{quantity(len(history), 'round')} in {number(end.seconds, 2)} s"
    if end.kernel_rows:
        n = len(context.f) if context.scenario == "censored" else len(context.unlabelled)
        work += f", computing {quantity(end.kernel_rows, 'kernel row')}; the kernel matrix has {quantity(n)}"
    if len(history) < 2:
        return f"The fit took {work}.", None
    violation = np.array([record.violation for record in history], dtype=np.float64)
    objective = np.array([record.objective for record in history], dtype=np.float64)
    excess, tol = objective - objective[-1], float(context.model.tol)
    description = f"The violation went from {number(violation[0], 2)} to {number(violation[-1], 2)} in {work}."
    y = log_range(violation, excess, np.array([tol]))
    if y is None:
        return description, None
    panel = Panel((1.0, float(len(history))), y, 14, 170, log=True)
    panel.left_axis()
    at = panel.down(tol)
    panel.line(0, at, 100, at, "goal")
    rounds = np.arange(1, len(history) + 1, dtype=np.float64)
    panel.curve(rounds, excess, "u")
    panel.curve(rounds, violation, "p")
    panel.bottom_axis("round", whole=True)
    return "", Curve(Plot("plot-fit", 230, "Course of the fit", description, [panel]), description)


def selection(context: ReportContext) -> Curve | None:
    """Cross-validated risk against λ; None if λ was given."""
    chosen = getattr(context.model, "selection_", None)
    if chosen is None:
        return None
    lams = np.asarray(chosen.lams, dtype=np.float64)
    mean, error = (np.atleast_2d(np.asarray(v, dtype=np.float64)) for v in (chosen.mean, chosen.error))
    line = int(np.argmin(np.abs(np.asarray(chosen.gammas) - chosen.gamma))) if mean.shape[0] > 1 else 0
    order = np.argsort(lams, kind="stable")
    x, y, e = np.log10(lams[order]), mean[line][order], np.nan_to_num(error[line][order])
    seen = np.isfinite(y)
    if seen.sum() < 2:
        return None
    low, high = float((y - e)[seen].min()), float((y + e)[seen].max())
    room = 0.05 * ((high - low) or 1.0)
    panel = Panel((float(x[0]), float(x[-1])), (low - room, high + room), 26, 170)
    panel.left_axis()
    panel.vertical(float(np.log10(chosen.lam)), "threshold", "chosen")
    for at, middle, reach in zip(x[seen], y[seen], e[seen], strict=True):
        place = panel.across(float(at))
        panel.line(place, panel.down(float(middle - reach)), place, panel.down(float(middle + reach)), "error")
    panel.curve(x, y, "p")
    panel.bottom_axis("log10 of λ")
    description = (
        f"λ from {number(float(lams.min()))} to {number(float(lams.max()))} was tried; λ = {number(chosen.lam)} "
        f"was chosen, the lowest risk is that of λ = {number(chosen.best_lam)}."
    )
    return Curve(Plot("plot-lam", 236, "Risk on held-out rows against λ", description, [panel]), description)

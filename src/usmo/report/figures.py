"""The pictures of the page with their captions, and the numbers behind them for those who do not see them."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.core.arrays import Array
from usmo.report.context import Facts
from usmo.report.formatting import count, esc, number, percent, score, user
from usmo.report.svg import Panel, draw, log_range
from usmo.report.tables import table

_BINS = 36
_REACH = 3.0
"""The picture goes this many interquartile ranges of the unlabelled rows beyond the middle halves of both kinds,
so that a few outliers do not flatten it."""

_MANY = 0.15
"""Share of the known positives that score 0 or less from which on this is no matter of single rows."""


def scores(facts: Facts) -> str:
    """Histograms of the known positives and of the unlabelled rows over one axis, with the threshold."""
    edges, beyond = bins(facts.f[facts.positives], facts.f[facts.unlabelled])
    p, u = (_counted(facts.f[rows], edges) for rows in (facts.positives, facts.unlabelled))
    kinds = ["bar above" if edge >= 0 else "bar" for edge in edges[:-1]]
    x = float(edges[0]), float(edges[-1])
    above = Panel(x, (0.0, max(1.0, 1.08 * float(p.max()))), 26, 80)
    below = Panel(x, (0.0, max(1.0, 1.08 * float(u.max()))), 148, 150)
    for panel, counts, name in ((above, p, "p"), (below, u, "u")):
        panel.left_axis(whole=True)
        panel.bars(edges, counts, [f"{kind} {name}" for kind in kinds])
        panel.vertical(0.0, "threshold")
    above.text("0", 14, f"Known positives ({count(len(facts.positives))})", "start strong")
    below.text("0", 136, f"Unlabelled rows ({count(len(facts.unlabelled))})", "start strong")
    above.bottom_axis("", ticks=False)
    below.bottom_axis("score")
    spread_p, spread_u = (_spread(facts.f[rows]) for rows in (facts.positives, facts.unlabelled))
    told = f"Known positives: {spread_p}. Unlabelled rows: {spread_u}."
    ends = (
        f" {count(beyond, 'row')} with scores beyond the picture {'is' if beyond == 1 else 'are'} counted in its "
        "outermost bars."
        if beyond
        else ""
    )
    rows = [
        [f"{score(a)} to {score(b)}", count(int(i)), count(int(j))]
        for a, b, i, j in zip(edges[:-1], edges[1:], p, u, strict=True)
        if i or j
    ]
    return (
        "<p>Each bar counts the rows with a score in its range. A model that tells the two kinds apart has "
        "known positives to the right of the line at 0, and a gap or a dip among the unlabelled rows near it.</p>"
        + figure(
            draw("plot-scores", 336, "Scores of known positives and unlabelled rows", told, [above, below]),
            "The line at 0 is the threshold: rows to its right, in the stronger colour, are marked." + ends,
            told,
            numbers("Scores", ["Score", "Known positives", "Unlabelled rows"], rows),
        )
        + _lowest(facts)
    )


def bins(f_p: Array, f_u: Array) -> tuple[Array, int]:
    """Edges of equal bins with 0 among them, and how many rows lie beyond the first and the last."""
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


def _counted(f: Array, edges: Array) -> Any:
    # a row at exactly 0 is not marked, and belongs to the bin that ends there
    at = np.searchsorted(edges, f, side="left") - 1
    return np.bincount(np.clip(at, 0, len(edges) - 2), minlength=len(edges) - 1)


def _spread(f: Array) -> str:
    low, middle, high = np.quantile(f, [0.25, 0.5, 0.75])
    return (
        f"{count(int((f > 0).sum()))} of {count(len(f))} above 0, median {score(float(middle))}, middle half from "
        f"{score(float(low))} to {score(float(high))}"
    )


def _lowest(facts: Facts) -> str:
    rows = facts.positives[np.argsort(facts.f[facts.positives], kind="stable")]
    missed = rows[facts.f[rows] <= 0]
    if len(missed) == 0:
        return ""
    said = ", ".join(f"{user(facts.identity(int(row)))} ({score(float(facts.f[row]))})" for row in missed[:5])
    several = len(missed) > 1
    told = (
        f"{count(len(missed), 'known positive')} {'score' if several else 'scores'} 0 or less"
        f"{', the lowest are' if len(missed) > 5 else ':'} {said}."
    )
    if len(missed) > _MANY * len(rows):
        return (
            f"<p>{told} That is {percent(len(missed) / len(rows))} of them: positives and other rows look alike, "
            "and no threshold parts them well.</p>"
        )
    return (
        f"<p>{told} {'They are' if several else 'It is'} unlike the other known positives, and worth a second "
        "look: a wrong label, a typing error, or a rare kind.</p>"
    )


def sensitivity(facts: Facts, priors: Array, marked: Array, kept: Array, top: int) -> str:
    """Rows marked against the prior; where that is π·n by definition, the rows that stay among the first."""
    if len(priors) < 2:
        return ""
    told, values = "Rows marked", marked
    if facts.threshold == "prior":
        told, values = f"Rows that stay among the first {count(top)}", kept
    room = 0.06 * float(priors[-1] - priors[0])
    x = max(0.0, 100 * float(priors[0] - room)), min(100.0, 100 * float(priors[-1] + room))
    panel = Panel(x, (0.0, max(1.0, 1.1 * float(values.max()))), 26, 160)
    if facts.interval is not None:
        panel.band(100 * facts.interval[0], 100 * facts.interval[1], "band")
    panel.left_axis(whole=True)
    panel.vertical(100 * facts.prior, "threshold", "used")
    panel.curve(100 * priors, values.astype(np.float64), "p")
    panel.bottom_axis("share of positives, %")
    points = "; ".join(
        f"{number(100 * float(a))} % positives: {count(int(b))}" for a, b in zip(priors, values, strict=True)
    )
    caption = f"{told} against the share of positives that the model is told."
    if facts.interval is not None:
        caption += " The shaded range is that of the estimate."
    title = f"{told} against the share of positives"
    return figure(draw("plot-prior", 226, title, points, [panel]), caption, "")


def convergence(facts: Facts) -> str:
    """KKT violation and objective above its last value, by pass, on a logarithmic scale."""
    history = tuple(getattr(facts.model, "history_", ()))
    if not history:
        return ""
    violation = np.array([record.violation for record in history], dtype=np.float64)
    objective = np.array([record.objective for record in history], dtype=np.float64)
    excess = objective - objective[-1]
    tol = float(facts.model.tol)
    end = history[-1]
    work = f"{count(len(history), 'round')} in {number(end.seconds, 2)} s"
    if end.kernel_rows:
        n = len(facts.known) if facts.scenario == "censored" else len(facts.unlabelled)
        work += f", with {count(end.kernel_rows)} of {count(n)} rows of the kernel matrix computed"
    if len(history) < 2:
        return f"<p>The fit took {work}.</p>"
    told = f"The violation went from {number(violation[0], 2)} to {number(violation[-1], 2)} in {work}."
    y = log_range(violation, excess, np.array([tol]))
    if y is None:
        return f"<p>{told}</p>"
    panel = Panel((1.0, float(len(history))), y, 14, 170, log=True)
    panel.left_axis()
    at = panel.down(tol)
    panel.line(0, at, 100, at, "goal")
    rounds = np.arange(1, len(history) + 1, dtype=np.float64)
    panel.curve(rounds, excess, "u")
    panel.curve(rounds, violation, "p")
    panel.bottom_axis("round", whole=True)
    keys = (
        '<p class="keys"><span><i class="k p"></i>violation of the conditions</span> <span><i class="k u"></i>'
        'objective above its last value</span> <span><i class="k goal"></i>violation asked for</span></p>'
    )
    plot = draw("plot-fit", 230, "Course of the fit", told, [panel])
    return figure(keys + plot, "The course of the fit, on a logarithmic scale. " + esc(told), "")


def selection(facts: Facts) -> str:
    """Cross-validated risk along λ, if λ was chosen that way."""
    found = getattr(facts.model, "selection_", None)
    if found is None:
        return ""
    lams = np.asarray(found.lams, dtype=np.float64)
    mean, error = (np.atleast_2d(np.asarray(v, dtype=np.float64)) for v in (found.mean, found.error))
    line = int(np.argmin(np.abs(np.asarray(found.gammas) - found.gamma))) if mean.shape[0] > 1 else 0
    order = np.argsort(lams, kind="stable")
    x, y, e = np.log10(lams[order]), mean[line][order], np.nan_to_num(error[line][order])
    seen = np.isfinite(y)
    if seen.sum() < 2:
        return ""
    low, high = float((y - e)[seen].min()), float((y + e)[seen].max())
    room = 0.05 * ((high - low) or 1.0)
    panel = Panel((float(x[0]), float(x[-1])), (low - room, high + room), 26, 170)
    panel.left_axis()
    panel.vertical(float(np.log10(found.lam)), "threshold", "chosen")
    for at, middle, reach in zip(x[seen], y[seen], e[seen], strict=True):
        place = panel.across(float(at))
        panel.line(place, panel.down(float(middle - reach)), place, panel.down(float(middle + reach)), "error")
    panel.curve(x, y, "p")
    panel.bottom_axis("log10 of λ")
    told = (
        f"λ from {number(float(lams.min()))} to {number(float(lams.max()))} was tried; λ = {number(found.lam)} "
        f"was chosen, the lowest risk is that of λ = {number(found.best_lam)}."
    )
    caption = (
        "Risk on rows held back against λ, with its standard error. The greater λ, the simpler the rule. " + told
    )
    return "<h3>How λ was chosen</h3>" + figure(
        draw("plot-lam", 236, "Risk on rows held back against λ", told, [panel]), caption, ""
    )


def figure(plot: str, caption: str, told: str, more: str = "") -> str:
    text = f"{caption} {esc(told)}" if told else caption
    return f"<figure>{plot}<figcaption>{text}</figcaption>{more}</figure>"


def numbers(caption: str, heads: list[str], rows: list[Any]) -> str:
    """The numbers of a picture as a table to unfold."""
    inside = table(caption, heads, rows, numeric={1, 2})
    return f"<details><summary>The numbers of this picture</summary>{inside}</details>"

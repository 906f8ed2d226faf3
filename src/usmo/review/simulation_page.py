"""The page of simulated reviews: recall curves, measures, and where each rule stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from usmo.report.page import content_policy, page_files, templates
from usmo.report.svg import Panel, Plot
from usmo.review.simulation import Plan

_HEIGHT = 260
_POINTS = 101


def page(runs: Sequence[dict[str, Any]], mean: dict[str, Any], source: str, plan: Plan) -> str:
    """The page as HTML; it fetches nothing."""
    environment = templates("usmo.review")
    style, script = page_files()
    rules = [
        {
            "name": rule,
            **one,
            "promises": sum(run["stopping"][rule]["promised"] is not None for run in runs),
            "kept_runs": sum(bool(run["stopping"][rule]["kept"]) for run in runs),
        }
        for rule, one in mean["stopping"].items()
    ]
    text: str = environment.get_template("simulation.html").render(
        runs=runs, mean=mean, source=source, plan=plan, rules=rules, plot=_curves(runs), style=style, script=script,
        policy=content_policy(style, script),
    )  # fmt: skip
    return text


def _curves(runs: Sequence[dict[str, Any]]) -> Plot:
    """Recall against the share of rows reviewed: each run thin, their mean thick, random order as a grey line."""
    share = np.linspace(0.0, 1.0, _POINTS)
    curves = np.array([[np.mean(np.array(run["places"]) <= x * run["rows"]) for x in share] for run in runs])
    panel = Panel((0.0, 100.0), (0.0, 100.0), 12, _HEIGHT)
    panel.left_axis()
    panel.line(0, panel.down(0), 100, panel.down(100), "grid")
    for curve in curves if len(runs) > 1 else []:
        panel.curve(100 * share, 100 * curve, "u")
    panel.curve(100 * share, 100 * curves.mean(axis=0), "p")
    panel.bottom_axis("rows reviewed, %")
    low, high = curves.mean(axis=0)[[10, 20]]
    words = f"After 10 % of the rows {100 * low:.0f} % of the positives are found, after 20 % {100 * high:.0f} %."
    return Plot("plot-recall", _HEIGHT + 60, "Positives found, %, against rows reviewed", words, [panel])

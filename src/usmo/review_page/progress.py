"""How far the review is: the curve of positives found, the estimate of what is left, the verdict in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from usmo.report.svg import Panel, Plot
from usmo.review import Audit, Remaining, Review
from usmo.review.course import Course
from usmo.review.stopping import verdict_of
from usmo.review.what_is_left import what_is_left
from usmo.system.words import quantity

_HEIGHT = 190


def counts(review: Review) -> dict[str, int]:
    """Numbers of rows by what is known of them; imported rows count as known."""
    kinds, known = review.kinds, review.decisions.known.copy()
    imported = review.decisions.imported
    known[imported] = kinds[imported]
    return {
        "rows": review.n_rows,
        "known_positives": int(np.count_nonzero(known == 1)),
        "known_negatives": int(np.count_nonzero(known == -1)),
        "decided": int(np.count_nonzero((kinds != 0) & (known == 0))),
        "found": int(np.count_nonzero((kinds == 1) & (known == 0))),
        "open": int(np.count_nonzero(kinds == 0)),
        "skipped": len(review.decisions.put_off),
    }


def progress(review: Review) -> dict[str, Any]:
    """What the page says about the course of the review."""
    course = review.course()
    verdict, left = verdict_of(review.rule, course), what_is_left(course, review.confidence)
    audited = int(np.count_nonzero(course.drawn))
    plot = curve(course, left)
    shapes = [[one.tag, one.attributes, one.text] for panel in plot.panels for one in panel.shapes]
    return {
        "stop": verdict.stop,
        "reasons": [_sentence(reason) for reason in verdict.reasons],
        "phase": verdict.phase,
        "audit": "" if isinstance(review.rule, Audit) else audit_words(course, audited, verdict.audit_rows),
        "left": left_words(left),
        "estimate": None if left.estimate is None else round(left.estimate, 1),
        "most": left.high,
        "plot": {"height": plot.height, "title": plot.title, "description": plot.description, "shapes": shapes},
    }


def left_words(left: Remaining) -> str:
    """What is left, in words."""
    if left.estimate is None:
        return "There is no estimate yet of how many positives are left: it needs some 50 reviewed rows."
    return _sentence(left.sentence)


def audit_words(course: Course, audited: int, needed: int | None) -> str:
    """The audit so far in words; empty if the rule has none."""
    if not audited and needed is None:
        return ""
    hits = int(np.count_nonzero(course.drawn & course.positive))
    so_far = f"{quantity(audited, 'random row')} audited, {hits} positive." if audited else "No row audited yet."
    return so_far + (f" {quantity(needed, 'more row')} without a positive would do." if needed else "")


def curve(course: Course, left: Remaining) -> Plot:
    """Positives found against rows reviewed, with audited stretches shaded and the estimate of all as a dashed line."""
    found = np.concatenate([[0], np.cumsum(course.positive)]).astype(float)
    estimated = left.estimate is not None
    whole = course.found + (left.estimate or 0.0)
    panel = Panel((0.0, max(20.0, 1.05 * course.reviewed)), (0.0, max(5.0, 1.2 * whole)), 22, _HEIGHT)
    for start, end in _stretches(course.drawn):
        panel.band(float(start), float(end), "band")
    panel.left_axis(whole=True)
    if estimated:
        at = panel.down(whole)
        panel.line(0, at, 100, at, "goal")
        panel.text("100%", at - 6, f"about {whole:.0f} in all", "end")
    panel.curve(*_corners(found), "p")
    panel.bottom_axis("rows reviewed", whole=True)
    words = f"{quantity(course.found, 'positive')} found in {quantity(course.reviewed, 'reviewed row')}."
    words += f" About {whole:.0f} expected in all." if estimated else ""
    return Plot("plot-found", _HEIGHT + 66, "Positives found against rows reviewed", words, [panel])


def _corners(found: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The points where a step curve rises, and its ends: thinning then keeps its shape."""
    rises = np.flatnonzero(np.diff(found))
    x = np.unique(np.concatenate([[0, len(found) - 1], rises, rises + 1])).astype(np.intp)
    return x.astype(float), found[x]


def _stretches(drawn: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Start and end of each run of audited rows."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], drawn.astype(np.int8), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")

"""The report of a review: one HTML file with its criteria, course, verdict and decisions."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import PurePath
from typing import Any

from usmo.report.formatting import clean
from usmo.report.page import content_policy, page_files, templates
from usmo.review.stopping import verdict_of
from usmo.review.what_is_left import what_is_left
from usmo.review_page.desk import Desk
from usmo.review_page.progress import audit_words, counts, curve, left_words

_WORDS = {1: "yes", 0: "put off", -1: "no"}


def report_page(desk: Desk) -> str:
    """The report as HTML; it fetches nothing."""
    review = desk.review
    course = review.course()
    verdict, left = verdict_of(review.rule, course), what_is_left(course, review.confidence)
    style, script = page_files()
    decisions: list[dict[str, Any]] = [
        {
            "id": clean(review.ids[entry.row]), "title": desk.cards.about(entry.row), "label": _WORDS[entry.label],
            "by": entry.by, "time": entry.time[:19].replace("T", " "), "note": entry.note, "how": entry.how,
        }
        for entry in review.store.decisions()
    ]  # fmt: skip
    text: str = templates("usmo.review_page").get_template("report.html").render(
        source=PurePath(desk.source).name, criteria=desk.criteria()["text"], counts=counts(review), verdict=verdict,
        left=left_words(left), plot=curve(course, left),
        audit=audit_words(course, int(course.drawn.sum()), verdict.audit_rows),
        decisions=decisions, strategy=review.strategy, style=style, script=script,
        policy=content_policy(style, script), now=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    )  # fmt: skip
    return text

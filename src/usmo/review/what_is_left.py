"""How many positives are left, with an interval: from the audit if there is one, else as if the order were random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usmo.review.audit import most_missed
from usmo.review.course import Course
from usmo.review.stopping import Buscar
from usmo.system.words import quantity


@dataclass(frozen=True)
class Remaining:
    """Positives among the rows not yet reviewed.

    ``estimate`` is an indication, from the model's scores or, if random rows were audited, from these; None before some
    50 rows are reviewed. ``low`` and ``high`` bound the number with the confidence given: without an assumption if
    ``guaranteed``, that is if random rows were audited; else on the assumption that the ranking finds positives at
    least as fast as random order. If every row is reviewed, the numbers are 0 with confidence 1.
    """

    estimate: float | None
    low: int
    high: int
    confidence: float
    guaranteed: bool

    @property
    def sentence(self) -> str:
        """The numbers in words."""
        if self.confidence == 1.0:
            return "every row is reviewed: no positive is left"
        basis = (
            "" if self.guaranteed else ", if the ranking finds positives at least as fast as random order would"
        )
        most = f"at most {self.high:,} with {100 * self.confidence:g} % confidence{basis}"
        if self.estimate is None:
            return f"there is no estimate yet of how many positives are left; {most}"
        return f"about {quantity(self.estimate, 'positive is', 'positives are')} left, {most}"


def what_is_left(course: Course, confidence: float) -> Remaining:
    """The estimate, brought inside the interval."""
    if course.left == 0:
        return Remaining(0.0, 0, 0, 1.0, True)
    start, s, x = course.audit_start, int(course.drawn.sum()), int(course.positive[course.drawn].sum())
    if start is None:
        high = Buscar(confidence=confidence).most(course) - course.found
    else:
        other = int(course.positive[start:].sum()) - x  # found by the ranking since
        high = most_missed(course.n_rows - start, s, x, 1.0 - confidence) - other
    high = min(max(high, 0), course.left)
    expected = course.expected
    if expected is None and start is not None:
        expected = course.left * (x + 0.5) / (s + 1.0)
    estimate = None if expected is None else float(np.clip(expected, 0, high))
    return Remaining(estimate, 0, high, confidence, start is not None)

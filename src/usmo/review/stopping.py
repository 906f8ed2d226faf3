"""Stopping rules: may the review end, what recall is promised with what confidence, and what would it take.

Every rule has ``verdict(course)``. What the promise rests on:

    audit         random rows among those left (:mod:`usmo.review.audit`); no assumption about the ranking
    tail          as buscar, with random rows at the end, which save work
    buscar        the ranking finds positives at least as fast as random order (Callaghan and Müller-Hansen 2020)
    qbcb          a control sample of positives drawn at random before the ranking (Lewis, Yang and Frieder 2021)
    irrelevant    nothing: n rows in a row without a positive
    estimate      nothing: the positives that the model expects among the rows left
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol

import numpy as np
from scipy.stats import binom, hypergeom

from usmo.review.audit import least_missed, recall_plan
from usmo.review.course import Course
from usmo.review.store import AUDIT, CONTROL

_MOST_TESTS = 60
"""Tests of Buscar at one moment; it has one for each positive found."""

_MOST_STARTS = 8
"""Last positives after which the rows are tested as a sample."""

_SHORTEST_RUN = 10
"""Rows without a positive after which an audit may start."""


@dataclass(frozen=True)
class Verdict:
    """What a stopping rule says.

    Attributes
    ----------
    stop : bool
        Whether the review may end.
    recall : float
        The recall that the rule speaks of.
    confidence : float or None
        The confidence of the promise; None for a rule that promises nothing.
    reasons : list of str
        Sentences: what is known, and on what it rests.
    audit_rows : int or None
        Random rows that are still needed if all of them turn out negative; 0 if the rule is met. None if the rule needs
        no random rows.
    phase : "rank" or "audit"
        Which rows serve the rule best next: those of the ranking or random ones.
    """

    stop: bool
    recall: float
    confidence: float | None
    reasons: list[str] = field(default_factory=list)
    audit_rows: int | None = None
    phase: Literal["rank", "audit"] = "rank"

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        return self.reasons[0]


class Rule(Protocol):
    """A stopping rule.

    A rule whose verdicts may ask for random rows (``phase`` "audit") has an attribute ``draws``: how the log says that
    such a row was chosen, "audit" or "control".
    """

    def verdict(self, course: Course) -> Verdict: ...


def verdict_of(rule: Rule, course: Course) -> Verdict:
    """The verdict of a rule. Where no row is left, the review is at its end whatever the rule."""
    if course.left == 0:
        return Verdict(True, 1.0, 1.0, ["every row has been reviewed, so that all positives have been found"], 0)
    return rule.verdict(course)


def check_share(name: str, value: float) -> None:
    """Refuse a recall or a confidence that is none."""
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} must lie between 0 and 1, got {value!r}")


class _Checked:
    """A rule that refuses parameters with which its verdict would mean nothing."""

    def __post_init__(self) -> None:
        for name in ("recall", "confidence"):
            check_share(name, getattr(self, name, 0.5))
        if not (patience := getattr(self, "patience", 0.0)) >= 0.0:
            raise ValueError(f"patience must be at least 0, got {patience!r}")
        n = getattr(self, "n", None)
        if n is not None and not n >= 1:
            raise ValueError(f"n must be at least 1 or None, got {n!r}")


def promise(recall: float, confidence: float) -> str:
    """The promise of a rule in words."""
    return f"with {100 * confidence:g} % confidence at least {100 * recall:g} % of the positives have been found"


@dataclass(frozen=True)
class Audit(_Checked):
    """Stop after enough random rows without a positive among those left; assumes nothing of the ranking.

    The bound is exact (:mod:`usmo.review.audit`). Positives that the audit finds delay its end.

    Parameters
    ----------
    recall : float, default=0.95
        The recall to promise, between 0 and 1.
    confidence : float, default=0.95
        The confidence of the promise, between 0 and 1.
    patience : float, default=0.5
        The audit starts after so many ranked rows without a positive: ``patience`` times the rows left, divided by the
        number of positives that must not be missing.
    """

    recall: float = 0.95
    confidence: float = 0.95
    patience: float = 0.5
    draws: ClassVar[str] = AUDIT

    def verdict(self, course: Course) -> Verdict:
        if least_missed(course.found, self.recall) > course.left:
            words = f"at least {100 * self.recall:g} % of the positives have been found"
            return Verdict(True, self.recall, 1.0, [f"{words}, because only {course.left:,} rows are left"], 0)
        start = course.audit_start
        if start is None:
            return self._before(course)
        s, x = int(course.drawn.sum()), int(course.positive[course.drawn].sum())
        before = int(course.positive[:start].sum())
        plan = recall_plan(course.n_rows - start, before, self.recall, self._alpha)
        needed = max(0, plan.end(x) - s)
        words = promise(self.recall, self.confidence)
        sample = f"the audit has {s:,} random rows with {x:,} positives"
        if needed == 0:
            return Verdict(
                True,
                self.recall,
                self.confidence,
                [words, f"{sample}; this holds whatever the ranking did"],
                0,
                "audit",
            )
        reason = f"to say that {words}, the audit needs {needed:,} more random rows without a positive"
        return Verdict(False, self.recall, self.confidence, [reason, sample], needed, "audit")

    @property
    def _alpha(self) -> float:
        return 1.0 - self.confidence

    def _before(self, course: Course) -> Verdict:
        plan = recall_plan(course.left, course.found, self.recall, self._alpha)
        needed = plan.end(0)
        patience = self.patience * course.left / least_missed(course.found, self.recall)
        due = course.found > 0 and course.run >= max(_SHORTEST_RUN, patience)
        reasons = [
            f"to say that {promise(self.recall, self.confidence)}, an audit needs {needed:,} random rows without a "
            f"positive among the {course.left:,} rows left",
            "the ranking finds no more positives: an audit is due"
            if due
            else "go on with the ranking: an audit is not due yet",
        ]
        return Verdict(False, self.recall, self.confidence, reasons, needed, "audit" if due else "rank")


@dataclass(frozen=True)
class Tail(_Checked):
    """Stop by Buscar's test, ended by random rows; assumes that the ranking is no worse than random order.

    The rows since a positive count as a random sample of the rows left then, ranked ones on the assumption that the
    ranking finds positives at least as fast as random order. The end follows from the plan of an audit that started
    there. As in Buscar, the test is made after each of the last positives, and one that is met suffices. When the
    ranking has found no positive in ``patience`` times the rows left, divided by the number of positives that must not
    be missing, rows come in random order. They find the last positives later than the ranking, which finds more of them
    than the recall needs, and each of those makes the test start again.

    Parameters
    ----------
    recall : float, default=0.95
        The recall to promise, between 0 and 1.
    confidence : float, default=0.95
        The confidence of the promise, between 0 and 1.
    patience : float, default=0.6
        How long the ranking may find no positive before rows come in random order, see above.
    """

    recall: float = 0.95
    confidence: float = 0.95
    patience: float = 0.6
    draws: ClassVar[str] = AUDIT

    def verdict(self, course: Course) -> Verdict:
        course = course.own
        words = promise(self.recall, self.confidence)
        assumed = "if the ranking finds positives at least as fast as random order would"
        starts = np.concatenate([[0], np.flatnonzero(course.positive) + 1])[-_MOST_STARTS:]
        needed = [self._needed(course, int(start)) for start in starts]
        if course.found and min(needed) == 0:
            return Verdict(True, self.recall, self.confidence, [f"{words}, {assumed}"], 0, "audit")
        wait = self.patience * course.left / least_missed(course.found, self.recall)
        phase: Literal["rank", "audit"] = (
            "audit" if course.found and course.run >= max(_SHORTEST_RUN, wait) else "rank"
        )
        reason = f"to say that {words}, {assumed}, {min(needed):,} more rows without a positive are needed"
        return Verdict(False, self.recall, self.confidence, [reason], min(needed), phase)

    def _needed(self, course: Course, start: int) -> int:
        before = int(course.positive[:start].sum())
        plan = recall_plan(course.n_rows - start, before, self.recall, 1.0 - self.confidence)
        return max(0, plan.end(course.found - before) - (course.reviewed - start))


@dataclass(frozen=True)
class Buscar(_Checked):
    """Stop when a hypergeometric test on the rows reviewed last, as if drawn at random, rules out a lower recall.

    The rule of Callaghan and Müller-Hansen (2020). The test is made for the rows after each positive, and the smallest
    p-value decides, as the authors do.

    Parameters
    ----------
    recall : float, default=0.95
        The recall to promise, between 0 and 1.
    confidence : float, default=0.95
        The confidence of the promise, between 0 and 1.
    """

    recall: float = 0.95
    confidence: float = 0.95

    def p_value(self, course: Course, total: int | None = None) -> float:
        """The smallest p-value of "there are ``total`` positives"; by default so many that the recall is missed."""
        if not course.reviewed:
            return 1.0
        if total is None:
            total = course.found + least_missed(course.found, self.recall)
        starts = np.concatenate([[0], np.flatnonzero(course.positive) + 1])
        starts = starts[starts < course.reviewed]
        if not len(starts):
            return 1.0
        if len(starts) > _MOST_TESTS:  # the last positives one by one, the others further apart
            back = np.unique(np.geomspace(1, len(starts), _MOST_TESTS).astype(np.intp))
            starts = starts[-back]
        before = np.concatenate([[0], np.cumsum(course.positive)])[starts]
        left = course.n_rows - starts
        K = total - before
        p = hypergeom.cdf(course.found - before, left, np.minimum(K, left), course.reviewed - starts)
        return float(np.where(left < K, 0.0, p).min())

    def most(self, course: Course) -> int:
        """The largest number of positives that is not rejected."""
        low, high = course.found, course.found + course.left + 1
        while high - low > 1:
            middle = (low + high) // 2
            rejected = self.p_value(course, middle) <= 1.0 - self.confidence
            low, high = (low, middle) if rejected else (middle, high)
        return low

    def verdict(self, course: Course) -> Verdict:
        p = self.p_value(course.own)
        stop = p <= 1.0 - self.confidence
        words = promise(self.recall, self.confidence)
        assumed = "if the ranking finds positives at least as fast as random order would"
        reasons = (
            [f"{words}, {assumed}"] if stop else [f"it cannot be said yet that {words} (p = {p:.3g}), {assumed}"]
        )
        return Verdict(stop, self.recall, self.confidence, reasons)


@dataclass(frozen=True)
class QBCB(_Checked):
    """Stop when a ranking that does not know them has found enough of a control sample of positives.

    The rule of Lewis, Yang and Frieder (2021). The control sample are random rows reviewed before the ranking starts.
    The rule waits until so many of its r positives have come up in the ranking that a binomial bound holds. r of 59 is
    the smallest that can show a recall of 95 % with 95 % confidence.

    Parameters
    ----------
    recall : float, default=0.95
        The recall to promise, between 0 and 1.
    confidence : float, default=0.95
        The confidence of the promise, between 0 and 1.
    """

    recall: float = 0.95
    confidence: float = 0.95
    draws: ClassVar[str] = CONTROL

    @property
    def smallest(self) -> int:
        """The fewest control positives with which the rule can ever stop."""
        return int(np.ceil(np.log(1.0 - self.confidence) / np.log(self.recall)))

    def needed(self, r: int) -> int | None:
        """How many of r control positives must have come up; None if r is too small."""
        j = np.arange(r + 1)
        enough = j[binom.sf(j - 1, r, self.recall) <= 1.0 - self.confidence]
        return int(enough[0]) if len(enough) else None

    def verdict(self, course: Course) -> Verdict:
        came = course.control
        r = len(came)
        words = promise(self.recall, self.confidence)
        needed = self.needed(r)
        if needed is None:
            return Verdict(False, self.recall, self.confidence, [
                f"the control sample has {r} positives and needs {self.smallest} to say that {words}",
            ], None, "audit")  # fmt: skip
        again = int(np.count_nonzero(came))
        stop = again >= needed
        count = f"the ranking has come upon {again} of the {r} control positives and must come upon {needed}"
        reasons = [words, count] if stop else [f"it cannot be said yet that {words}: {count}"]
        return Verdict(stop, self.recall, self.confidence, reasons)


@dataclass(frozen=True)
class Irrelevant(_Checked):
    """Stop after ``n`` rows in a row without a positive. A habit of screeners; it promises nothing.

    Parameters
    ----------
    n : int or None, default=None
        How many rows; None is 5 % of the table, at least 10.
    recall : float, default=0.95
        The recall that the verdict names.
    """

    n: int | None = None
    recall: float = 0.95

    def verdict(self, course: Course) -> Verdict:
        course = course.own
        n = max(10, round(0.05 * course.n_rows)) if self.n is None else self.n
        stop = course.found > 0 and course.run >= n
        words = f"the last {course.run:,} rows held no positive; the limit is {n:,}. This promises no recall"
        return Verdict(stop, self.recall, None, [words])


@dataclass(frozen=True)
class Estimate(_Checked):
    """Stop when the model expects few positives among the rows left. An indication; it promises nothing.

    Parameters
    ----------
    recall : float, default=0.95
        The share of the positives, found and expected, that must be found.
    """

    recall: float = 0.95

    def verdict(self, course: Course) -> Verdict:
        if course.expected is None:
            return Verdict(False, self.recall, None, ["the model has no estimate yet"])
        found = course.own.found
        share = found / max(found + course.expected, 1e-9)
        stop = found > 0 and share >= self.recall
        words = (
            f"the model expects {course.expected:.1f} more positives, so that {100 * share:.0f} % would be found. This "
            "is an indication without a guarantee"
        )
        return Verdict(stop, self.recall, None, [words])


RULES: dict[str, Callable[..., Rule]] = {
    "audit": Audit, "tail": Tail, "buscar": Buscar, "qbcb": QBCB, "irrelevant": Irrelevant, "estimate": Estimate,
}  # fmt: skip
"""Stopping rules by name."""


def make_rule(rule: str | Rule, recall: float, confidence: float) -> Rule:
    """A rule by its name, or the rule itself."""
    check_share("recall", recall)
    check_share("confidence", confidence)
    if not isinstance(rule, str):
        return rule
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}, got {rule!r}")
    if rule in ("irrelevant", "estimate"):
        return RULES[rule](recall=recall)
    return RULES[rule](recall=recall, confidence=confidence)

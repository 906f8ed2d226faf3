"""Where a stopping rule ends a review whose order is known.

The ranked rows come in the order of a simulated review. Audit and control rows are drawn at random among the rows left
and do not change that order, so that many draws can be tried on one order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from usmo.review.course import Course
from usmo.review.stopping import QBCB, Audit, Rule, Tail

_CHECKS = 100
"""Moments at which a rule is asked, at most: every per cent of the rows."""


@dataclass(frozen=True)
class Stopped:
    """Where a rule ended a review: rows reviewed, the recall reached, and what was promised (None: nothing)."""

    reviewed: int
    saved: float
    recall: float
    promised: float | None

    @property
    def kept(self) -> bool | None:
        """Whether the recall promised was reached."""
        return None if self.promised is None else bool(self.recall >= self.promised - 1e-9)

    def as_dict(self) -> dict[str, float | int | bool | None]:
        return {
            "reviewed": self.reviewed, "saved": self.saved, "recall": self.recall, "promised": self.promised,
            "kept": self.kept,
        }  # fmt: skip


def replay(
    rule: Rule, truth: NDArray[np.bool_], seed: int = 0, expected: NDArray[np.float64] | None = None
) -> Stopped:
    """Run a rule along an order of rows, given by their true labels; ``expected`` is the model's estimate at each."""
    if isinstance(rule, Audit | Tail):
        return _audited(rule, truth, np.random.default_rng(seed))
    if isinstance(rule, QBCB):
        return _controlled(rule, truth, np.random.default_rng(seed))
    n = len(truth)
    step = max(1, n // _CHECKS)
    nothing_drawn = np.zeros(n, dtype=bool)
    for t in range(step, n, step):
        estimate = None if expected is None or np.isnan(expected[t - 1]) else float(expected[t - 1])
        verdict = rule.verdict(Course(n, truth[:t], nothing_drawn[:t], estimate))
        if verdict.stop:
            return _stopped(truth, t, truth[:t], verdict.recall if verdict.confidence is not None else None)
    return _stopped(truth, n, truth, None)


def _stopped(truth: NDArray[np.bool_], t: int, reviewed: NDArray[np.bool_], promised: float | None) -> Stopped:
    return Stopped(t, 1.0 - t / len(truth), float(reviewed.sum() / max(1, truth.sum())), promised)


def _audited(rule: Audit | Tail, truth: NDArray[np.bool_], rng: np.random.Generator) -> Stopped:
    """Ranked rows and random rows as the verdicts ask for them."""
    n = len(truth)
    step = max(1, n // _CHECKS)
    random_order = rng.permutation(n)
    done, drawn = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    seen = np.zeros(n, dtype=bool)
    t, phase, size = 0, "rank", step
    while t < n:
        source = random_order if phase == "audit" else np.arange(n)
        batch = source[~done[source]][:size]
        done[batch] = True
        seen[t : t + len(batch)], drawn[t : t + len(batch)] = truth[batch], phase == "audit"
        t += len(batch)
        verdict = rule.verdict(Course(n, seen[:t], drawn[:t]))
        if verdict.stop:
            return _stopped(truth, t, seen[:t], verdict.recall)
        phase, size = verdict.phase, max(1, min(step, verdict.audit_rows or step))
    return _stopped(truth, n, truth, None)


def _controlled(rule: QBCB, truth: NDArray[np.bool_], rng: np.random.Generator) -> Stopped:
    """Random rows until the control sample has enough positives, then the ranking, which passes over them."""
    n = len(truth)
    order = rng.permutation(n)
    have = np.cumsum(truth[order])
    enough = np.flatnonzero(have >= rule.smallest)
    if not len(enough):
        return _stopped(truth, n, truth, None)
    sample = np.sort(order[: int(enough[0]) + 1])
    in_sample = np.zeros(n, dtype=bool)
    in_sample[sample] = True
    control = np.flatnonzero(in_sample & truth)
    needed = rule.needed(len(control))
    assert needed is not None
    end = int(control[needed - 1]) + 1  # ranked rows up to the last control positive that is needed
    reviewed = in_sample.copy()
    reviewed[:end] = True
    return _stopped(truth, int(reviewed.sum()), truth[reviewed], rule.recall)

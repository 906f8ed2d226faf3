"""How many positives a table can still hold, from rows drawn at random without replacement: valid at every moment.

An audit row is the next unreviewed row of a random order of the table that was fixed before the review. Given what was
reviewed before, it is a uniform draw from the u rows left, whatever the ranking did. If the table has T positives and F
of them are found, it is positive with probability (T - F)/u. So every T has a likelihood L_T, the product over the
audit rows. For weights w(T') that sum to one and were chosen before the first audit row,

    e_T = Σ w(T')·L_T' / L_T

is a martingale of mean 1 under the true T. By Ville's inequality it ever exceeds 1/α with probability at most α
(Robbins 1970; for sampling without replacement, Waudby-Smith and Ramdas 2020). The T with e_T < 1/α are a confidence
set for all moments at once: one may look after every row, and stop, go back to the ranking or draw more as one likes.
e_T is convex in T, because 1/L_T is, so the set is an interval.

An audit that starts again after ranked rows has weights of its own, chosen from what is known then. The mean of such
martingales with fixed weights is one too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from usmo.core.arrays import Array
from usmo.review.course import Course

_FIRST_PHASE = 0.8
"""Weight of the first phase; the later ones have half of the rest each."""

_NONE_MISSED = 0.75
"""Weight of "all are found" at the start of a phase. With 45 found and 5 % allowed to be missing, 0.67 of the rows left
are then audited; 0.63 if all the weight were there, and much more as soon as one is missed."""


@dataclass(frozen=True)
class _Blocks:
    """Audit rows in blocks: a positive, or consecutive negatives. ``u`` and ``found`` are from before the block."""

    time: NDArray[np.intp]
    length: NDArray[np.intp]
    positive: NDArray[np.bool_]
    u: Array
    found: Array

    @classmethod
    def of(cls, course: Course) -> _Blocks:
        at = np.flatnonzero(course.drawn)
        positive = course.positive[at]
        opens = np.ones(len(at), dtype=bool)
        opens[1:] = (np.diff(at) > 1) | positive[1:] | positive[:-1]
        first = np.flatnonzero(opens)
        time = at[first]
        found = np.concatenate([[0], np.cumsum(course.positive)])
        lengths = np.diff(np.append(first, len(at)))
        return cls(time, lengths, positive[first], course.n_rows - time.astype(float), found[time].astype(float))

    def log_likelihood(self, total: Array, since: int) -> Array:
        """log L_T of each T in ``total``, from the blocks that start at or after the moment ``since``."""
        used = self.time >= since
        u, s, positive = self.u[used], self.length[used].astype(float), self.positive[used]
        K = total[:, None] - self.found[used]
        with np.errstate(divide="ignore", invalid="ignore"):
            hit = np.where(K > 0, np.log(np.maximum(K, 0.0)) - np.log(u), -np.inf)
            passed = log_none(u, np.maximum(K, 0.0), s)
        each = np.where(positive, hit, passed)
        return np.where((K >= 0).all(axis=1), each.sum(axis=1), -np.inf)


def log_none(u: Any, K: Any, s: Any) -> Array:
    """log of the probability that s rows drawn from u without replacement hold none of K positives."""
    rest = u - K - s
    value = gammaln(u - K + 1) - gammaln(np.maximum(rest, 0.0) + 1) - gammaln(u + 1) + gammaln(u - s + 1)
    return np.asarray(np.where(rest >= 0, value, -np.inf))


class Evidence:
    """What the audit rows of a course say about the number T of positives among the rows of the review."""

    def __init__(self, course: Course, recall: float = 0.95) -> None:
        self.course = course
        self._blocks = _Blocks.of(course)
        self._phases = [(since, *self._weights(since, recall)) for since in _phase_starts(course)]

    def _weights(self, since: int, recall: float) -> tuple[Array, Array]:
        """The T' of a phase and the logarithms of their weights, from the positives found before it."""
        found = int(np.count_nonzero(self.course.positive[:since]))
        most = self.course.n_rows - since
        allowed = max(1.0, found * (1.0 - recall) / recall)
        # a few missed, in proportion to how many may be
        missed = np.unique(np.round(np.geomspace(1, max(1.0, min(most, 8.0 * allowed)), 40)))
        falling = 0.5 ** (missed / allowed)
        share = (1.0 - _NONE_MISSED) * falling / falling.sum()
        return np.concatenate([[found], found + missed]), np.log(np.concatenate([[_NONE_MISSED], share]))

    def log_e(self, total: Array, more: int = 0) -> Array:
        """log e_T of each T in ``total``; ``more`` adds that many audit rows without a positive."""
        total = np.atleast_1d(np.asarray(total, dtype=float))
        parts = []
        for k, (since, others, log_weight) in enumerate(self._phases):
            share = _FIRST_PHASE if k == 0 else (1.0 - _FIRST_PHASE) * 0.5**k
            both = self._log_likelihood(np.concatenate([others, total]), since, more)
            alternative = logsumexp(both[: len(others)] + log_weight)
            with np.errstate(invalid="ignore"):
                ratio = alternative - both[len(others) :]
            parts.append(np.log(share) + np.where(np.isneginf(both[len(others) :]), np.inf, ratio))
        if not parts:
            return np.zeros(len(total))
        return np.asarray(logsumexp(np.array(parts), axis=0))

    def _log_likelihood(self, total: Array, since: int, more: int) -> Array:
        value = self._blocks.log_likelihood(total, since)
        if more:
            K = np.maximum(total - self.course.found, 0.0)
            value = value + log_none(float(self.course.left), K, float(more))
        return value

    def rejects(self, total: int, alpha: float, more: int = 0) -> bool:
        """Whether T and every larger number of positives is rejected."""
        if total > self.course.found + self.course.left - more:
            return True
        at, above = self.log_e(np.array([total, total + 1.0]), more)
        return bool(at >= -np.log(alpha) and above >= at)

    def most(self, alpha: float) -> int:
        """The largest number of positives among the rows of the review that is not rejected."""
        low, high = self.course.found, self.course.found + self.course.left + 1
        if self.rejects(low, alpha):  # cannot be by chance alone: the labels contradict a random order
            return low
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.rejects(middle, alpha) else (middle, high)
        return low

    def rows_needed(self, total: int, alpha: float) -> int | None:
        """How many more audit rows, if none of them is positive, reject T and all above; None if all rows do not."""
        low, high = -1, self.course.left
        if not self.rejects(total, alpha, high):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.rejects(total, alpha, middle) else (middle, high)
        return high


def _phase_starts(course: Course) -> list[int]:
    """The moments at which audit rows begin: first, or after other rows."""
    at = np.flatnonzero(course.drawn)
    if not len(at):
        return [course.reviewed]
    return at[np.concatenate([[True], np.diff(at) > 1])].tolist()

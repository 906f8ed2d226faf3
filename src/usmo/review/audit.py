"""A random sample of the rows left, with an exact bound on what is missed that holds however often one looks.

When the audit starts, F positives are found and u rows are left, K of them positive. From then on rows come in a random
order that was fixed before the review. The audit ends after s_x rows if they held x positives or fewer. That is wrong
if more positives are still missing than may be, K - x > a_x. The moments s_0 < s_1 < ... are the smallest with

    P(the audit ends wrongly | K) ≤ α      for every K,

computed exactly from the hypergeometric distribution of the draws. Among the K for which ending with x is wrong the
smallest, x + a_x + 1, ends wrongly most often. For it the probability is that of ending at an earlier moment, plus that
of x positives at s_{x-1} and none from there to s_x.

Nothing is assumed about the ranking, nor about the decision to start the audit. Rows of the random order that were
reviewed for another reason after the start count when the order comes to them, so that one may go on with the ranking
meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.special import gammaln
from scipy.stats import hypergeom

from usmo.core.arrays import Array

MOST_HITS = 60
"""Positives in an audit for which the moment of ending is computed. With more, all rows are to be reviewed: there is
little left to save."""


class AuditPlan:
    """The moments at which an audit of u rows may end; ``allowed`` says how many may be missing after x positives."""

    def __init__(self, u: int, allowed: Callable[[int], int], alpha: float) -> None:
        self.u, self.allowed, self.alpha = u, allowed, alpha
        self._ends: list[int] = []

    def end(self, x: int) -> int:
        """After how many rows the audit may end if they held x positives."""
        if x > MOST_HITS:
            return self.u
        while len(self._ends) <= x:
            self._ends.append(self._next())
        return self._ends[x]

    def _next(self) -> int:
        x, before = len(self._ends), (self._ends[-1] if self._ends else 0)
        K = x + self.allowed(x) + 1
        if self.u < K:  # there are not so many rows
            return max(before, x)
        spent, mass = self._ended_before(K)
        low, high = before - 1, self.u - (K - x) + 1  # at the latter, at most K - x - 1 rows are left
        if mass * _none(self.u - before, K - x, 0) <= self.alpha - spent:
            return max(before, x)
        while high - low > 1:
            middle = (low + high) // 2
            wrong = spent + mass * _none(self.u - before, K - x, max(0, middle - before))
            low, high = (low, middle) if wrong <= self.alpha else (middle, high)
        return high

    def _ended_before(self, K: int) -> tuple[float, float]:
        """The probability of an end at one of the x moments so far, and that of going on with x positives.

        ``alive`` has the probabilities of 0, 1, ..., x positives without an end; more never become x again.
        """
        x = len(self._ends)
        alive = np.zeros(x + 1)
        alive[0] = 1.0
        spent, at = 0.0, 0
        for j, end in enumerate(self._ends):
            alive = alive @ _steps(self.u - at, K, end - at, x)
            spent += float(alive[: j + 1].sum())
            alive[: j + 1] = 0.0
            at = end
        return spent, float(alive[x])


def _steps(u: int, K: int, s: int, most: int) -> Array:
    """The probabilities to come from i positives to j, i, j ≤ most, by s draws from u rows with K - i positives."""
    i, j = np.arange(most + 1)[:, None], np.arange(most + 1)[None, :]
    k, d = np.maximum(K - i, 0), j - i
    fits = (d >= 0) & (d <= np.minimum(k, s)) & (s - d <= u - k) & (i <= K)
    d = np.where(fits, d, 0)
    log_p = _choose(k, d) + _choose(u - k, np.where(fits, s - d, 0)) - _choose(u, s)
    return np.where(fits, np.exp(log_p), 0.0)


def _choose(n: Any, k: Any) -> Array:
    n, k = np.maximum(n, k).astype(float), np.asarray(k, dtype=float)
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def _none(u: int, K: int, s: int) -> float:
    """The probability that s rows drawn from u without replacement hold none of K positives."""
    if u - K < s:
        return 0.0
    return float(np.exp(gammaln(u - K + 1) - gammaln(u - K - s + 1) - gammaln(u + 1) + gammaln(u - s + 1)))


@cache
def recall_plan(u: int, found: int, recall: float, alpha: float) -> AuditPlan:
    """The plan that promises a recall, for an audit that starts with this many positives found."""
    return AuditPlan(u, lambda x: least_missed(found + x, recall) - 1, alpha)


def most_missed(u: int, s: int, x: int, alpha: float) -> int:
    """The largest number of positives that can still be missing after s audit rows with x positives.

    The exact bound of the hypergeometric distribution. It has the confidence 1 - α at one moment, not at all together,
    as the ends of a plan have.
    """
    low, high = -1, u - s
    while high - low > 1:
        middle = (low + high) // 2
        rejected = hypergeom.cdf(x, u, x + middle + 1, s) <= alpha
        low, high = (low, middle) if rejected else (middle, high)
    return high


def least_missed(found: int, recall: float) -> int:
    """The smallest number of missed positives with which ``found`` is less than the share ``recall`` of all."""
    return max(1, int(np.floor(found * (1.0 - recall) / recall + 1e-9)) + 1)

"""The share of labels at the top of a ranking, against the largest that labels at random allow.

If the labelled positives are a random sample of the positives, and a share π of the n_U unlabelled rows is positive, a
row is labelled with a probability of at most

    c = n_P/(n_P + π·n_U)

wherever one looks: it is c where all rows are positive, and negatives only lower it. So classes may overlap. With S_k
labels among the k rows with the highest held-out scores,

    T(c) = max_k (S_k - c·k)/√(c·(1 - c)·k),     k from 8 on, until 70 % of the labelled rows are among the k

is compared with its values for rows that are labelled independently with probability c. The p-value is that of the
worst case, a ranking whose first rows are all positive; with negatives among them the test rejects less often. The
largest π that is not rejected bounds the share of positives under labels at random.

Labels near one another in the ranking are not quite independent, since they have trained each other's scores. The test
rejects too often where positives lie in small tight clusters and most of them are labelled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from usmo.core.arrays import Array, Mask

_FIRST, _LAST = 8, 0.7
"""The smallest k, and the share of all labelled rows that the first k rows hold at the largest k."""

_RESAMPLES = 999
"""Drawn sequences of labels."""

_STEPS = 14
"""Halvings of the range of π in the search for the largest."""


class Excess(NamedTuple):
    """The p-value; and for the k at which T(c) is reached, the share of labelled rows among the first k, and c."""

    p_value: float
    share: float
    allowed: float


class LabelShares:
    """Labels among the first rows of a ranking by held-out score, highest first."""

    def __init__(self, score: Array, labelled: Mask, rng: np.random.Generator) -> None:
        order = np.argsort(-score, kind="stable")
        found = np.cumsum(labelled[order])
        self._counts = int(found[-1]), len(order) - int(found[-1])
        # equal scores have no order: k goes from the end of one group of them to the next
        k = np.flatnonzero(np.append(np.diff(score[order]) != 0.0, True)) + 1
        k = k[: int(np.searchsorted(found[k - 1], _LAST * found[-1])) + 1]
        self._k = k[k >= min(_FIRST, k[-1])]
        self._labels = found[self._k - 1].astype(np.float64)
        self._drawn = rng.random((_RESAMPLES, self._k[-1]), dtype=np.float32)

    def excess(self, share: float) -> Excess:
        """The test of labels at random if this share of the unlabelled rows is positive."""
        n_p, n_u = self._counts
        c = min(n_p / (n_p + share * n_u), 1.0 - 1e-9)
        k, spread = self._k, np.sqrt(c * (1.0 - c) * self._k)
        observed = (self._labels - c * k) / spread
        drawn = np.cumsum(self._drawn < c, axis=1, dtype=np.int32)[:, k - 1]
        greater = int(np.count_nonzero(((drawn - c * k) / spread).max(axis=1) >= observed.max()))
        at = int(np.argmax(observed))
        return Excess((1 + greater) / (1 + _RESAMPLES), float(self._labels[at] / k[at]), c)

    def largest_share(self, level: float) -> float:
        """The largest share of positives among the unlabelled rows that is not rejected, by halving, rounded up."""
        if self.excess(1.0).p_value >= level:
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(_STEPS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.excess(middle).p_value >= level else (low, middle)
        return high

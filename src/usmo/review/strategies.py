"""Which rows come next: an order of the unreviewed rows by their scores.

likely      the likeliest positives first
mixed       as likely, with a stated share of random rows between them
uncertain   rows nearest the score that best separates positives from rejected rows first
diverse     as likely, but of rows that are nearly alike only the likeliest; the others follow at the end
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

from usmo.core.arrays import Array, Index

Strategy = Literal["likely", "mixed", "uncertain", "diverse"]
STRATEGIES: tuple[str, ...] = get_args(Strategy)

_ALIKE = 0.9
"""Cosine of two rows from which they count as nearly alike."""

_POOL = 20
"""Rows per row asked for among which "diverse" looks for near-duplicates."""


def check_strategy(strategy: str, random_share: float) -> None:
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(map(repr, STRATEGIES))}, got {strategy!r}")
    if not 0.0 < random_share < 1.0:
        raise ValueError(f"random_share must lie between 0 and 1, got {random_share!r}")


def by_score(scores: Array, rows: Index, most: int | None = None) -> Index:
    """Rows by falling score, the first ``most`` if that is given; rows of equal score keep their order."""
    if most is not None and most < len(rows):
        last = -np.partition(-scores[rows], most - 1)[most - 1]
        rows = rows[scores[rows] >= last]
    return rows[np.argsort(-scores[rows], kind="stable")][:most]


def uncertain_first(scores: Array, rows: Index, kinds: NDArray[np.int8]) -> Index:
    """Rows by their distance to the threshold with the fewest balanced errors on reviewed rows."""
    positive, negative = scores[kinds == 1], scores[kinds == -1]
    if not len(positive) or not len(negative):
        return by_score(scores, rows)
    cuts = np.sort(np.concatenate([positive, negative]))
    missed = np.searchsorted(np.sort(positive), cuts, side="left") / len(positive)
    false = 1.0 - np.searchsorted(np.sort(negative), cuts, side="left") / len(negative)
    threshold = cuts[int(np.argmin(missed + false))]
    return rows[np.argsort(np.abs(scores[rows] - threshold), kind="stable")]


def spread(X: Any, ordered: Index, k: int) -> Index:
    """The first k rows of an order of which no two are nearly alike, then the rows passed over."""
    pool = ordered[: _POOL * k]
    unit = normalize(sparse.csr_matrix(X[pool]) if sparse.issparse(X) else np.asarray(X)[pool])
    chosen: list[int] = []
    for i in range(len(pool)):
        if len(chosen) == k:
            break
        alike = unit[chosen] @ unit[[i]].T if chosen else np.zeros(1)
        closest = alike.max() if sparse.issparse(alike) else np.max(alike)
        if closest < _ALIKE:
            chosen.append(i)
    others = np.delete(np.arange(len(ordered)), chosen)
    return np.concatenate([pool[chosen], ordered[others]])

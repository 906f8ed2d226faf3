"""Hiding labels, and poker hands."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state


def make_pu(
    y: Any,
    *,
    n_positives: int | None = None,
    fraction: float | None = None,
    scenario: Literal["case-control", "censored"] = "case-control",
    random_state: Any = None,
) -> tuple[np.ndarray, float]:
    """Hide labels: keep ``n_positives`` or a ``fraction`` of the positives as known, call the rest unlabelled.

    Parameters
    ----------
    y : array
        True classes; the greater of its two values is positive.
    n_positives, fraction : int or float
        How many positives stay known; exactly one of the two is given.
    scenario : {"case-control", "censored"}
        What the prior returned refers to: the unlabelled rows, or all rows.

    Returns
    -------
    known : ndarray of int
        1 where the row is a labelled positive, 0 where it is unlabelled.
    prior : float
        The true share of positives for the scenario.
    """
    if (n_positives is None) == (fraction is None):
        raise ValueError(f"give either n_positives or fraction, got {n_positives} and {fraction}")
    if scenario not in ("case-control", "censored"):
        raise ValueError(f"scenario must be 'case-control' or 'censored', got {scenario!r}")
    classes, code = np.unique(np.asarray(y), return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"y must hold two values, got {len(classes)}")
    positives = np.flatnonzero(code == 1)
    count = round(fraction * len(positives)) if fraction is not None else int(n_positives or 0)
    if not 1 <= count <= len(positives):
        raise ValueError(f"between 1 and {len(positives)} positives can stay known, got {count}")
    known = np.zeros(len(code), dtype=np.int64)
    known[check_random_state(random_state).permutation(positives)[:count]] = 1
    sample = code if scenario == "censored" else code[known == 0]
    return known, float(np.mean(sample == 1))


_HANDS_AT_ONCE = 2**18


def make_poker_hands(n: int, *, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Five-card draws, uniform and in random order, with the ten classes of UCI's poker-hand table.

    Returns
    -------
    X : ndarray of int8, shape (n, 10)
        Suit (1-4) and rank (1-13, ace 1) of the five cards, in turn.
    y : ndarray of int8
        0 nothing, 1 one pair, 2 two pairs, 3 three of a kind, 4 straight, 5 flush, 6 full house, 7 four of a kind,
        8 straight flush, 9 royal flush.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    rng = check_random_state(random_state)
    X, y = np.empty((n, 10), dtype=np.int8), np.empty(n, dtype=np.int8)
    for start in range(0, n, _HANDS_AT_ONCE):
        stop = min(start + _HANDS_AT_ONCE, n)
        cards = np.empty((stop - start, 5), dtype=np.int8)
        for k in range(5):
            # the card of that number among those not yet drawn: count up past each drawn one, lowest first
            card = rng.randint(0, 52 - k, size=stop - start, dtype=np.int8)
            for drawn in np.sort(cards[:, :k], axis=1).T:
                card += card >= drawn
            cards[:, k] = card
        X[start:stop, 0::2], X[start:stop, 1::2] = cards // 13 + 1, cards % 13 + 1
        y[start:stop] = poker_class(X[start:stop])
    return X, y


def poker_class(X: np.ndarray) -> np.ndarray:
    """The class of hands given as suit and rank of five cards, by the rules."""
    suits, ranks = X[:, 0::2], np.sort(X[:, 1::2], axis=1)
    equal = (ranks[:, :, None] == ranks[:, None, :]).sum(axis=(1, 2))  # Σ of squared multiplicities
    flush = (suits == suits[:, :1]).all(axis=1)
    royal = (ranks == [1, 10, 11, 12, 13]).all(axis=1)
    straight = (equal == 5) & (ranks[:, 4] - ranks[:, 0] == 4) | royal
    y = np.zeros(len(X), dtype=np.int8)
    for squares, value in ((7, 1), (9, 2), (11, 3), (13, 6), (17, 7)):
        y[equal == squares] = value
    y[straight] = 4
    y[flush] = 5
    y[flush & straight] = 8
    y[flush & royal] = 9
    return y

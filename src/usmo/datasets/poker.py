"""Poker hands: any number of rows like those of UCI's poker-hand table."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

_BLOCK = 2**18
"""Hands drawn at a time: a few megabytes of temporary arrays, however many hands are wanted."""


def make_poker_hands(n: int, *, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Draw five-card hands, uniform and in random order, with the ten classes of UCI's poker-hand table.

    Parameters
    ----------
    n : int
        Number of hands.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    X : ndarray of int8, shape (n, 10)
        Suit (1-4) and rank (1-13, ace 1) of each of the five cards.
    y : ndarray of int8
        0 nothing, 1 one pair, 2 two pairs, 3 three of a kind, 4 straight, 5 flush, 6 full house, 7 four of a kind,
        8 straight flush, 9 royal flush.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    rng = check_random_state(random_state)
    X, y = np.empty((n, 10), dtype=np.int8), np.empty(n, dtype=np.int8)
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        cards = np.empty((stop - start, 5), dtype=np.int8)
        for k in range(5):
            # an index into the cards not yet drawn becomes a card: skip each drawn card, lowest first
            card = rng.randint(0, 52 - k, size=stop - start, dtype=np.int8)
            for drawn in np.sort(cards[:, :k], axis=1).T:
                card += card >= drawn
            cards[:, k] = card
        X[start:stop, 0::2], X[start:stop, 1::2] = cards // 13 + 1, cards % 13 + 1
        y[start:stop] = poker_class(X[start:stop])
    return X, y


def poker_class(X: np.ndarray) -> np.ndarray:
    """Class of each hand, given as suit and rank of five cards."""
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

"""Small tables to review."""

from __future__ import annotations

import numpy as np


def two_clouds(n: int = 120, positives: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which the positives lie elsewhere, in random order, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n) < positives)
    return rng.normal(size=(n, 4)) + 2.5 * truth[:, None], truth


def one_known(truth: np.ndarray) -> np.ndarray:
    """Labels with the first positive known."""
    labels = np.zeros(len(truth), dtype=int)
    labels[np.flatnonzero(truth)[0]] = 1
    return labels


class ColumnRanker:
    """Scores rows by their first column; fails on demand."""

    def __init__(self) -> None:
        self.fails = False

    def rank(self, X, kinds, start=None):
        from usmo.review.rankers import Ranked

        if self.fails:
            raise RuntimeError("the solver gave up")
        return Ranked(np.asarray(X)[:, 0].copy())

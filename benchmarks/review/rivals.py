"""Other ways to rank the rows of a review, with the interface of ``usmo.review.rankers.Ranker``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from usmo.review.rankers import Ranked


@dataclass
class ReviewedSVM:
    """A linear SVM on the reviewed rows only, as ASReview 2 has it by default: C = 0.11, positives weighted 9.8.

    ``balanced`` weighs all positives together 9.8 times as much as all negatives, else each positive counts 9.8 times a
    negative. As long as no row is rejected, ten random rows stand for negatives.
    """

    balanced: bool = True
    seed: int = 0

    def rank(self, X: Any, kinds: np.ndarray, start: Any = None) -> Ranked:
        rows = np.flatnonzero(kinds != 0)
        if not (kinds == -1).any():
            others = np.flatnonzero(kinds == 0)
            rows = np.append(
                rows, np.random.default_rng(self.seed).choice(others, min(10, len(others)), replace=False)
            )
        positive = kinds[rows] == 1
        weight = np.where(positive, 9.8 * ((~positive).sum() / positive.sum() if self.balanced else 1.0), 1.0)
        model = LinearSVC(C=0.11).fit(X[rows], positive, sample_weight=weight * len(rows) / weight.sum())
        return Ranked(model.decision_function(X))


@dataclass
class Bagging:
    """PU bagging: trees on all positives against as many other rows, drawn anew for each, scored out of bag.

    ``rejected`` is the weight of a rejected row in the draws, in units of a row not yet reviewed. A split tries at most
    ``columns``: on MNIST's 784 columns, 28 rank as well as all.
    """

    rejected: float = 1.0
    n_trees: int = 60
    columns: int = 100
    seed: int = 0

    def rank(self, X: Any, kinds: np.ndarray, start: Any = None) -> Ranked:
        X = np.asarray(X, dtype=np.float32)  # what trees use; converted once
        rng = np.random.default_rng(self.seed)
        positives, others = np.flatnonzero(kinds == 1), np.flatnonzero(kinds != 1)
        share = np.where(kinds[others] == -1, self.rejected, 1.0)
        share /= share.sum()
        columns = min(self.columns, X.shape[1])
        total, votes = np.zeros(len(kinds)), np.zeros(len(kinds))
        for _ in range(self.n_trees):
            drawn = rng.choice(others, len(positives), p=share)
            rows = np.concatenate([positives, drawn])
            tree = DecisionTreeClassifier(max_features=columns, random_state=int(rng.integers(2**31)))
            tree.fit(X[rows], np.arange(len(rows)) < len(positives), check_input=False)
            outside = np.ones(len(kinds))
            outside[drawn] = 0.0
            total += outside * tree.predict_proba(X, check_input=False)[:, -1]
            votes += outside
        return Ranked(total / np.maximum(votes, 1))


@dataclass
class RandomOrder:
    """No ranking at all."""

    seed: int = 0

    def rank(self, X: Any, kinds: np.ndarray, start: Any = None) -> Ranked:
        return Ranked(np.random.default_rng(self.seed).random(len(kinds)))

"""Votes of bagged trees: which rows do trees take for positive that were grown from the labels known so far?

PU bagging (Mordelet and Vert 2014). Each tree tells all positives from as many other rows, drawn anew: a rejected row
with the weight that it has in the review's risk, a row not yet reviewed with the weight 1. A row's score is the mean
vote of the trees for which it was not drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from usmo.core.arrays import Array
from usmo.kernels.threads import over_tiles

_TREES_PER_TASK = 20
"""Trees whose votes are added by one thread; each task needs two numbers per row."""

_MOST_COLUMNS = 100
"""Columns tried for each split. On 784 columns of images 28 rank as well as all and take a third of the time. On tables
of 9 and 36 columns all rank better than their square root."""

_LARGEST = float(np.finfo(np.float32).max)


def tree_votes(X: Any, kinds: NDArray[np.int8], rejected: float, n_trees: int, seed: int) -> Array:
    """The mean vote of trees for each row of a dense table, between 0 and 1.

    ``kinds`` has 1, 0 and -1 for positive, not reviewed and rejected rows.
    """
    X = np.ascontiguousarray(np.clip(X, -_LARGEST, _LARGEST), dtype=np.float32)  # what scikit-learn's trees use
    positives, others = np.flatnonzero(kinds == 1), np.flatnonzero(kinds != 1)
    ends = np.cumsum(np.where(kinds[others] == -1, rejected, 1.0))
    y = np.repeat([1, 0], len(positives))
    columns = min(X.shape[1], _MOST_COLUMNS)
    tasks = range(0, n_trees, _TREES_PER_TASK)
    sums = np.zeros((len(tasks), 2, len(kinds)))

    def work(part: slice) -> None:
        for task in range(part.start, part.stop):
            for t in range(tasks[task], min(tasks[task] + _TREES_PER_TASK, n_trees)):
                rng = np.random.default_rng([seed, t])
                drawn = others[np.searchsorted(ends, ends[-1] * rng.random(len(positives)), side="right")]
                tree = DecisionTreeClassifier(max_features=columns, random_state=int(rng.integers(2**31)))
                tree.fit(X[np.concatenate([positives, drawn])], y, check_input=False)
                outside = np.ones(len(kinds))
                outside[drawn] = 0.0
                sums[task, 0] += outside * tree.predict_proba(X, check_input=False)[:, 1]
                sums[task, 1] += outside

    over_tiles(work, len(tasks), 1)
    votes, trees = sums.sum(axis=0)  # in a fixed order, whatever the number of threads
    return np.asarray(votes / np.maximum(trees, 1.0))

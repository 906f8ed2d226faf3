"""How many positives the scores let expect among the rows not yet reviewed: an indication, no bound.

The scores with which reviewed rows were proposed, before their labels were known, are regressed on their labels (a
logistic regression). Only the later half of the rows counts: what is found early is no longer there to be found. The
expectation is the sum of the probabilities of the rows left. It is wrong by as much as positives that the model does
not recognise are hidden among low scores.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from usmo.core.arrays import Array

_LEAST = 50
"""Rows that the regression needs at least, and at least uses if there are as many."""


def expected_among_open(scores: Array, positive: NDArray[np.bool_], open_scores: Array) -> float | None:
    """The expected number of positives among open rows, from scores and labels in the order of review.

    None if too few rows were reviewed. If the later half holds no positive, the rows since the last one are used.
    """
    if len(scores) < _LEAST or not positive.any() or positive.all():
        return None
    if not len(open_scores):
        return 0.0
    late = slice(-max(_LEAST, len(scores) // 2), None)
    if not positive[late].any():
        late = slice(int(np.flatnonzero(positive)[-1]), None)
    x, y = scores[late], positive[late]
    if y.all():
        return None
    model = LogisticRegression(C=1.0).fit(x[:, None], y)
    slope = max(float(model.coef_[0, 0]), 0.0)  # a ranking that is worse than none tells nothing
    intercept = float(model.intercept_[0]) if slope else float(np.log(y.mean() / (1.0 - y.mean())))
    return float(expit(slope * open_scores + intercept).sum())

"""How many positives the scores let expect among the rows not yet reviewed: an indication, no bound.

Reviewed rows are a logistic regression of the label on the score. Rows not yet reviewed get temporary labels in the
amount that the regression expects, and the regression is repeated until the amount settles (SEMI; Yu and Menzies 2019).
The temporary labels keep the regression from taking the top of the ranking for the whole table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from usmo.core.arrays import Array

_ROUNDS = 20


def expected_positives(scores: Array, kinds: NDArray[np.int8]) -> float | None:
    """The expected number of positives among the rows with kind 0; None without a reviewed row of both kinds."""
    if not (kinds == 1).any() or not (kinds == -1).any():
        return None
    left = np.flatnonzero(kinds == 0)
    if not len(left):
        return 0.0
    reviewed = np.flatnonzero(kinds != 0)
    known = kinds[reviewed] == 1
    spread = float(scores.std()) or 1.0
    z = ((scores - scores.mean()) / spread)[:, None]
    order = left[np.argsort(-scores[left], kind="stable")]
    amount, expected = 0, 0.0
    for _ in range(_ROUNDS):
        temporary = np.zeros(len(left), dtype=bool)
        temporary[:amount] = True
        rows = np.concatenate([reviewed, order])
        model = LogisticRegression(C=1.0).fit(z[rows], np.concatenate([known, temporary]))
        share = expit(z[order, 0] * model.coef_[0, 0] + model.intercept_[0])
        expected = float(share.sum())
        if round(expected) == amount:
            break
        amount = min(round(expected), len(left))
    return expected

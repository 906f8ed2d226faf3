"""The review's risk: what it equals when all is reviewed, and its bias before that, by enumeration."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from usmo.review.risk import ReviewRisk

TRUTH = np.array([1, 0, 0, 1, 0, 1, 0, 0], dtype=bool)
F = np.random.default_rng(0).normal(scale=1.5, size=len(TRUTH))


def loss(z: np.ndarray) -> np.ndarray:
    """The double hinge."""
    return np.maximum(-z, np.maximum(0.0, (1.0 - z) / 2.0))


def balanced_risk(truth: np.ndarray, f: np.ndarray) -> float:
    """Half the mean loss of the positives and half that of the negatives, with all labels known."""
    return 0.5 * float(loss(f[truth]).mean() + loss(-f[~truth]).mean())


def review_risk(risk: ReviewRisk, kinds: np.ndarray, f: np.ndarray) -> float:
    """The risk of f from b and c of the problem."""
    problem = risk.problem(kinds)
    m = np.maximum(0.0, np.maximum(f, (1.0 + f) / 2.0))
    return 2.0 * risk.lam * float(problem.c @ m[problem.c_rows] - problem.b @ f[problem.b_rows])


def kinds_after(reviewed: tuple[int, ...]) -> np.ndarray:
    kinds = np.zeros(len(TRUTH), dtype=np.int8)
    kinds[list(reviewed)] = np.where(TRUTH[list(reviewed)], 1, -1)
    return kinds


@pytest.mark.parametrize("rejected", [1.0, 20.0])
def test_with_all_rows_reviewed_it_is_the_risk_of_known_labels(rejected):
    kinds = np.where(TRUTH, 1, -1).astype(np.int8)
    assert review_risk(ReviewRisk(rejected=rejected), kinds, F) == pytest.approx(
        balanced_risk(TRUTH, F), rel=1e-12
    )


@pytest.mark.parametrize("rejected", [1.0, 20.0])
@pytest.mark.parametrize("found", [1, 2, 3])
def test_over_all_random_reviews_the_bias_is_that_of_the_positives_left(rejected, found):
    risk = ReviewRisk(rejected=rejected)
    reviews = [rows for rows in combinations(range(len(TRUTH)), 5) if TRUTH[list(rows)].sum() == found]
    mean = np.mean([review_risk(risk, kinds_after(rows), F) for rows in reviews])
    n, m, left = 3, 5 - found, int(TRUTH.sum()) - found
    share = left / (n + rejected * m)
    bias = 0.5 * share * float(loss(-F[TRUTH]).mean() - loss(-F[~TRUTH]).mean())
    assert mean == pytest.approx(balanced_risk(TRUTH, F) + bias, rel=1e-12)

"""Rankings of tables of numbers: votes of trees, and their sum with the decision function."""

from __future__ import annotations

import numpy as np
import pytest

from usmo.kernels import threads
from usmo.review.rankers import KernelRanker
from usmo.review.trees import tree_votes


def three_clouds() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positives, a cloud that resembles them in one column, and the rest; labels of a review, and the clouds."""
    rng = np.random.default_rng(0)
    cloud = np.repeat([0, 1, 2], [30, 30, 240])
    X = rng.normal(size=(300, 4))
    X[cloud < 2, 0] += 4.0
    X[cloud == 1, 1] += 4.0
    kinds = np.zeros(300, dtype=np.int8)
    kinds[:3], kinds[30:36] = 1, -1
    return X, kinds, cloud


def test_rejected_rows_lower_the_votes_of_rows_like_them():
    X, kinds, cloud = three_clouds()
    open_decoys = (cloud == 1) & (kinds == 0)
    light, heavy = (tree_votes(X, kinds, rejected, 100, 0)[open_decoys].mean() for rejected in (1.0, 20.0))
    assert heavy < light - 0.05


def test_a_row_is_not_scored_by_trees_that_it_was_drawn_for():
    X = np.array([[0.0], [1.0], [1.0]])
    kinds = np.array([0, 0, 1], dtype=np.int8)
    # a tree that drew row 1, which equals the positive, cannot split and votes one half; one that drew row 0 votes 1
    # for row 1, and would vote 0 for row 0
    votes = tree_votes(X, kinds, 20.0, 200, 0)
    assert votes[1] == 1.0
    assert votes[0] == 0.5
    assert 0.5 < votes[2] < 1.0


def test_votes_do_not_depend_on_the_number_of_threads(monkeypatch):
    X, kinds, _ = three_clouds()
    in_threads = tree_votes(X, kinds, 20.0, 50, 0)
    monkeypatch.setattr(threads._LOCAL, "in_pool", True, raising=False)
    assert (tree_votes(X, kinds, 20.0, 50, 0) == in_threads).all()


def test_the_score_is_a_mean_of_ranks_and_tells_the_clouds_apart():
    X, kinds, cloud = three_clouds()
    scores = KernelRanker().rank(X, kinds).scores
    assert scores.mean() == pytest.approx(0.5)
    assert 0.0 < scores.min() < scores.max() < 1.0
    assert np.mean(scores[(cloud == 0) & (kinds == 0)]) > np.mean(scores[(cloud == 1) & (kinds == 0)])


def test_a_table_without_signal_has_equal_scores():
    kinds = np.zeros(40, dtype=np.int8)
    kinds[0] = 1
    with pytest.warns(UserWarning, match="decision function is constant"):
        assert np.ptp(KernelRanker().rank(np.ones((40, 3)), kinds).scores) == 0.0

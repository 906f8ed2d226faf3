"""The test of labels at random: its level, its power, the columns it names, and what it cannot tell."""

import numpy as np
import pytest
from scipy import sparse

from usmo.priors import scar_test
from usmo.priors.scar import ScarTest, _area, _holm, _tested


def table(seed, n=500, prior=0.4):
    """Classes that differ in two columns; the third says nothing about the class."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < prior
    X = rng.normal(size=(n, 3))
    X[truth, :2] += 2.5
    return X, truth, rng


def test_labels_at_random_are_rarely_rejected():
    rejected = 0
    for seed in range(8):
        X, truth, rng = table(seed)
        rejected += scar_test(X, truth & (rng.random(len(truth)) < 0.4), random_state=seed).differs
    assert rejected <= 1  # at the level of 5 %, more in 6 % of such runs


def test_labels_that_follow_a_column_are_found_with_the_column():
    found = []
    for seed in range(3):
        X, truth, rng = table(seed)
        y = truth & (rng.random(len(truth)) < 1 / (1 + np.exp(-3 * X[:, 2])))
        found.append(scar_test(X, y, names=["a", "b", "clinic"]))
    assert sum(test.differs for test in found) == 3
    assert all(next(iter(test.columns)) == "clinic" for test in found)
    assert "most in clinic" in found[0].sentence


def test_twenty_labels_that_stop_at_a_sharp_limit_are_enough():
    X, truth, _ = table(0)
    far = np.flatnonzero(truth)[np.argsort(-X[truth, 2])[:20]]
    assert scar_test(X, np.isin(np.arange(len(X)), far)).differs


def scores_with_negatives(positive):
    """300 labelled and 1,000 unlabelled rows that look positive: a share like the labelled ones, the others less."""
    like_labelled = np.linspace(2.0, 3.0, 300)
    rows = round(positive * 1000)
    h = np.concatenate([like_labelled, np.linspace(2.0, 3.0, rows), np.linspace(0.5, 1.5, 1000 - rows)])
    return _tested(h[:, None], h, np.arange(len(h)) < 300, ["h"])


def test_negatives_among_the_rows_that_look_positive_are_no_sign_unless_they_prevail():
    for positive in (1.0, 0.8, 0.6):
        test = scores_with_negatives(positive)
        assert test.statistic == pytest.approx(1 - positive / 2)
        assert not test.differs
    assert scores_with_negatives(0.4).differs
    assert (test.labelled, test.unlabelled) == (300, 1000)


def test_the_p_value_is_one_half_at_the_bound_and_needs_more_of_a_small_sample():
    test = scores_with_negatives(0.6)
    assert test.expected == pytest.approx(0.7)
    assert test.p_value == pytest.approx(0.5, abs=1e-6)
    h = np.concatenate([np.linspace(2.0, 3.0, 6), np.linspace(2.0, 3.0, 4), np.linspace(0.5, 1.5, 6)])
    small = _tested(h[:, None], h, np.arange(16) < 6, ["h"])
    assert small.statistic > scores_with_negatives(0.4).expected
    assert not small.differs


def test_sparse_rows_frames_and_seeds():
    X, truth, rng = table(1, n=200)
    y = np.where(truth & (rng.random(200) < 0.5), 1, 0)
    dense = scar_test(X, y, n_draws=4)
    again = scar_test(X, y, n_draws=4)
    assert dense == again
    assert isinstance(scar_test(sparse.csr_matrix(X), y, n_draws=4), ScarTest)
    pd = pytest.importorskip("pandas")
    framed = scar_test(pd.DataFrame(X, columns=["a", "b", "c"]), y, n_draws=4)
    assert set(framed.columns) <= {"a", "b", "c"}


def test_words_follow_the_result_and_say_what_is_not_seen():
    at_random = ScarTest(0.4, 0.5, 0.5, {}, 20, 40)
    assert not at_random.differs
    assert at_random.sentence == "No sign that the labels are not at random (p = 0.40)."
    assert "cannot see positives that look like negatives" in str(at_random)
    found = ScarTest(0.003, 0.7, 0.5, {"year": 0.01}, 20, 40)
    assert found.sentence.startswith(
        "There are signs that the labels are not at random (p = 0.003): labelled rows differ"
    )
    assert "most in year" in found.sentence
    unknown = ScarTest(np.nan, np.nan, np.nan, {}, 2, 40)
    assert not unknown.differs
    assert "cannot be told" in unknown.sentence


def test_rows_that_all_look_alike_give_no_p_value():
    test = scar_test(np.ones((40, 2)), np.arange(40) < 10, n_draws=3)
    assert np.isnan(test.p_value)


def test_errors_name_the_argument():
    X, truth, _ = table(0, n=50)
    with pytest.raises(ValueError, match="n_draws must be at least 3, got 1"):
        scar_test(X, truth, n_draws=1)
    with pytest.raises(ValueError, match="at least 5 labelled positives"):
        scar_test(X, np.arange(50) < 3)
    with pytest.raises(ValueError, match="names must have one name per column, 3; got 1"):
        scar_test(X, truth, names=["a"])


def test_area_and_holm_by_brute_force():
    rng = np.random.default_rng(0)
    z, labelled = rng.integers(0, 4, 16).astype(float), np.arange(16) < 7
    P, U = z[labelled, None], z[None, ~labelled]
    assert _area(z[labelled], z[~labelled]) == pytest.approx((P > U).mean() + 0.5 * (P == U).mean())
    np.testing.assert_allclose(_holm(np.array([0.01, 0.04, 0.03])), [0.03, 0.06, 0.06])

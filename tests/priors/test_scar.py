"""The test of labels at random: its level, its power, the columns it names, and what it cannot tell."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from usmo.priors import scar_test
from usmo.priors.scar import OFTEN_REJECTED, ScarTest, _holm


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
    assert rejected <= 2


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


def test_the_share_that_looks_positive_refers_to_the_scenario():
    X, truth, rng = table(3, n=900)
    y = truth & (rng.random(len(truth)) < 0.4)
    among_unlabelled, among_all = (scar_test(X, y, scenario=kind) for kind in ("case-control", "censored"))
    assert among_unlabelled.prior == pytest.approx(truth[~y].mean(), abs=0.1)
    assert among_all.prior == pytest.approx(y.mean() + (1 - y.mean()) * among_unlabelled.prior)


def test_few_positives_that_are_apart_are_no_sign():
    rejected = 0
    for seed in range(5):
        X, truth, rng = table(seed, n=900, prior=0.08)
        X[truth, :2] += 1.5
        rejected += scar_test(X, truth & (rng.random(len(truth)) < 0.5), random_state=seed).differs
    assert rejected <= 1


def test_with_the_prior_few_positives_are_no_sign():
    found = []
    for seed in range(5):
        X, truth, rng = table(seed, n=900, prior=0.06)
        X[truth, :2] -= 1.0  # overlapping classes
        y = truth & (rng.random(len(truth)) < 0.5)
        found.append(scar_test(X, y, prior=truth.mean(), scenario="censored", random_state=seed))
    assert sum(test.differs for test in found) == 0
    assert all(test.largest_prior > 0.06 for test in found)


@pytest.mark.parametrize("scenario", ["case-control", "censored"])
def test_with_the_prior_obvious_positives_are_found(scenario):
    X, truth, rng = table(3, n=900)
    obvious = X[:, 0] + X[:, 1]
    y = truth & (rng.random(len(truth)) < 1 / (1 + np.exp(-3 * (obvious - 6.0))))
    prior = truth.mean() if scenario == "censored" else truth[~y].mean()
    test = scar_test(X, y, prior=prior, scenario=scenario)
    assert test.differs
    assert test.largest_prior < prior
    assert test.statistic > test.expected
    assert f"if the share of positives is {prior:.3g}" in test.sentence
    unknown = scar_test(X, y, scenario=scenario)
    assert unknown.largest_prior == test.largest_prior
    assert unknown.differs
    assert test.largest_prior < unknown.prior < prior + 0.05
    allowed = f"below {test.largest_prior:.3g}, and a share of {unknown.prior:.3g} looks positive"
    assert allowed in unknown.sentence


def test_sparse_rows_frames_and_seeds():
    X, truth, rng = table(1, n=200)
    y = np.where(truth & (rng.random(200) < 0.5), 1, 0)
    dense = scar_test(X, y, n_draws=4)
    again = scar_test(X, y, n_draws=4)
    assert dense == again
    selected = truth & (X[:, 2] > 0.3)
    found = [scar_test(rows, selected, n_draws=4) for rows in (X, sparse.csr_matrix(X))]
    assert [test.differs for test in found] == [True, True]
    assert found[0].prior == pytest.approx(found[1].prior, abs=0.05)
    pd = pytest.importorskip("pandas")
    framed = scar_test(pd.DataFrame(X, columns=["a", "b", "c"]), y, n_draws=4)
    assert set(framed.columns) <= {"a", "b", "c"}


def test_words_follow_the_result_and_say_what_is_not_seen():
    at_random = ScarTest(0.4, 0.3, 0.4, {}, 20, 40, 0.5, 0.3, False)
    assert not at_random.differs
    assert at_random.sentence == "No sign that the labels are not at random (p = 0.40)."
    assert "cannot see positives that look like negatives" in str(at_random)
    assert "Negatives of a kind that looks positive" in str(at_random)
    known = replace(at_random, given=True)
    assert known.sentence == (
        "No sign that the labels are not at random if the share of positives is 0.3 (p = 0.40). Labels "
        "at random allow a share of positives below 0.5."
    )
    assert "Negatives of a kind" not in str(known)
    found = ScarTest(0.003, 0.7, 0.51, {"year": 0.01}, 20, 40, 0.1, 0.3, False)
    assert found.sentence.startswith(
        "There are signs that the labels are not at random (p = 0.003): labels at random allow a share of positives "
        "below 0.1, and a share of 0.3 looks positive."
    )
    assert "most in year" in found.sentence
    assert "If the share is below 0.1, the labels may be at random." in found.sentence
    # the estimate may lie above both shares: nothing is said of it then
    assert "If not, an estimated share below 0.3 is too small" in found.sentence
    assert found.sentence.endswith(OFTEN_REJECTED)
    assert replace(found, expected=0.49).sentence.endswith("probabilities are too low.")
    assert replace(found, given=True).sentence.startswith(
        "The labels are not at random if the share of positives is 0.3 (p = 0.003): labels at random allow"
    )
    unknown = ScarTest(np.nan, np.nan, np.nan, {}, 2, 40, 1.0, 0.1, False)
    assert not unknown.differs
    assert "cannot be told" in unknown.sentence


def test_a_rejection_that_is_common_with_labels_at_random_is_called_so():
    """Four of five positives are labelled at random, and classes overlap: more look positive than are."""
    found = []
    for seed in range(2):
        X, truth, rng = table(seed, n=400, prior=0.35)
        X[truth, :2] -= 1.2
        found.append(scar_test(X, truth & (rng.random(400) < 0.8), n_draws=3, random_state=seed))
    assert any(test.differs for test in found)
    assert all(OFTEN_REJECTED in test.sentence for test in found if test.differs)


def test_as_many_rows_of_a_large_table_look_positive_as_of_a_part_of_it():
    """Labelled rows are as rare among the rows that are used as in the table."""
    rng = np.random.default_rng(0)
    truth = rng.random(12_000) < 0.1
    X = rng.normal(size=(12_000, 4))
    X[truth, :2] += (2.0, 1.0)  # the classes overlap
    y = truth & (rng.random(12_000) < 0.4)
    large, part = (scar_test(X[:n], y[:n], n_draws=3) for n in (12_000, 1200))
    assert large.prior == pytest.approx(part.prior, abs=0.06)
    assert large.expected == pytest.approx(part.expected, abs=0.12)
    assert large.labelled + large.unlabelled < 0.3 * 1062


def test_rows_that_all_look_alike_give_no_p_value():
    test = scar_test(np.ones((40, 2)), np.arange(40) < 10, n_draws=3)
    assert np.isnan(test.p_value)
    assert test.largest_prior == 1.0


def test_errors_name_the_argument():
    X, truth, _ = table(0, n=50)
    with pytest.raises(ValueError, match="n_draws must be at least 3, got 1"):
        scar_test(X, truth, n_draws=1)
    with pytest.raises(ValueError, match="scenario must be 'case-control' or 'censored', got 'all'"):
        scar_test(X, truth, scenario="all")
    with pytest.raises(ValueError, match="at least 5 labelled positives"):
        scar_test(X, np.arange(50) < 3)
    with pytest.raises(ValueError, match=r"prior must be a number between 0 and 1, or None; got 1\.5"):
        scar_test(X, truth, prior=1.5)
    with pytest.raises(ValueError, match=r"between 0\.\d+ and 1 \(labelled rows and all rows but .*; got 0\.01"):
        scar_test(X, truth, prior=0.01, scenario="censored")
    y = np.repeat([1, 0, -1], [10, 30, 10])
    with pytest.raises(ValueError, match=r"between 0\.2 and 0\.8 .*; got 0\.9"):
        scar_test(X, y, prior=0.9, scenario="censored")
    with pytest.raises(ValueError, match="scenario"):
        scar_test(X, truth, scenario="other")
    with pytest.raises(ValueError, match="names must have one name per column, 3; got 1"):
        scar_test(X, truth, names=["a"])


def test_p_values_are_adjusted_for_their_number():
    np.testing.assert_allclose(_holm(np.array([0.01, 0.04, 0.03])), [0.03, 0.06, 0.06])


def test_columns_of_tiny_values_are_tested_as_others_are():
    X, truth, rng = table(1, n=200)
    y = truth & (rng.random(200) < 0.4)
    test, tiny = (scar_test(each, y, n_draws=3, prior=0.4, scenario="censored") for each in (X, np.ldexp(X, -60)))
    assert tiny == test

"""Priors for labels that are not at random, and for tables that do not determine the prior."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import mannwhitneyu

from usmo.priors import ClassStructure, Consensus, Grouped, KnownNegatives, NegativesOnly
from usmo.priors.samples import Sample
from usmo.priors.saturation import _share_above
from usmo.priors.structure import looks_positive


def overlapping(seed=0, n=1500, prior=0.3, distance=1.5):
    """One column in which the classes overlap, and a column of noise."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < prior
    X = rng.normal(size=(n, 2))
    X[truth, 0] += distance
    return X, truth, rng


def labelled(truth, rng, chance, negatives=0):
    y = (truth & (rng.random(len(truth)) < chance)).astype(int)
    y[rng.choice(np.flatnonzero(~truth), negatives, replace=False)] = -1
    return y


def width(model):
    return model.interval_[1] - model.interval_[0]


def test_known_negatives_shrink_error_and_interval_where_classes_overlap():
    errors, widths = [], []
    for seed in range(3):
        X, truth, rng = overlapping(seed)
        y = labelled(truth, rng, 0.3, negatives=150)
        known = KnownNegatives(scenario="censored", repeats=2).fit(X, y)
        plain = Consensus(scenario="censored", repeats=3, n_bootstrap=5).fit(X, np.where(y < 0, 0, y))
        errors.append((abs(known.prior_ - truth.mean()), abs(plain.prior_ - truth.mean())))
        widths.append((width(known), width(plain)))
        assert known.interval_[0] < truth.mean() < known.interval_[1]
    assert np.mean(errors, axis=0)[0] < np.mean(errors, axis=0)[1]
    assert np.all(np.array(widths)[:, 0] < 0.7 * np.array(widths)[:, 1])


def test_more_known_negatives_make_the_interval_narrower():
    X, truth, _ = overlapping(4)
    few, many = (
        KnownNegatives(scenario="censored", repeats=2).fit(
            X, labelled(truth, np.random.default_rng(1), 0.3, count)
        )
        for count in (15, 300)
    )
    assert width(many) < width(few)


def test_the_selection_of_positives_does_not_bias_an_estimate_from_negatives_only():
    """Only positives far from the negatives are labelled: what assumes labels at random underestimates."""
    covered = 0
    for seed in range(5, 9):
        X, truth, rng = overlapping(seed, n=2000, distance=2.0)
        y = labelled(truth, rng, 1 / (1 + np.exp(-4 * (X[:, 0] - 3.0))), negatives=200)
        only = NegativesOnly(scenario="censored", repeats=2).fit(X, y)
        both = KnownNegatives(scenario="censored", repeats=2).fit(X, y)
        covered += only.interval_[0] < truth.mean() < only.interval_[1]
        assert both.prior_ < truth.mean() - 0.05
        assert abs(only.prior_ - truth.mean()) < abs(both.prior_ - truth.mean())
    assert covered >= 3  # intervals of 90 %


@pytest.mark.parametrize("cls", [KnownNegatives, NegativesOnly])
def test_an_error_names_the_labelled_negatives_that_are_missing(cls):
    X, truth, rng = overlapping(n=100)
    with pytest.raises(ValueError, match=r"at least 2 known negatives \(-1 in y\), got 0"):
        cls().fit(X, labelled(truth, rng, 0.5))


def reviewed_from_the_top(truth, X, rng, chance):
    """Labels at random; of the 150 other rows that look most positive, the negatives are known."""
    y = (truth & (rng.random(len(truth)) < chance)).astype(int)
    top = np.flatnonzero(y == 0)[np.argsort(-X[y == 0, 0])[:150]]
    y[top[~truth[top]]] = -1
    return y


@pytest.mark.parametrize("cls", [KnownNegatives, NegativesOnly])
def test_negatives_from_the_top_of_a_ranking_are_warned_of(cls):
    X, truth, rng = overlapping(2, n=800)
    y = reviewed_from_the_top(truth, X, rng, 0.3)
    with pytest.warns(UserWarning, match=r"look more like the labelled positives.*#selected-negatives"):
        found = cls(repeats=2).fit(X, y)
    assert found.interval_[1] < truth[y == 0].mean()  # what the warning is about
    with pytest.warns(UserWarning, match="no random sample of the negatives, or"):
        cls(repeats=2).fit(X, y, np.where(y < 0, 2.5, 1.0))


def test_negatives_at_random_are_not_warned_of(recwarn):
    for seed in range(10):
        X, truth, rng = overlapping(seed, n=300, prior=(0.05, 0.5)[seed % 2], distance=1.0)
        NegativesOnly(repeats=1).fit(X, labelled(truth, rng, 0.5, negatives=30))
        y = labelled(truth, rng, 0.5, negatives=30)
        # rows without any order: as many pairs one way as the other
        NegativesOnly(repeats=1).fit(np.ones_like(X), y)
    assert not recwarn.list


def test_the_share_of_pairs_is_that_of_mann_and_whitney():
    rng = np.random.default_rng(0)
    U, N = rng.integers(0, 9, 60).astype(float), rng.integers(0, 9, 25).astype(float)  # many ties
    w_u, w_n = rng.integers(1, 4, 60), rng.integers(1, 4, 25)
    sample = Sample(U[:1], U, np.ones(1), w_u, (1.0, 60.0), N=N, w_n=w_n)
    pairs = mannwhitneyu(np.repeat(N, w_n), np.repeat(U, w_u)).statistic / (w_n.sum() * w_u.sum())
    assert _share_above(sample) == pytest.approx(pairs, abs=1e-12)


def two_kinds(seed, chances):
    """Two kinds of positives far apart, with their own label frequencies, and negatives between them."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(3, size=1500, p=[0.15, 0.15, 0.7])
    X = rng.normal(size=(1500, 2)) + np.array([[-6.0, 0.0], [6.0, 0.0], [0.0, 0.0]])[kind]
    y = (rng.random(1500) < np.array([*chances, 0.0])[kind]).astype(int)
    return X, y, float(np.mean(kind < 2))


def test_groups_with_their_own_label_frequencies_are_added_up():
    X, y, true = two_kinds(0, (0.8, 0.2))
    grouped = Grouped(scenario="censored", repeats=3, n_bootstrap=5).fit(X, y)
    plain = Consensus(scenario="censored", repeats=3, n_bootstrap=5).fit(X, y)
    assert len(grouped.diagnostics_["groups"]) == 2
    assert abs(grouped.prior_ - true) < 0.04
    assert plain.prior_ < true - 0.05  # the group that is labelled more often hides the other
    assert grouped.interval_[0] <= true <= grouped.interval_[1]


def test_one_group_gives_the_default_estimate():
    X, y, _ = two_kinds(1, (0.5, 0.5))
    one = Grouped(most_groups=1, repeats=2, n_bootstrap=0).fit(X, y)
    assert one.prior_ == pytest.approx(Consensus(repeats=2, n_bootstrap=0).fit(X, y).prior_)


def by_the_score(seed, prior, strength):
    """Two classes in five columns; a label is the likelier the farther a positive is from the negatives."""
    rng = np.random.default_rng(seed)
    truth = rng.random(1000) < prior
    X = rng.normal(size=(1000, 5))
    X[truth] += 1.4
    chance = 1 / (1 + np.exp(-strength * (X.sum(axis=1) - 8.0)))
    return X, (truth & (rng.random(1000) < chance)).astype(int), truth.mean()


def test_rows_that_look_positive_are_counted_where_obvious_positives_are_labelled():
    for seed in range(3):
        X, y, true = by_the_score(seed, 0.35, 0.8)
        plain = Consensus(scenario="censored", repeats=3, n_bootstrap=5).fit(X, y)
        model = ClassStructure(scenario="censored", repeats=3, n_bootstrap=5).fit(X, y)
        assert plain.prior_ < true - 0.05
        assert abs(model.prior_ - true) < abs(plain.prior_ - true)
        assert plain.interval_[1] < model.interval_[1]
        assert model.interval_[0] < true < model.interval_[1]
        share = model.diagnostics_["looks_positive"]
        assert model.prior_ == pytest.approx(y.mean() + (1 - y.mean()) * share)


def test_rows_that_look_positive_are_the_positives_where_labels_are_at_random():
    X, y, true = by_the_score(0, 0.3, 0.0)
    model = ClassStructure(repeats=3, n_bootstrap=5, scenario="censored").fit(X, y)
    assert abs(model.prior_ - true) < 0.1
    assert model.interval_[0] < true < model.interval_[1]


def test_a_weight_counts_as_as_many_rows():
    X, y, _ = by_the_score(3, 0.5, 1.0)
    weight = np.where((y == 0) & (X.sum(axis=1) < 3.0), 4.0, 1.0)
    rows, fold = np.repeat(np.arange(len(y)), weight.astype(int)), np.arange(len(y)) % 5
    keys = np.arange(len(y), dtype=np.uint64)
    weighted = looks_positive(X, y == 1, weight, keys, fold, 60, 0)
    repeated = looks_positive(X[rows], y[rows] == 1, np.ones(len(rows)), keys[rows], fold[rows], 60, 0)
    plain = looks_positive(X, y == 1, np.ones(len(y)), keys, fold, 60, 0)
    mean = np.average(weighted[y == 0], weights=weight[y == 0])
    assert mean == pytest.approx(repeated[y[rows] == 0].mean(), abs=0.01)
    assert np.average(plain[y == 0], weights=weight[y == 0]) < mean - 0.01  # without weights in the fit


def test_class_structure_is_at_least_the_default_where_most_rows_look_positive():
    X, y, true = by_the_score(0, 0.85, 0.0)
    plain, model = (
        cls(repeats=3, n_bootstrap=5, scenario="censored").fit(X, y) for cls in (Consensus, ClassStructure)
    )
    assert model.diagnostics_["looks_positive"] > 0.4
    assert model.prior_ >= plain.prior_ - 1e-9
    assert abs(model.prior_ - true) < 0.1


def test_a_table_that_says_nothing_does_not_identify_the_prior():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), np.arange(300) < 60
    nothing = Consensus(n_bootstrap=5).fit(X, y)
    assert not nothing.identified_
    assert width(nothing) > 0.5
    X, truth, rng = overlapping(0, distance=6.0)
    apart = Consensus(scenario="censored", repeats=3, n_bootstrap=5).fit(X, labelled(truth, rng, 0.3))
    assert apart.identified_
    assert apart.diagnostics_["separation"] > 0.8


def test_the_interval_reaches_the_truth_where_every_region_holds_negatives():
    """At most half of the rows of any region are positive, so that no method can find the prior of 0.1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1))
    truth = rng.random(2000) < np.where(X[:, 0] > 1.0, 0.5, 0.02)
    model = Consensus(scenario="censored", repeats=3, n_bootstrap=5).fit(X, labelled(truth, rng, 0.5))
    assert model.interval_[0] <= truth.mean() < model.prior_


def test_groups_are_found_in_one_sparse_column():
    X, y, _ = two_kinds(0, (0.6, 0.2))
    dense = X[:, :1]
    found, other = (Grouped(repeats=2, n_bootstrap=0).fit(rows, y) for rows in (sparse.csr_matrix(dense), dense))
    assert len(found.diagnostics_["groups"]) == len(other.diagnostics_["groups"]) > 1
    assert found.prior_ == pytest.approx(other.prior_, abs=0.05)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_columns_of_tiny_values_count_as_others_do(kind):
    X, truth, rng = overlapping(3, n=400, distance=3.0)
    y = labelled(truth, rng, 0.5)
    for power in (-60, -1000):
        tiny = Consensus(repeats=1, n_bootstrap=0).fit(kind(np.ldexp(X, power)), y)
        assert tiny.prior_ == pytest.approx(Consensus(repeats=1, n_bootstrap=0).fit(kind(X), y).prior_)

"""The share of labels at the top of a ranking: level, power, ties, and the largest prior by inversion."""

import numpy as np
import pytest

from usmo.priors.label_share import LabelShares


def ranked(labels, seed=0):
    """Rows in the order of their scores, highest first."""
    labels = np.asarray(labels, dtype=bool)
    return LabelShares(-np.arange(len(labels), dtype=float), labels, np.random.default_rng(seed))


def labels_of_a_mixture(rng, n_u=400, share=0.3, frequency=0.4):
    """Positives first, each labelled with the same probability, then the negatives: the worst case of the test."""
    hidden = round(n_u * share)
    positives = round(hidden / (1 - frequency))
    labels = np.concatenate([np.arange(positives) < positives - hidden, np.zeros(n_u - hidden, dtype=bool)])
    labels[:positives] = rng.permutation(labels[:positives])
    return labels, hidden / n_u


def test_the_level_holds_in_the_worst_case_and_for_overlapping_classes():
    rng = np.random.default_rng(0)
    sharp, overlapping = 0, 0
    for seed in range(200):
        labels, share = labels_of_a_mixture(rng)
        sharp += ranked(labels, seed).excess(share).p_value < 0.05
        shuffled = labels[np.argsort(np.arange(len(labels)) + 150 * rng.random(len(labels)))]
        overlapping += ranked(shuffled, seed).excess(share).p_value < 0.05
    assert sharp <= 20  # Binomial(200, 0.05) exceeds 20 with probability 0.001
    assert overlapping <= sharp + 5


def test_labels_at_the_top_only_are_rejected_and_bound_the_share():
    labels = np.arange(500) < 60  # of 150 positives the 60 most obvious
    shares = ranked(labels)
    found = shares.excess(90 / 440)
    assert found.p_value == 0.001
    assert found.share == 1.0
    assert found.allowed == pytest.approx(60 / 150)
    assert shares.largest_share(0.05) < 0.02


def test_the_largest_share_is_the_inverse_of_the_test():
    rng = np.random.default_rng(1)
    labels, share = labels_of_a_mixture(rng)
    shares = ranked(labels)
    largest = shares.largest_share(0.05)
    assert share < largest < 1.0
    assert shares.excess(largest - 1e-3).p_value >= 0.05
    assert shares.excess(largest + 1e-3).p_value < 0.05


def test_labels_without_any_order_allow_every_share():
    labels = np.tile([True, False, False, False], 100)
    assert ranked(labels).largest_share(0.05) == 1.0


def test_statistic_by_brute_force():
    rng = np.random.default_rng(2)
    score, labels = rng.integers(0, 30, 120).astype(float), rng.random(120) < 0.3
    shares = LabelShares(score, labels, rng)
    found = shares.excess(0.5)
    c = labels.sum() / (labels.sum() + 0.5 * (~labels).sum())
    at_least = [score >= t for t in np.unique(score)[::-1]]
    k = [(m.sum(), labels[m].sum()) for m in at_least]
    last = next(i for i, (_, s) in enumerate(k) if s >= 0.7 * labels.sum())
    k = [(n, s) for n, s in k[: last + 1] if n >= 8]
    excesses = [(s - c * n) / np.sqrt(c * (1 - c) * n) for n, s in k]
    n, s = k[int(np.argmax(excesses))]
    assert found.share == pytest.approx(s / n)
    assert found.allowed == pytest.approx(c)
    greater = 0
    for drawn in shares._drawn:
        values = [(np.count_nonzero(drawn[:n] < c) - c * n) / np.sqrt(c * (1 - c) * n) for n, _ in k]
        greater += max(values) >= max(excesses) - 1e-9
    assert found.p_value == pytest.approx((1 + greater) / (1 + len(shares._drawn)))


def test_equal_scores_have_no_order():
    labels = np.arange(60) < 20
    alike = LabelShares(np.zeros(60), labels, np.random.default_rng(0))
    assert alike.largest_share(0.05) == 1.0
    two = np.repeat([1.0, 0.0], 30)
    assert LabelShares(two, labels, np.random.default_rng(0)).excess(0.5).share == pytest.approx(20 / 30)

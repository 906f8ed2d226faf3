"""Weights: integers are numbers of rows, others a scale that has no meaning."""

import numpy as np
import pytest

from usmo.core.weights import are_counts, effective_rows, effective_size, masses, row_count, scaled


def test_numbers_of_rows_are_integers_whose_sum_is_exact():
    assert are_counts(np.array([0.0, 1.0, 3.0]))
    assert not are_counts(np.array([0.5, 1.0]))
    assert not are_counts(np.array([1e200, 1e200 + 1e190]))


def test_sizes():
    assert row_count(np.array([2.0, 3.0])) == 5
    assert row_count(np.array([0.2, 0.0, 0.3])) == 2
    assert effective_rows(np.full(7, 1e-200)) == pytest.approx(7)
    assert effective_size(np.array([2.0, 2.0]), counts=True) == 4
    assert effective_size(np.array([2.0, 1.0]), counts=False) == pytest.approx(9 / 5)


def test_masses_sum_to_the_size_and_equal_propensities_change_nothing():
    counts, scale = np.array([1.0, 3.0, 2.0]), np.array([0.5, 1.5, 1.0])
    e = np.array([0.5, 0.25, 0.1])
    np.testing.assert_allclose(masses(counts), counts)
    assert masses(scale).sum() == pytest.approx(effective_rows(scale))
    for same in (0.1, 0.1000001):
        np.testing.assert_allclose(masses(counts, np.full(3, same)), counts)
    repeated = masses(np.ones(6), np.repeat(e, counts.astype(int)))
    together = masses(counts, e)
    np.testing.assert_allclose(np.bincount([0, 1, 1, 1, 2, 2], weights=repeated), together)
    np.testing.assert_allclose(masses(scale, e).sum(), effective_rows(scale / e))


def test_weights_at_the_limits_of_floating_point():
    weight = np.array([1e300, 1e-320, 0.5, 0.0])
    assert np.isfinite(scaled(weight)).all()
    assert ((scaled(weight) > 0) == (weight > 0)).all()

"""Weights: integers are numbers of rows, others a scale that has no meaning."""

import numpy as np
import pytest

from usmo import LinearPUSVC
from usmo.core.weights import are_counts, effective_rows, effective_size, masses, row_count, scaled
from usmo.metrics import prior_threshold, pu_roc_auc, risk_with_error
from usmo.priors import ESTIMATORS


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
    assert prior_threshold(np.arange(5.0), 0.4, sample_weight=np.full(5, 1e308)) == 2.5


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    positive = rng.random(300) < 0.4
    X = rng.normal(size=(300, 3)) + 2.0 * positive[:, None] * [1, 1, 0]
    y = np.where(positive & (rng.random(300) < 0.4), 1, 0)
    return X, y, rng.random(300) + 0.1


SCALES = (1e-3, 1e-200, 1e200)


@pytest.mark.parametrize("name", ["consensus", "best-bin", "dedpul", "elkan-noto", "tice"])
def test_a_prior_estimate_depends_on_ratios_of_weights_only(rows, name):
    X, y, weight = rows
    expected = ESTIMATORS[name]().fit(X, y, weight)
    for scale in SCALES:
        found = ESTIMATORS[name]().fit(X, y, scale * weight)
        assert found.prior_ == pytest.approx(expected.prior_, abs=1e-6)
        assert found.interval_ == pytest.approx(expected.interval_, abs=1e-6)
    plain = ESTIMATORS[name]().fit(X, y)
    assert ESTIMATORS[name]().fit(X, y, np.full(300, 1 / 300)).prior_ == pytest.approx(plain.prior_, abs=1e-9)


def test_labelled_rows_of_tiny_weight_count_as_much_as_others(rows):
    X, y, _ = rows
    plain = ESTIMATORS["consensus"]().fit(X, y).prior_
    assert ESTIMATORS["consensus"]().fit(X, y, np.where(y == 1, 1e-300, 0.5)).prior_ == pytest.approx(plain)


def test_the_chosen_lambda_and_risks_depend_on_ratios_of_weights_only(rows):
    X, y, weight = rows
    expected = LinearPUSVC(0.3, lam="cv").fit(X, y, weight)
    f = expected.decision_function(X)
    risk = risk_with_error(y, f, prior=0.3, sample_weight=weight)
    for scale in SCALES:
        assert LinearPUSVC(0.3, lam="cv").fit(X, y, scale * weight).lam_ == expected.lam_
        assert risk_with_error(y, f, prior=0.3, sample_weight=scale * weight) == pytest.approx(risk)


def test_weights_of_the_area_with_labelled_negatives_are_numbers_of_rows(rows):
    X, y, _ = rows
    rng = np.random.default_rng(1)
    f, weight = X[:, 0].round(1), rng.integers(1, 4, 300)
    y = np.where((y == 0) & (X[:, 1] < -1.0), -1, y)
    row = np.repeat(np.arange(300), weight)
    one = pu_roc_auc(y, f, prior=0.3, sample_weight=weight)
    assert one == pytest.approx(pu_roc_auc(y[row], f[row], prior=0.3))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"eta": 5.0}, "eta must be a number from 0 to 1"),
        ({"propensity": 0.0}, r"must lie in \(0, 1\]"),
        ({"propensity": np.ones(3)}, "one number per row"),
    ],
)
def test_risks_check_eta_and_propensity(rows, bad, message):
    X, y, _ = rows
    with pytest.raises(ValueError, match=message):
        risk_with_error(y, X[:, 0], prior=0.3, scenario="censored", **bad)
    number = risk_with_error(y, X[:, 0], prior=0.3, scenario="censored", propensity=0.4)
    assert number == risk_with_error(y, X[:, 0], prior=0.3, scenario="censored", propensity=np.full(300, 0.4))

"""Weights of the measures: a scale has no meaning, and integers are numbers of rows."""

import numpy as np
import pytest

from tests.tables import WEIGHT_SCALES, weighted_rows
from usmo.metrics import prior_threshold, pu_roc_auc, risk_with_error


@pytest.fixture(scope="module")
def rows():
    return weighted_rows()


def test_a_threshold_at_the_limit_of_floating_point():
    assert prior_threshold(np.arange(5.0), 0.4, sample_weight=np.full(5, 1e308)) == 2.5


def test_risks_depend_on_ratios_of_weights_only(rows):
    X, y, weight = rows
    risk = risk_with_error(y, X[:, 0], prior=0.3, sample_weight=weight)
    for scale in WEIGHT_SCALES:
        assert risk_with_error(y, X[:, 0], prior=0.3, sample_weight=scale * weight) == pytest.approx(risk)


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

"""Weights that are no numbers of rows: an estimate depends on their ratios only."""

import numpy as np
import pytest

from tests.tables import WEIGHT_SCALES, weighted_rows
from usmo.priors import ESTIMATORS


@pytest.fixture(scope="module")
def rows():
    return weighted_rows()


@pytest.mark.parametrize("name", ["consensus", "best-bin", "dedpul", "elkan-noto", "tice"])
def test_a_prior_estimate_depends_on_ratios_of_weights_only(rows, name):
    X, y, weight = rows
    expected = ESTIMATORS[name]().fit(X, y, weight)
    for scale in WEIGHT_SCALES:
        found = ESTIMATORS[name]().fit(X, y, scale * weight)
        assert found.prior_ == pytest.approx(expected.prior_, abs=1e-6)
        assert found.interval_ == pytest.approx(expected.interval_, abs=1e-6)
    plain = ESTIMATORS[name]().fit(X, y)
    assert ESTIMATORS[name]().fit(X, y, np.full(300, 1 / 300)).prior_ == pytest.approx(plain.prior_, abs=1e-9)


def test_labelled_rows_of_tiny_weight_count_as_much_as_others(rows):
    X, y, _ = rows
    plain = ESTIMATORS["consensus"]().fit(X, y).prior_
    assert ESTIMATORS["consensus"]().fit(X, y, np.where(y == 1, 1e-300, 0.5)).prior_ == pytest.approx(plain)

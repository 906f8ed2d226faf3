"""Compiled loops over dense tables give what NumPy gives."""

import numpy as np
import pytest

from usmo.kernels.dense_loops import LARGE, suits_loops
from usmo.kernels.row_blocks import ArrayFeatures, Blocks

ROWS, COLUMNS = 2100, 500


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shift", [None, 3.0])
def test_products_sums_and_norms_of_a_large_array_are_those_of_numpy(dtype, shift):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS)).astype(dtype)
    centre = None if shift is None else np.full(COLUMNS, shift) + rng.normal(size=COLUMNS)
    w, alpha = rng.normal(size=COLUMNS), np.where(rng.random(ROWS) < 0.3, 0.0, rng.normal(size=ROWS))
    expected = X.astype(np.float64) - (0.0 if centre is None else centre)
    blocks = Blocks(ArrayFeatures(X), centre=centre)
    assert suits_loops(X)
    np.testing.assert_allclose(blocks.dot(w), expected @ w, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(blocks.weighted_sum(alpha), alpha @ expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(blocks.squared_norms(), (expected**2).sum(axis=1), rtol=1e-12)


def test_loops_are_left_out_where_they_would_be_compiled_again_or_cost_more_than_they_save():
    X = np.zeros((ROWS, COLUMNS))
    frozen = X.copy()
    frozen.flags.writeable = False
    assert not suits_loops(frozen)
    assert not suits_loops(X.T)
    assert not suits_loops(X[: LARGE // COLUMNS])
    assert not suits_loops(None)

"""Fused tiles of the rbf kernel against NumPy's formulas."""

import numpy as np
import pytest

from tests.oracles import rbf
from usmo.kernels.tiles import add_rows, rbf_block, rbf_sums


def squares(A):
    return (A * A).sum(axis=1)


@pytest.mark.parametrize("shape", [(1, 5000), (3, 70), (200, 300), (130, 1)])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 2e-14), (np.float32, 4e-6)])
def test_blocks_are_accurate(shape, dtype, tolerance):
    rng = np.random.default_rng(0)
    A, B = (rng.normal(size=(k, 7)).astype(dtype) for k in shape)
    block = rbf_block(A, B, squares(A), squares(B), 0.4)
    assert block.dtype == dtype
    exact = rbf(A.astype(float), B.astype(float), 0.4)
    np.testing.assert_allclose(block, exact, rtol=tolerance, atol=tolerance)


def test_rows_go_to_their_slots():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(90, 3)), rng.normal(size=(5000, 3))
    slots, out = rng.permutation(100)[:90], np.full((100, 5000), np.nan)
    rbf_block(A, B, squares(A), squares(B), 0.4, out, slots)
    np.testing.assert_allclose(out[slots], rbf(A, B, 0.4), atol=2e-14)
    assert np.isnan(np.delete(out, slots, axis=0)).all()


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 1e-6)])
@pytest.mark.parametrize(("rows", "others", "columns"), [(1, 1, 1), (1300, 700, 1), (600, 1100, 3)])
def test_sums_over_tiles_are_those_of_the_block(dtype, tolerance, rows, others, columns):
    rng = np.random.default_rng(0)
    X, S = (rng.normal(size=(k, 4)).astype(dtype) for k in (rows, others))
    weights = rng.normal(size=(others, columns))
    sums = rbf_sums(lambda part: (X[part], squares(X[part])), rows, S, squares(S), 0.3, weights)
    expected = rbf(X.astype(float), S.astype(float), 0.3) @ weights
    np.testing.assert_allclose(sums, expected, atol=tolerance * np.abs(weights).sum())


def test_exponential_is_accurate_to_rounding_over_its_range():
    """Points on a line, so that distances are exact. A distant point gives a tiny value."""
    x = np.sqrt(np.linspace(0, 700, 4000))[:, None]
    zero = np.zeros((1, 1))
    block = rbf_block(zero, x, np.zeros(1), squares(x), 1.0)[0]
    np.testing.assert_allclose(block, np.exp(-squares(x)), rtol=3e-15)
    far = np.array([[1e6]])
    assert rbf_block(zero, far, np.zeros(1), squares(far), 1.0)[0, 0] < 1e-300


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("count", "lines"), [(13, None), (40, None), (37, 2), (3, 1)])
def test_rows_are_added_in_float64(dtype, count, lines):
    rng = np.random.default_rng(0)
    shape = () if lines is None else (lines,)
    rows, sums = rng.normal(size=(40, 9000)).astype(dtype), rng.normal(size=(*shape, 9000))
    slots, weights = rng.permutation(40)[:count], rng.normal(size=(*shape, count))
    expected = sums + weights @ rows[slots].astype(float)
    add_rows(sums, rows, slots, weights)
    np.testing.assert_allclose(sums, expected, atol=1e-13)

"""Float32 products with bounds: no value is farther from the exact one than its bound says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import rbf
from usmo.kernels.bounded import EXP_ERROR, BoundedProducts
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.tiles import rbf_block


def exact(X, gamma, rows, members, alpha):
    """Kα by differences of coordinates, in extended precision."""
    A, B = X[rows].astype(np.longdouble), X[members].astype(np.longdouble)
    out = np.zeros(len(rows), dtype=np.longdouble)
    for k, a in enumerate(A):
        out[k] = np.exp(-gamma * ((a - B) ** 2).sum(axis=1)) @ alpha.astype(np.longdouble)
    return out.astype(np.float64)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6), d=st.sampled_from([1, 2, 10, 60, 300]), spread=st.sampled_from([0.01, 1.0, 30.0]),
    shift=st.sampled_from([0.0, 100.0]), same_sign=st.booleans(),
)  # fmt: skip
def test_error_stays_within_its_bound(seed, d, spread, shift, same_sign):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1300, d)) * rng.lognormal(size=d) + shift
    alpha = rng.lognormal(sigma=3.0, size=1100) * (1.0 if same_sign else rng.choice([-1.0, 1.0], 1100))
    gamma = spread / d
    members, others = np.arange(1100), np.arange(1100, 1300)
    products = BoundedProducts(KernelMatrix(X, Kernel("rbf", gamma)), members, others, alpha)
    inner, outer = products.all()
    some = rng.permutation(1300)[:60]
    for values, error, rows in (
        (inner.values, inner.error, members), (outer.values, outer.error, others), (*products.at(some), some),
    ):  # fmt: skip
        checked = rng.permutation(len(rows))[:40]
        truth = exact(X, gamma, rows[checked], members, alpha)
        assert (np.abs(values[checked] - truth) <= error[checked]).all()


def test_bound_is_of_the_size_of_float32_rounding():
    rng = np.random.default_rng(0)
    X, alpha = rng.normal(size=(2000, 10)), rng.normal(size=2000)
    products = BoundedProducts(KernelMatrix(X, Kernel("rbf", 0.05)), np.arange(2000), np.arange(0), alpha)
    inner, _ = products.all()
    size = rbf(X, X, 0.05) @ np.abs(alpha)
    assert (inner.error < 1e-4 * size).all()


def test_exponential_has_the_relative_error_that_the_bound_uses():
    t = np.linspace(0.0, 86.9, 400_001, dtype=np.float32)
    zero = np.zeros((1, 1), dtype=np.float32)
    # x = 0 and y² given directly: t is exact
    block = rbf_block(zero, np.zeros((len(t), 1), dtype=np.float32), np.zeros(1, np.float32), t, 1.0)[0]
    truth = np.exp(-t.astype(np.float64))
    assert (np.abs(block - truth) / truth).max() < 0.75 * EXP_ERROR


@pytest.mark.parametrize("kernel", [Kernel("linear"), Kernel("poly", degree=2)])
def test_kernels_without_a_gaussian_part_are_refused(kernel):
    matrix = KernelMatrix(np.eye(4), kernel)
    assert not BoundedProducts.possible(matrix)
    with pytest.raises(ValueError, match="need a Gaussian part"):
        BoundedProducts(matrix, np.arange(2), np.arange(2, 4), np.ones(2))


def test_a_row_far_out_does_not_widen_the_bounds_of_the_others():
    rng = np.random.default_rng(0)
    X, alpha = rng.normal(size=(1500, 10)), rng.normal(size=1500)
    members, none = np.arange(1500), np.arange(0)
    near, _ = BoundedProducts(KernelMatrix(X, Kernel("rbf", 0.05)), members, none, alpha).all()
    X[0] += 300.0  # the centre moves by 0.2
    far, _ = BoundedProducts(KernelMatrix(X, Kernel("rbf", 0.05)), members, none, alpha).all()
    assert (far.error[1:] < 1.2 * near.error[1:]).all()

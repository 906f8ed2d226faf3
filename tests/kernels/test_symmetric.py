"""Products of a kernel matrix with vectors over its own rows: right, every entry once, in parts that add up."""

import numpy as np
import pytest

from tests.oracles import rbf
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.symmetric import TERMS, panels, symmetric_entries


def table(n, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 2e-6)])
@pytest.mark.parametrize(("members", "others", "columns"), [(1024, 0, 1), (1500, 300, 2), (2049, 70, 1)])
def test_paired_product_is_that_of_the_plain_matrix(dtype, tolerance, members, others, columns):
    X, v = table(members + others), np.random.default_rng(1).normal(size=(members, columns))
    order = np.random.default_rng(2).permutation(members + others)
    S, R = order[:members], order[members:]
    inner, outer = KernelMatrix(X, Kernel("rbf", 0.3), dtype).paired_product(S, R, v)
    atol = tolerance * np.abs(v).sum()
    np.testing.assert_allclose(inner, rbf(X[S], X[S], 0.3) @ v, atol=atol)
    np.testing.assert_allclose(outer, rbf(X[R], X[S], 0.3) @ v, atol=atol)


def test_entries_between_two_members_are_computed_once():
    matrix = KernelMatrix(table(8000), Kernel("rbf", 0.3), np.float32)
    matrix.paired_product(np.arange(7000), np.arange(7000, 8000), np.ones(7000))
    once = 7000 * 7001 / 2 + 1000 * 7000
    # the square blocks on the diagonal are computed whole
    assert once <= matrix.entries <= once + 7000 * TERMS / 2 + TERMS**2


def test_counted_entries_add_up_over_panels(monkeypatch):
    monkeypatch.setattr("usmo.kernels.symmetric._PANEL", 2 * TERMS)
    parts = sum(symmetric_entries(panel, 5000) for panel in panels(5000))
    assert parts == symmetric_entries(slice(0, 5000), 5000)


def test_product_continues_after_the_panels_already_done(monkeypatch):
    monkeypatch.setattr("usmo.kernels.symmetric._PANEL", 2 * TERMS)
    X, v = table(5000), np.random.default_rng(1).normal(size=4500)
    matrix = KernelMatrix(X, Kernel("rbf", 0.3))
    parts = list(matrix.product_panels(np.arange(4500), np.arange(4500, 5000), v))
    rest = list(matrix.product_panels(np.arange(4500), np.arange(4500, 5000), v, done=2))
    assert len(parts) == 5
    assert len(rest) == 3
    for (inner, outer), (again, others) in zip(parts[2:], rest, strict=True):
        np.testing.assert_allclose(inner, again, atol=1e-10)
        np.testing.assert_allclose(outer, others, atol=1e-10)

"""Sums over kept kernel rows: no value is farther from the exact one than its bound says."""

import numpy as np
import pytest

from tests.oracles import rbf
from usmo.kernels.kept import KeptRows
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix


def kept_rows(X, gamma, kept):
    """The rows ``kept`` of the kernel matrix of X, in the slots 0, 1, …"""
    matrix = KernelMatrix(X, Kernel("rbf", gamma)).restrict(np.arange(len(X)), np.float32)
    values, slot = np.empty((len(kept), len(X)), np.float32), np.full(len(X), -1)
    matrix.write_rows(matrix.rows_at(kept), values, np.arange(len(kept)))
    slot[kept] = np.arange(len(kept))
    return KeptRows(matrix, values, slot)


@pytest.mark.parametrize("count", [700, 400, 0])
@pytest.mark.parametrize(("d", "shift", "dtype"), [(70, 0.0, np.float64), (300, 100.0, np.float32)])
def test_error_stays_within_its_bound_whichever_rows_are_kept(count, d, shift, dtype):
    rng = np.random.default_rng(count + d)
    X = (rng.normal(size=(1200, d)) * rng.lognormal(size=d) + shift).astype(dtype)
    members, gamma = np.sort(rng.permutation(1200)[:700]), 0.2 / d
    alpha = rng.lognormal(sigma=3.0, size=700) * rng.choice([-1.0, 1.0], 700)
    rows = kept_rows(X, gamma, members[:count])
    values, error = rows.sums(members, alpha)
    assert rows.missing(members) == 700 - count
    truth = rbf(X.astype(float), X[members].astype(float), gamma) @ alpha
    assert (np.abs(values - truth) <= error).all()
    assert (error < 1e-3 * (rbf(X.astype(float), X[members].astype(float), gamma) @ np.abs(alpha))).all()

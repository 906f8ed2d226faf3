"""The interior point: its start and its normal equations against the formulas."""

import numpy as np
import pytest

from usmo.core.shards import LocalShards
from usmo.kernels.row_blocks import ArrayFeatures, Blocks
from usmo.solvers import interior
from usmo.solvers.interior_rows import InteriorRows
from usmo.solvers.interior_shards import InteriorShard


def test_start_lies_on_the_central_path():
    """Every product is μ, and y - z is f + 1 and f - 1."""
    rng = np.random.default_rng(0)
    X, h, mu = rng.normal(size=(50, 3)), rng.random(50) + 0.1, 1e-3
    w, beta = 30.0 * rng.normal(size=3), 0.5
    shard = InteriorShard(Blocks(ArrayFeatures(X)), 2.0 * h)
    shard.begin(w, beta, mu)
    a, b, za, ya, zb, yb = shard.S
    f = X @ w + beta
    for side, z, y, shift in ((a, za, ya, 1.0), (b, zb, yb, -1.0)):
        assert ((side > 0) & (side < h)).all()
        np.testing.assert_allclose(side * z, mu, rtol=1e-9)
        np.testing.assert_allclose(y - z, f + shift, rtol=1e-9, atol=1e-9)


def test_normal_equations_are_the_sums_of_the_formula():
    rng = np.random.default_rng(0)
    X, h = rng.normal(size=(700, 4)), rng.random(700) + 0.1
    w, centre = rng.normal(size=4), X.mean(axis=0)
    shard = InteriorShard(Blocks(ArrayFeatures(X), centre=centre), 2.0 * h)
    equations = InteriorRows(LocalShards(shard)).begin(w, 0.2, 1e-2)
    system, right, residual = interior._normal_equations(equations, rng.normal(size=4), w, 30.0)
    a, b, za, ya, zb, yb = shard.S
    E = 1 / (za / a + ya / (h - a)) + 1 / (zb / b + yb / (h - b))
    Z = np.c_[X - centre, np.ones(700)]
    np.testing.assert_allclose(system.M, Z.T @ (E[:, None] * Z) + np.diag([1, 1, 1, 1, 0]), rtol=1e-10)
    assert equations.products == pytest.approx(4 * 700 * 1e-2, rel=1e-9)
    assert residual[-1] == pytest.approx(30.0 - (a + b).sum())
    np.testing.assert_allclose(system.M @ system.solve(right), right, atol=1e-9)

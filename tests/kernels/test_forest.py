"""Trees as arrays, leaf tiles and the matrix of common leaves, against plain loops."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from tests.oracles import plain_leaves, rbf
from usmo.kernels import forest as module
from usmo.kernels.forest import Forest, Kind, grow
from usmo.kernels.kernel import Kernel
from usmo.kernels.leaf_matrix import LeafMatrix, kernel_matrix
from usmo.kernels.leaf_tiles import common_leaves, leaf_sums, sums_over_leaves


def two_clouds(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, d))
    X[:n] += 1.0
    return X, (Kind(np.arange(n), np.ones(n)), Kind(np.arange(n, 2 * n), np.ones(n)))


@pytest.fixture(scope="module")
def grown():
    X, kinds = two_clouds()
    return X, grow(X, kinds, 21, 0)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 3, 5000), (300, 70, 130), (16, 130, 2049)])
def test_tiles_count_common_leaves(dtype, shape):
    trees, rows, others = shape
    rng = np.random.default_rng(0)
    A, B = (rng.integers(0, 5, (trees, k)).astype(dtype) for k in (rows, others))
    exact = np.array([(A[:, [i]] == B).sum(axis=0) for i in range(rows)])
    slots, out = rng.permutation(rows + 3)[:rows], np.full((rows + 3, others), np.nan)
    common_leaves(A, B, 1.0, out, slots)
    np.testing.assert_array_equal(out[slots], exact)
    assert np.isnan(np.delete(out, slots, axis=0)).all()
    half = np.full((rows, others), 6.0, dtype=np.float32)
    common_leaves(A, B, 0.5, half, np.arange(rows), 0.5)
    np.testing.assert_array_equal(half, 3.0 + 0.5 * exact)


def test_counts_of_many_trees_do_not_overflow():
    leaves = np.zeros((1000, 3), dtype=np.uint8)
    out = np.empty((3, 3))
    common_leaves(leaves, leaves, 1.0, out, np.arange(3))
    assert (out == 1000).all()


def test_sums_over_leaves_are_products_with_counts():
    rng = np.random.default_rng(0)
    A, B = (rng.integers(0, 9, (40, k)).astype(np.uint8) for k in (5000, 300))
    v = rng.normal(size=300)
    exact = np.array([(A[:, [i]] == B).sum(axis=0) @ v for i in range(50)])
    np.testing.assert_allclose(sums_over_leaves(A, leaf_sums(B, v, 9))[:50], exact, atol=1e-11)


def test_arrays_are_those_of_the_trees(grown):
    X, forest = grown
    expected = plain_leaves(forest, X)
    leaves = forest.leaves(X)
    assert leaves.dtype == np.uint8
    for own, nodes in zip(leaves, expected, strict=True):  # the same partition of the rows, numbered from 0
        assert len(set(zip(own.tolist(), nodes.tolist(), strict=True))) == len(set(nodes)) == len(set(own))
    np.testing.assert_array_equal(forest.numbers[expected], leaves)
    np.testing.assert_array_equal(forest.leaves(sparse.csr_array(X)), leaves)
    alpha = np.random.default_rng(0).normal(size=len(X))
    values = forest.leaf_values(leaves, alpha, 1.0 / forest.n_trees)
    shares = (leaves[:, :, None] == leaves[:, None, :]).mean(axis=0)
    np.testing.assert_allclose(forest.evaluate(X, values), shares @ alpha, atol=1e-12)


def test_a_single_tree_is_that_of_scikit_learn():
    X, _kinds = two_clouds()
    tree = DecisionTreeClassifier(random_state=0).fit(X, np.repeat([1, 0], 60)).tree_
    forest = module._joined([tree, tree], np.zeros(4), np.ones(4))
    nodes = tree.apply(X.astype(np.float32))
    np.testing.assert_array_equal(plain_leaves(forest, X), [nodes, nodes + tree.node_count])


def test_many_leaves_take_16_bits(monkeypatch):
    monkeypatch.setattr(module, "_LEAST_DRAW", 2000)
    X, kinds = two_clouds(n=3000, d=2)
    X = np.random.default_rng(1).normal(size=X.shape)  # nothing to tell apart: a leaf for nearly every row
    forest = grow(X, kinds, 3, 0)
    leaves = forest.leaves(X[:50])
    assert forest.most_leaves > 256
    assert leaves.dtype == np.uint16
    np.testing.assert_array_equal(leaves, forest.numbers[plain_leaves(forest, X[:50])])


@pytest.mark.parametrize("name", ["forest", "forest+rbf"])
def test_matrix_is_that_of_the_formula(grown, name):
    X, forest = grown
    kernel = Kernel(name, gamma=0.2)
    matrix = kernel_matrix(forest.table(X, columns=name == "forest+rbf"), kernel)
    nodes = plain_leaves(forest, X)
    K = (nodes[:, :, None] == nodes[:, None, :]).mean(axis=0)
    if name == "forest+rbf":
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        K = 0.5 * K + 0.5 * rbf(Z, Z, 0.2)
    rows, cols = np.arange(0, 120, 3), np.arange(1, 120, 2)
    v = np.random.default_rng(0).normal(size=(len(cols), 2))
    np.testing.assert_allclose(matrix.block(rows, cols), K[np.ix_(rows, cols)], atol=1e-13)
    np.testing.assert_allclose(matrix.rows(rows, cols), K[np.ix_(rows, cols)], atol=1e-13)
    np.testing.assert_allclose(matrix.product(rows, cols, v), K[np.ix_(rows, cols)] @ v, atol=1e-12)
    np.testing.assert_allclose(matrix.diag(rows), np.diagonal(K)[rows], atol=1e-13)
    other = matrix.X[cols]
    np.testing.assert_allclose(matrix.cross_block(other), K[cols], atol=1e-13)
    np.testing.assert_allclose(matrix.cross_product(other, np.ones(120)), K[cols].sum(axis=1), atol=1e-11)
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 1e-6)):
        small = matrix.restrict(cols, dtype)
        sources, out = small.rows_at(np.arange(7)), np.empty((9, len(cols)), dtype=dtype)
        small.write_rows(sources, out, np.arange(2, 9))
        np.testing.assert_allclose(out[2:], K[np.ix_(cols[:7], cols)], atol=tolerance)
        product = small.product_with(sources, np.arange(7.0))
        np.testing.assert_allclose(product, K[np.ix_(cols, cols[:7])] @ np.arange(7.0), atol=50 * tolerance)
    assert matrix.is_psd(rows)
    assert isinstance(matrix, LeafMatrix)


def same(one: Forest, other: Forest) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in Forest.__dataclass_fields__)


def test_trees_depend_on_the_seed_alone(grown):
    X, forest = grown
    kinds = two_clouds()[1]
    with threadpool_limits(1):
        assert same(forest, grow(X, kinds, 21, 0))
    assert not same(forest, grow(X, kinds, 21, 1))
    assert same(grow(X, kinds, 2, 7), grow(np.asfortranarray(X), kinds, 2, 7))


def test_weights_are_numbers_of_equal_rows_in_any_order():
    X, kinds = two_clouds()
    mass = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    weighted = tuple(Kind(kind.rows, mass[kind.rows]) for kind in kinds)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(len(X)), mass.astype(int)))
    repeated = tuple(
        Kind(np.flatnonzero((order < 60) == first), np.ones(np.count_nonzero((order < 60) == first)))
        for first in (True, False)
    )
    one, other = grow(X, weighted, 5, 0), grow(X[order], repeated, 5, 0)
    np.testing.assert_array_equal(one.threshold, other.threshold)
    np.testing.assert_array_equal(one.feature, other.feature)
    np.testing.assert_allclose(one.scale, other.scale, rtol=1e-12)


def test_huge_numbers_and_constant_columns_are_accepted():
    X, kinds = two_clouds()
    X[:, 0], X[3, 1], X[70, 1] = 1e7 + 0.1, 1e300, -1e300
    forest = grow(X, kinds, 3, 0)
    assert forest.scale[0] == 0.0
    np.testing.assert_array_equal(forest.numbers[plain_leaves(forest, X[80:])], forest.leaves(X)[:, 80:])


@pytest.mark.parametrize("exponents", [(-27, -27, -27, -27), (0, -40, 5, -100)])
def test_the_scale_of_a_column_does_not_change_the_trees(exponents, monkeypatch):
    """scikit-learn's trees take values within 1e-7 for equal; powers of two leave every digit."""
    monkeypatch.setattr(module, "distinct_rows", lambda X, rows, weight, seed: (rows, weight[rows]))
    X, kinds = two_clouds()
    X = X.astype(np.float32).astype(np.float64)
    plain, scaled = (grow(table, kinds, 9, 0) for table in (X, np.ldexp(X, exponents)))
    np.testing.assert_array_equal(scaled.feature, plain.feature)
    np.testing.assert_array_equal(scaled.left, plain.left)
    shift = np.array(exponents)[plain.feature] * ~plain.is_leaf
    np.testing.assert_array_equal(scaled.threshold, np.ldexp(plain.threshold, shift))
    np.testing.assert_array_equal(plain_leaves(scaled, np.ldexp(X, exponents)), plain_leaves(plain, X))

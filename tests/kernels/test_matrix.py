"""Kernel blocks and products against the formulas, dense against sparse, and the count of entries."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from tests.oracles import rbf
from usmo.kernels import dense_loops, tables
from usmo.kernels import matrix as matrix_module
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix, row_sums, stacked

NAMES = ["linear", "rbf", "poly", "sigmoid"]
PARAMETERS = {"linear": {}, "rbf": {"gamma": 0.7}, "poly": {"gamma": 0.7, "degree": 2, "coef0": 1.0},
              "sigmoid": {"gamma": 0.7, "coef0": -0.5}}  # fmt: skip


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.6)


def kernel(name):
    return Kernel(name, **PARAMETERS[name])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_blocks_follow_the_formulas(name, container, X):
    expected = pairwise_kernels(X, metric=name, **PARAMETERS[name])
    matrix = KernelMatrix(container(X), kernel(name))
    rows, cols = np.array([3, 1, 7]), np.array([0, 1, 29, 5])
    np.testing.assert_allclose(matrix.block(rows, cols), expected[np.ix_(rows, cols)], atol=1e-13)
    np.testing.assert_allclose(matrix.rows(rows, np.arange(2, 30)), expected[rows, 2:], atol=1e-13)
    np.testing.assert_allclose(matrix.diag(rows), np.diag(expected)[rows], atol=1e-13)
    v = np.arange(4.0)
    np.testing.assert_allclose(matrix.product(rows, cols, v), expected[np.ix_(rows, cols)] @ v, atol=1e-12)
    np.testing.assert_allclose(
        matrix.cross_product(container(X[rows]), np.ones(30)), expected[rows].sum(1), atol=1e-12
    )


@pytest.mark.parametrize("name", NAMES)
def test_products_in_many_tiles_equal_one_block(name, X, monkeypatch):
    whole = KernelMatrix(X, kernel(name))
    expected = whole.block(np.arange(30), np.arange(30))
    monkeypatch.setattr(matrix_module, "_SIDE", 7)
    monkeypatch.setattr(tables, "TILE_BYTES", 8 * 7 * 7)
    matrix = KernelMatrix(X, kernel(name))
    v = np.arange(30.0)
    np.testing.assert_allclose(matrix.product(np.arange(30), np.arange(30), v), expected @ v, atol=1e-11)
    np.testing.assert_allclose(matrix.cross_product(X, v), expected @ v, atol=1e-11)
    np.testing.assert_allclose(matrix.rows(np.arange(5), np.arange(30)), expected[:5], atol=1e-12)


def test_every_entry_is_counted(X):
    matrix = KernelMatrix(X, kernel("rbf"))
    matrix.block(np.arange(3), np.arange(5))
    matrix.product(np.arange(10), np.arange(4), np.ones(4))
    assert matrix.entries == 15 + 40
    matrix.diag(np.arange(30))
    assert matrix.entries == 55  # the diagonal of an rbf kernel is not computed


def test_precomputed_and_callable_give_the_same_blocks(X):
    by_name = KernelMatrix(X, kernel("rbf"))
    full = by_name.block(np.arange(30), np.arange(30))
    stored = KernelMatrix(full, Kernel("precomputed"))
    called = KernelMatrix(X, Kernel(lambda A, B: rbf(A, B, 0.7)))
    rows = np.arange(0, 30, 2)
    for other in (stored, called):
        np.testing.assert_allclose(other.block(rows, rows), full[np.ix_(rows, rows)], atol=1e-13)
        np.testing.assert_allclose(other.diag(np.arange(30)), np.ones(30), atol=1e-13)


def test_float32_rows_are_multiplied_in_float64(X):
    matrix = KernelMatrix(X.astype(np.float32), kernel("rbf"))
    expected = rbf(X.astype(np.float32).astype(float), X.astype(np.float32).astype(float), 0.7)
    np.testing.assert_allclose(matrix.block(np.arange(30), np.arange(30)), expected, atol=1e-14)


@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_rbf_of_rows_far_from_the_origin_keeps_its_precision(X, offset):
    far = X + offset
    matrix = KernelMatrix(far, kernel("rbf"))
    expected = rbf(far, far, 0.7)
    np.testing.assert_allclose(matrix.block(np.arange(30), np.arange(30)), expected, atol=1e-12)
    np.testing.assert_allclose(matrix.cross_product(far[:3], np.ones(30)), expected[:3].sum(1), atol=1e-11)


def test_callable_with_the_wrong_shape_or_values_is_refused(X):
    wrong = KernelMatrix(X, Kernel(lambda A, B: np.ones(3)))
    with pytest.raises(ValueError, match=r"kernel must return a finite array of shape \(2, 2\), got shape \(3,\)"):
        wrong.block(np.arange(2), np.arange(2))
    broken = KernelMatrix(X, Kernel(lambda A, B: np.full((len(A), len(B)), np.nan)))
    with pytest.raises(ValueError, match="non-finite"):
        broken.block(np.arange(2), np.arange(2))


def test_indefinite_kernels_are_recognised(X):
    rows = np.arange(30)
    assert KernelMatrix(X, Kernel("poly", gamma=1.0, degree=2, coef0=1.0)).is_psd(rows)
    assert KernelMatrix(X @ X.T, Kernel("precomputed")).is_psd(rows)
    assert not KernelMatrix(X, Kernel("sigmoid", gamma=2.0, coef0=-1.0)).is_psd(rows)
    assert not KernelMatrix(-np.eye(30), Kernel("precomputed")).is_psd(rows)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("name", NAMES)
def test_kernel_rows_over_one_shard_from_rows_of_another(X, container, name, monkeypatch):
    """Shards prepared with one centre exchange rows, also far from the origin and far apart."""
    monkeypatch.setattr(matrix_module, "_FUSED_FROM", 40)
    for table in (X, 1e3 * X, X + (1e3 if name == "rbf" and container is np.asarray else 0.0)):
        whole = KernelMatrix(container(table), kernel(name))
        parts = np.arange(20), np.arange(20, 30)
        sums = [row_sums(whole.X[part], whole.kernel, 30) for part in parts]
        centre = None if sums[0] is None else sum(sums) / 30
        one, two = (whole.restrict(part, np.float64, 30, centre) for part in parts)
        expected = whole.block(np.arange(30), np.arange(30))
        scale = np.abs(expected).max()
        out = np.zeros((4, 20))
        one.write_rows(two.rows_at(np.array([3, 5, 9])), out, np.array([2, 0, 3]))
        np.testing.assert_allclose(out[[2, 0, 3]], expected[[23, 25, 29], :20], atol=1e-11 * scale)
        assert not out[1].any()
        both = stacked([one.rows_at(np.array([1, 4])), two.rows_at(np.array([0]))])
        v = np.array([1.0, -2.0, 3.0])
        np.testing.assert_allclose(
            two.product_with(both, v), expected[20:, [1, 4, 20]] @ v, atol=1e-11 * scale * np.abs(v).sum()
        )
        assert (one.entries, two.entries) == (60, 30)


def test_float32_error_is_the_difference_of_the_two_float_types():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    matrix = KernelMatrix(X, Kernel("rbf", gamma=0.3))
    mean, deviation = matrix.float32_error(np.arange(400))
    assert 1e-10 < mean < deviation < 1e-6
    assert matrix.entries == 0
    exact = KernelMatrix(np.ones((50, 3)), Kernel("linear"))
    assert exact.float32_error(np.arange(50)) == (0.0, 0.0)


@pytest.mark.parametrize("order", ["C", "F"])  # by compiled loops, and by NumPy in threads
def test_centring_in_threads_is_the_formula(order, monkeypatch):
    for module in (tables, dense_loops):
        monkeypatch.setattr(module, "LARGE", 0)
    X = np.asarray(np.random.default_rng(0).normal(size=(3000, 40)), dtype=np.float32, order=order)
    small = KernelMatrix(X, Kernel("rbf", gamma=0.25)).restrict(np.arange(3000), np.float64)
    expected = 0.5 * (X - X.mean(axis=0, dtype=np.float64))
    np.testing.assert_allclose(small.X, expected, atol=1e-12)
    np.testing.assert_allclose(small.squared_norms_at(np.arange(3000)), (expected**2).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("varying", [[], [3], [0, 5], list(range(8))])
def test_columns_in_which_all_rows_are_equal_are_left_out_and_change_nothing(dtype, varying):
    rng = np.random.default_rng(0)
    X = np.tile(rng.normal(size=8) + 5.0, (600, 1))
    X[:, varying] = rng.normal(size=(600, len(varying)))
    X[:, 3] += np.arange(600) == 599  # differs in the last row only
    X = X.astype(dtype)
    rows = np.arange(1, 600)
    small = KernelMatrix(X, Kernel("rbf", gamma=0.3)).restrict(rows, dtype)
    assert small.X.shape[1] == len({3, *varying})
    expected = rbf_kernel(X[rows].astype(np.float64), gamma=0.3)
    np.testing.assert_allclose(
        small.block(slice(None), slice(None)), expected, atol=1e-5 if dtype == np.float32 else 1e-12
    )
    equal = KernelMatrix(np.ones((30, 2), dtype), Kernel("rbf")).restrict(np.arange(30), dtype)
    np.testing.assert_array_equal(equal.block(slice(None), slice(None)), np.ones((30, 30)))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("n", [20, 600])
def test_rows_near_each_other_and_far_from_the_rest_keep_their_distances(container, n):
    """‖x‖² + ‖y‖² - 2x·y loses all digits of a distance of 1 between rows that are 1e7 from their mean."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(n, 3)), 3) + 1e7 * rng.choice([-1.0, 1.0], size=(n, 1))
    expected = rbf(X, X, 0.7)
    matrix, everyone, v = KernelMatrix(container(X), Kernel("rbf", gamma=0.7)), np.arange(n), rng.normal(size=n)
    ready = matrix.restrict(everyone, np.float64)
    rows = np.empty((n, n))
    ready.write_rows(ready.rows_at(everyone), rows, everyone)
    for K in (matrix.block(everyone, everyone), matrix.cross_block(container(X)), rows):
        np.testing.assert_allclose(K, expected, atol=1e-8)
    inner, outer = matrix.paired_product(everyone[: n // 2], everyone[n // 2 :], v[: n // 2])
    ours = [
        matrix.product(everyone, everyone, v),
        matrix.cross_product(container(X), v),
        ready.product_with(ready.rows_at(everyone), v),
    ]
    for product in ours:
        np.testing.assert_allclose(product, expected @ v, atol=1e-7)
    np.testing.assert_allclose(np.r_[inner, outer], expected[:, : n // 2] @ v[: n // 2], atol=1e-7)


def test_one_row_far_from_the_rest_does_not_make_all_pairs_dear(monkeypatch):
    """A code for a missing value in one cell: only distances between rows that are far out are computed anew."""
    X = np.random.default_rng(0).normal(size=(300, 4))
    X[7, 2] = 1e6
    computed = []

    def counted(A, B, metric):
        computed.append(len(A) * len(B))
        return cdist(A, B, metric)

    monkeypatch.setattr(tables, "cdist", counted)
    everyone = np.arange(300)
    K = KernelMatrix(X, Kernel("rbf", gamma=0.1)).block(everyone, everyone)
    np.testing.assert_allclose(K, rbf(X, X, 0.1), atol=1e-8)
    assert computed == [1]

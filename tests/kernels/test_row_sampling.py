"""Keys and samples of rows: functions of the rows and their total weights alone."""

import numpy as np
import pytest
from scipy import sparse

from usmo.features import PartFeatures
from usmo.kernels.row_sampling import distinct_rows, row_keys, take_rows


def discrete(seed=0, n=500, d=4):
    rng = np.random.default_rng(seed)
    return rng.integers(-2, 3, size=(n, d)).astype(float), rng


@pytest.mark.parametrize(
    "container", [sparse.csr_array, sparse.csr_matrix, np.asfortranarray, lambda X: X.astype(np.float32)]
)
def test_equal_rows_have_equal_keys_in_any_container(container):
    X, _ = discrete()
    keys = row_keys(X, 7)
    _, group = np.unique(X, axis=0, return_inverse=True)
    _, by_key = np.unique(keys, return_inverse=True)
    assert (
        len(set(zip(group.ravel().tolist(), by_key.tolist(), strict=True))) == group.max() + 1 == by_key.max() + 1
    )
    np.testing.assert_array_equal(row_keys(container(X), 7), keys)
    np.testing.assert_array_equal(row_keys(-0.0 * X, 7), row_keys(0.0 * X, 7))
    rows = np.arange(3, 500, 7)
    np.testing.assert_array_equal(row_keys(container(X), 7, rows), keys[rows])


def test_keys_look_random_and_depend_on_column_and_seed():
    X = np.arange(20_000.0)[:, None]
    keys = row_keys(X, 0)
    ranks = np.argsort(np.argsort(keys))
    assert abs(np.corrcoef(ranks, X[:, 0])[0, 1]) < 0.03
    assert abs(np.corrcoef(ranks, np.argsort(np.argsort(row_keys(X, 1))))[0, 1]) < 0.03
    for shift in (0, 20, 40, 60):
        counts = np.bincount(((keys >> np.uint64(shift)) & np.uint64(15)).astype(int), minlength=16)
        assert counts.std() < 3 * np.sqrt(20_000 / 16)
    assert len(np.unique(row_keys(np.eye(50), 0))) == 50


def test_repeated_entries_of_a_sparse_row_are_summed():
    twice = sparse.csr_array((np.array([1.0, 2.0, 0.0]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 3))
    np.testing.assert_array_equal(row_keys(twice, 0), row_keys(np.array([[0.0, 3.0, 0.0]]), 0))


@pytest.mark.parametrize("most", [None, 40])
def test_weights_are_repetitions_and_the_order_has_no_effect(most):
    X, rng = discrete()
    weight = rng.integers(0, 5, len(X)).astype(float)
    rows, mass = distinct_rows(X, np.flatnonzero(weight), weight, 3, most)
    again = X[rng.permutation(np.repeat(np.arange(len(X)), weight.astype(int)))]
    other, count = distinct_rows(again, np.arange(len(again)), None, 3, most)
    np.testing.assert_array_equal(X[rows], again[other])
    np.testing.assert_array_equal(mass, count)
    assert mass.sum() == (weight.sum() if most is None else most)


def test_samples_are_drawn_in_proportion_to_the_weights():
    X = np.arange(1000.0)[:, None]
    weight = np.where(X[:, 0] < 100, 5.5, 1.0)
    weight[0] = 300.0
    drawn = np.zeros(1000)
    for seed in range(200):
        rows, count = distinct_rows(X, np.arange(1000), weight, seed, 100)
        drawn[rows] += count
    expected = 200 * 100 * weight / weight.sum()
    assert drawn[0] == pytest.approx(expected[0], rel=0.02)  # a row with several shares always has them
    assert drawn[1:100].mean() == pytest.approx(expected[1], rel=0.1)
    assert drawn[100:].mean() == pytest.approx(expected[-1], rel=0.1)


def test_rows_of_parts_are_taken_in_any_order(tmp_path):
    X, rng = discrete()
    for k in range(5):
        np.save(tmp_path / f"part{k}.npy", X[100 * k : 100 * (k + 1)])
    parts = PartFeatures.directory(tmp_path)
    rows = rng.permutation(500)[:77]
    np.testing.assert_array_equal(take_rows(parts, rows), X[rows])
    for one, two in zip(
        distinct_rows(parts, np.arange(500), None, 1, 30),
        distinct_rows(X, np.arange(500), None, 1, 30),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)

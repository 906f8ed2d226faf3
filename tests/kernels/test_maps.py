"""Landmarks of the Nyström map."""

import numpy as np
import pytest
from scipy import sparse

from usmo.kernels.maps import choose_landmarks


def table(seed=0, n=300):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[::3] = np.round(X[::3])
    return X, rng


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_components", [5, 20, 280])
def test_landmarks_of_weighted_rows_are_those_of_repeated_rows(container, n_components):
    X, rng = table()
    weight = rng.integers(0, 4, len(X)).astype(float)
    repeated = X[rng.permutation(np.repeat(np.arange(len(X)), weight.astype(int)))]
    one = X[choose_landmarks(container(X), np.flatnonzero(weight), n_components, 0, weight)]
    two = repeated[choose_landmarks(container(repeated), np.arange(len(repeated)), n_components, 0)]
    np.testing.assert_array_equal(np.unique(one, axis=0), np.unique(two, axis=0))
    assert len(one) == len(two) == len(np.unique(one, axis=0))


def test_landmarks_are_all_distinct_rows_if_there_are_no_more():
    X = np.repeat(np.arange(6.0), 10)[:, None]
    np.testing.assert_array_equal(X[choose_landmarks(X, np.arange(60), 8, 0)].ravel(), np.arange(6.0))
    assert len(choose_landmarks(X, np.arange(60), 4, 0)) == 4

"""Landmarks of the Nyström map."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from usmo.kernels.kernel import Kernel
from usmo.kernels.maps import NystroemMap, choose_landmarks


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


@pytest.mark.parametrize("repeated", [0, 5])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_products_of_nystroem_features_are_the_projections_on_the_landmarks(container, repeated):
    X = np.random.default_rng(0).normal(size=(300, 6))
    landmarks = np.concatenate([X[:40], X[:repeated]])
    mapped = NystroemMap(Kernel("rbf", gamma=0.1), container(landmarks))
    phi = mapped.transform(container(X))
    to_landmarks = rbf_kernel(X, X[:40], gamma=0.1)
    inverse = np.linalg.inv(rbf_kernel(X[:40], gamma=0.1))
    assert mapped.width == 40
    np.testing.assert_allclose(phi @ phi.T, to_landmarks @ inverse @ to_landmarks.T, atol=1e-9)
    w = np.random.default_rng(1).normal(size=40)
    expansion = rbf_kernel(X, landmarks, gamma=0.1) @ mapped.coefficients(w)
    np.testing.assert_allclose(phi @ w, expansion, atol=1e-9)


def test_a_kernel_without_positive_part_has_no_features():
    X = np.random.default_rng(0).normal(size=(20, 3))
    mapped = NystroemMap(Kernel("sigmoid", gamma=0.01, coef0=-50.0), X)
    assert mapped.transform(X).shape == (20, 0)
    np.testing.assert_array_equal(mapped.coefficients(np.empty(0)), np.zeros(20))

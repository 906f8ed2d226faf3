"""Compressed models: the projection, its errors, its limits."""

import numpy as np
import pytest

from tests.oracles import random_table, rbf
from usmo import PUSVC
from usmo.estimators.compression import greedy_projection
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix


@pytest.fixture(scope="module")
def fitted():
    X, y = random_table(0, n=600, p=40, d=3)
    return X, y, PUSVC(0.4, gamma=0.1).fit(X, y)


def test_errors_are_those_measured_on_the_rows(fitted):
    X, _, model = fitted
    small = model.compress(X, n_components=30)
    error = np.abs(small.decision_function(X) - model.decision_function(X))
    report = small.compression_
    assert report.n_components == len(small.support_vectors_) == 30
    assert report.n_support == len(model.support_)
    assert report.max_error == pytest.approx(error.max())
    assert report.mean_error == pytest.approx(error.mean())
    assert report.changed_decisions == np.sum(small.predict(X) != model.predict(X))
    assert not hasattr(small, "certificate_")
    assert hasattr(model, "certificate_")
    assert not hasattr(small.fit(X, fitted[1]), "compression_")


def test_more_components_make_smaller_errors(fitted):
    X, _, model = fitted
    errors = [model.compress(X, n_components=m).compression_.mean_error for m in (5, 15, 40, 80)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-3 * errors[0]


def test_max_error_is_kept_on_the_support(fitted):
    model = fitted[2]
    small = model.compress(model.support_vectors_, max_error=0.05)
    assert small.compression_.max_error <= 0.05 + 1e-9
    assert len(small.support_) < 0.5 * len(model.support_)


def test_projection_is_the_nearest_function_of_the_span():
    """Against the least-squares problem in the kernel's norm solved directly."""
    rng = np.random.default_rng(0)
    matrix = KernelMatrix(rng.normal(size=(40, 2)), Kernel("rbf", gamma=0.5))
    alpha = rng.normal(size=40)
    rows, coefficients, error = greedy_projection(matrix, alpha, 12, 0.0)
    everything = np.arange(40)
    K = matrix.block(everything, everything)
    direct = np.linalg.solve(K[np.ix_(rows, rows)], K[rows] @ alpha)
    np.testing.assert_allclose(coefficients, direct, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(error, K @ alpha - K[:, rows] @ coefficients, atol=1e-9)


def test_forest_needs_no_support_vectors(fitted):
    X, y, _ = fitted
    model = PUSVC(0.4, kernel="forest", n_trees=20).fit(X, y)
    small = model.compress(X)
    assert small.support_vectors_.shape == (0, X.shape[1])
    assert small.compression_ == (0, len(model.support_), 0.0, 0.0, 0)
    new = np.random.default_rng(1).normal(size=(50, X.shape[1]))
    np.testing.assert_array_equal(small.decision_function(new), model.decision_function(new))
    assert not hasattr(small, "certificate_")


def test_rbf_part_of_a_forest_is_projected(fitted):
    """Against the least-squares problem in the norm of the rbf kernel, and the trees' part as it was."""
    X, y, _ = fitted
    model = PUSVC(0.4, kernel="forest+rbf", n_trees=20).fit(X, y)
    small = model.compress(X, n_components=15)
    assert len(small.support_vectors_) == 15
    new = np.random.default_rng(1).normal(size=(50, X.shape[1]))
    forest = model._forest
    kept, every, rows = (
        (A - forest.centre) * forest.scale for A in (small.support_vectors_, X[model.support_], new)
    )
    gamma = 1 / X.shape[1]
    before = 0.5 * rbf(rows, every, gamma) @ model.dual_coef_[0]
    target = 0.5 * rbf(kept, every, gamma) @ model.dual_coef_[0]
    after = rbf(rows, kept, gamma) @ np.linalg.solve(rbf(kept, kept, gamma), target)
    change = small.decision_function(new) - model.decision_function(new)
    np.testing.assert_allclose(change, after - before, atol=1e-8)


def test_max_error_of_a_forest_with_rbf_is_kept_on_the_support(fitted):
    X, y, _ = fitted
    model = PUSVC(0.4, kernel="forest+rbf", n_trees=20).fit(X, y)
    small = model.compress(model.support_vectors_, max_error=0.01)
    assert small.compression_.max_error <= 0.01 + 1e-9
    assert len(small.support_) < 0.5 * len(model.support_)


def test_bad_requests_are_refused(fitted):
    X, y, model = fitted
    with pytest.raises(ValueError, match="give n_components, max_error or both"):
        model.compress(X)
    with pytest.raises(ValueError, match="n_components must be at least 1, got 0"):
        model.compress(X, n_components=0)
    with pytest.raises(ValueError, match=r"max_error must be positive, got -1\.0"):
        model.compress(X, max_error=-1.0)
    with pytest.raises(ValueError, match="not kernel='linear'"):
        PUSVC(0.4, kernel="linear").fit(X, y).compress(X, n_components=3)

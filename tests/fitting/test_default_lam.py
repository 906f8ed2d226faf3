"""λ if lam="auto"."""

import numpy as np
import pytest
from scipy import sparse

from usmo import PUSVC, PUSVCCV, LinearPUSVC


def table(n, p=5, seed=0):
    X = np.random.default_rng(seed).normal(size=(p + n, 3))
    return X, (np.arange(p + n) < p).astype(int)


def lam_of(X, y, weight=None, **parameters):
    return PUSVC(0.4, **parameters).fit(X, y, sample_weight=weight).lam_


def test_kernels_have_two_by_the_number_of_unlabelled_rows():
    X, y = table(80)
    assert lam_of(X, y) == pytest.approx(2 / 80)
    assert lam_of(X, y, kernel="poly") == pytest.approx(2 / 80)
    assert lam_of(X, y, scenario="censored") == pytest.approx(2 / 85)
    assert lam_of(X @ X.T, y, kernel="precomputed") == pytest.approx(2 / 80)
    assert lam_of(sparse.csr_array(X), y) == pytest.approx(2 / 80)


def test_many_rows_lower_it_no_further():
    assert lam_of(*table(2500), tol=0.1) == pytest.approx(1e-3)


def test_weights_are_numbers_of_equal_rows_and_their_unit_does_not_matter():
    X, y = table(60)
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    times = np.repeat(np.arange(len(y)), weight)
    one = lam_of(X, y, weight)
    assert one == pytest.approx(lam_of(X[times], y[times]))
    assert one == pytest.approx(lam_of(X, y, 0.01 * weight))
    own = weight[y == 0]
    assert one == pytest.approx(2 * (own @ own) / own.sum() ** 2)


def test_linear_and_learned_kernels_have_constants():
    X, y = table(80)
    assert LinearPUSVC(0.4).fit(X, y).lam_ == lam_of(X, y, kernel="linear") == 1e-2
    assert lam_of(X, y, kernel="forest", n_trees=3) == lam_of(X, y, kernel="forest+rbf", n_trees=3) == 5e-2


def test_search_of_kernels_uses_it():
    X, y = table(80)
    search = PUSVCCV(PUSVC(0.4), kernels=["rbf"], lams="auto").fit(X, y)
    assert search.best_lam_ == pytest.approx(2 / 80)

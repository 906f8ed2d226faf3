"""γ from the scale of the table, against scikit-learn's SVC."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from usmo.kernels.gamma import resolve_gamma


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.6)


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
def test_gamma_is_that_of_svc(gamma, X):
    y = np.arange(30) % 2
    for table in (X, sparse.csr_matrix(X)):
        assert resolve_gamma(gamma, table) == pytest.approx(SVC(gamma=gamma).fit(table, y)._gamma)
    assert resolve_gamma("scale", np.ones((3, 2))) == 1.0


def test_gamma_counts_rows_by_their_weight(X):
    weight = np.arange(30) % 3
    repeated = np.repeat(X, weight, axis=0)
    assert resolve_gamma("scale", X, weight.astype(float)) == pytest.approx(resolve_gamma("scale", repeated))


@pytest.mark.parametrize("scale", [1e-150, 1e-155, 1e-161, 1e-170, 1e-310])
def test_gamma_of_tiny_entries_is_a_number(X, scale):
    """Below 1e-154 the variance has lost its digits, and its inverse may not fit float64: such a table is constant."""
    expected = 1.0 / (X.size / len(X) * X.var() * scale**2) if scale == 1e-150 else 1.0
    for table in (scale * X, sparse.csr_matrix(scale * X)):
        assert resolve_gamma("scale", table) == pytest.approx(expected)

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

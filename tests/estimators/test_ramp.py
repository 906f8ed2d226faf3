"""RampPUSVC: predictions, attributes, refused arguments."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tests.oracles import random_table
from usmo.estimators.ramp import RampPUSVC
from usmo.solvers import ramp


def test_predictions_and_attributes():
    X, y = random_table(0, n=300, p=60, d=3)
    model = RampPUSVC(0.4).fit(X, y)
    assert model.objective_ == min(model.objectives_.values())
    assert model.start_ in model.objectives_
    assert model.n_iter_ >= 3
    positive, negative = model.predict(X[:60]).mean(), model.predict(X[60:]).mean()
    assert positive > 0.7
    assert 0.1 < negative < 0.7
    linear = RampPUSVC(kernel="linear").fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(linear.decision_function(X), X @ linear.coef_[0] + linear.intercept_[0], atol=1e-9)
    assert linear.prior_interval_[0] <= linear.prior_ <= linear.prior_interval_[1]


def test_tables_that_are_too_large_and_bad_parameters_are_refused(monkeypatch):
    X, y = random_table(0, n=50, p=10)
    monkeypatch.setattr(ramp, "LARGEST", 20)
    with pytest.raises(ValueError, match="of at most 20 rows; got 60"):
        RampPUSVC(0.4).fit(X, y)
    with pytest.raises(ValueError, match=r"'max_iter' parameter of RampPUSVC.*Got 0"):
        RampPUSVC(0.4, max_iter=0).fit(X, y)


def test_max_iter_warns_if_the_procedure_has_not_converged():
    X, y = random_table(0, n=300, p=60, d=3)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 ended the concave-convex procedure.*Raise max_iter"):
        model = RampPUSVC(0.4, lam=1e-3, max_iter=1).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.violation_ <= model.tol

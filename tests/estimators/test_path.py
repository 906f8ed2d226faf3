"""``usmo.path`` gives the models of separate fits."""

import numpy as np
import pytest
from sklearn.base import clone

from tests.oracles import random_table
from usmo import PUSVC, LinearPUSVC, RampPUSVC, path

LAMS = [1e-1, 1e-2, 1e-3, 1e-4]


def test_path_equals_single_fits():
    X, y = random_table(0, n=300, p=30, d=4)
    models = path(PUSVC(0.4, tol=1e-6), X, y, lams=LAMS)
    for lam, model in zip(LAMS, models, strict=True):
        single = PUSVC(0.4, lam=lam, tol=1e-6).fit(X, y)
        assert model.lam == lam
        assert model.certificate_.primal == pytest.approx(single.certificate_.primal, rel=1e-6)
        assert model.certificate_.kkt_violation <= 1e-6 + 1e-8
        np.testing.assert_allclose(model.decision_function(X), single.decision_function(X), atol=1e-4)
        assert model.n_features_in_ == 4


@pytest.mark.parametrize("scenario", ["case-control", "censored"])
def test_path_over_priors_and_lambdas(scenario):
    X, y = random_table(1, n=200, p=30, d=3)
    models = path(PUSVC(scenario=scenario, tol=1e-6), X, y, lams=[1e-2, 1e-3], priors=[0.3, 0.5])
    assert [(m.prior_, m.lam) for m in models] == [(0.3, 1e-2), (0.3, 1e-3), (0.5, 1e-2), (0.5, 1e-3)]
    for model in models:
        assert model.prior == model.prior_
        single = PUSVC(model.prior_, lam=model.lam, scenario=scenario, tol=1e-6).fit(X, y)
        assert model.certificate_.primal == pytest.approx(single.certificate_.primal, rel=1e-6)


def test_prior_is_estimated_once_and_the_estimator_stays_unfitted():
    X, y = random_table(3, n=150, p=30)
    estimator = PUSVC()
    models = path(estimator, X, y, lams=[1e-2, 1e-3])
    assert models[0].prior_ == models[1].prior_ == PUSVC().fit(X, y).prior_
    assert not hasattr(estimator, "dual_coef_")


def test_bad_values_are_refused():
    X, y = random_table(3, n=50, p=10)
    with pytest.raises(ValueError, match=r"'lam'.*Got -1\.0"):
        path(PUSVC(0.4), X, y, lams=[0.1, -1.0])
    with pytest.raises(ValueError, match=r"'prior'.*Got 1\.5"):
        path(PUSVC(0.4), X, y, lams=[0.1], priors=[0.2, 1.5])
    with pytest.raises(ValueError, match="estimator must be a PUSVC or LinearPUSVC, got RampPUSVC"):
        path(RampPUSVC(0.4), X, y, lams=[0.1])
    assert path(PUSVC(0.4), X, y, lams=[]) == []


@pytest.mark.parametrize("estimator", [LinearPUSVC(tol=1e-6), PUSVC(kernel="linear", tol=1e-6)])
def test_linear_path_equals_single_fits(estimator):
    X, y = random_table(0, n=400, p=50, d=4)
    models = path(estimator, X, y, lams=[1e-1, 1e-3], priors=[0.3, 0.4])
    assert [(model.prior_, model.lam) for model in models] == [(0.3, 0.1), (0.3, 1e-3), (0.4, 0.1), (0.4, 1e-3)]
    for model in models:
        single = clone(estimator).set_params(prior=model.prior_, lam=model.lam).fit(X, y)
        assert model.certificate_.primal == pytest.approx(single.certificate_.primal, rel=1e-8)
        np.testing.assert_allclose(model.decision_function(X), single.decision_function(X), atol=1e-4)


def test_linear_path_takes_fewer_iterations_than_single_fits():
    X, y = random_table(1, n=5000, p=100, d=6)
    lams = np.logspace(-1, -4, 8)
    together = sum(model.n_iter_ for model in path(LinearPUSVC(0.4), X, y, lams=lams))
    apart = sum(LinearPUSVC(0.4, lam=lam).fit(X, y).n_iter_ for lam in lams)
    assert together < apart

"""PUSVC: decision function, certificate, solvers, scenarios, kernels, refits."""

import pickle

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from tests.oracles import rbf, shuffled_table
from usmo import PUSVC


@pytest.fixture(scope="module")
def table():
    return shuffled_table(0, n=150, p=30, d=4)


def test_decision_function_is_the_expansion_over_the_support(table):
    X, y = table
    model = PUSVC(0.4, gamma=0.3).fit(X, y)
    f = rbf(X, model.support_vectors_, 0.3) @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-10)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    np.testing.assert_array_equal(model.predict(X), np.where(f > 0, 1, 0))
    assert model.dual_coef_.sum() == pytest.approx(0.0, abs=1e-9)


def test_primal_value_can_be_computed_from_the_model_alone(table):
    """The primal value recomputed from decision_function, labels and ‖f‖²."""
    X, y = table
    lam, prior = 1e-3, 0.4
    model = PUSVC(prior, lam=lam, gamma=0.3, tol=1e-6, threshold=0.0, class_weight=None).fit(X, y)
    f = model.decision_function(X)
    norm = model.dual_coef_[0] @ rbf(model.support_vectors_, model.support_vectors_, 0.3) @ model.dual_coef_[0]
    u = f[y == 0]
    risk = -prior * f[y == 1].mean() + np.maximum(0, np.maximum(u, (1 + u) / 2)).mean() + lam * norm
    assert model.certificate_.primal == pytest.approx(risk / (2 * lam), rel=1e-9)
    assert 0 <= model.certificate_.relative_gap < 1e-6
    assert model.certificate_.convex


@pytest.mark.parametrize("scenario", ["case-control", "censored"])
def test_all_solvers_agree(table, scenario):
    X, y = table
    by_qp, *others = (
        PUSVC(0.4, lam=1e-3, scenario=scenario, solver=solver, tol=1e-7).fit(X, y)
        for solver in ("qp", "usmo", "blocks")
    )
    for other in others:
        np.testing.assert_allclose(other.decision_function(X), by_qp.decision_function(X), atol=1e-5)
        assert other.certificate_.primal == pytest.approx(by_qp.certificate_.primal, rel=1e-8)


def test_censored_is_the_problem_with_the_positives_among_the_unlabelled(table):
    X, y = table
    censored = PUSVC(0.5, scenario="censored", gamma=0.3, tol=1e-7).fit(X, y)
    both = np.vstack([X[y == 1], X])
    plain = PUSVC(0.5, gamma=0.3, tol=1e-7).fit(both, np.r_[np.ones(30), np.zeros(len(X))])
    np.testing.assert_allclose(censored.decision_function(X), plain.decision_function(X), atol=1e-5)


def test_precomputed_and_callable_equal_the_named_kernel(table):
    X, y = table
    named = PUSVC(0.4, gamma=0.3, tol=1e-7).fit(X, y)
    K = rbf(X, X, 0.3)
    stored = PUSVC(0.4, kernel="precomputed", tol=1e-7).fit(K, y)
    called = PUSVC(0.4, kernel=lambda A, B: rbf(A, B, 0.3), tol=1e-7).fit(X, y)
    np.testing.assert_allclose(stored.decision_function(K), named.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(called.decision_function(X), named.decision_function(X), atol=1e-5)
    assert PUSVC(kernel="precomputed").fit(K, y).prior_ < 1  # the columns of the kernel matrix are the features


def test_linear_kernel_sets_coef(table):
    X, y = table
    model = PUSVC(0.4, kernel="linear").fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0], atol=1e-12)
    np.testing.assert_allclose(model.coef_[0], X[model.support_].T @ model.dual_coef_[0], atol=1e-10)
    assert not hasattr(PUSVC(0.4).fit(X, y), "coef_")


def test_prediction_in_small_tiles_is_the_same(table, monkeypatch):
    X, y = table
    model = PUSVC(0.4).fit(X, y)
    whole = model.decision_function(X)
    monkeypatch.setattr("usmo.kernels.matrix._SIDE", 8)
    monkeypatch.setattr("usmo.kernels.tables.TILE_BYTES", 512)
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-12)


def test_warm_start_saves_steps(table):
    X, y = table
    model = PUSVC(0.4, tol=1e-5, warm_start=True).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ == 1 < first  # the start is optimal
    nearby = model.set_params(lam=1.01e-2).fit(X, y)
    cold = PUSVC(0.4, tol=1e-5, lam=1.01e-2).fit(X, y)
    assert nearby.history_[-1].kernel_rows <= cold.history_[-1].kernel_rows
    assert nearby.history_[0].violation < cold.history_[0].violation
    assert nearby.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=1e-5)
    model.fit(X[:100], y[:100])  # another number of rows: a cold start
    assert model.certificate_.relative_gap < 1e-3


def test_parameters_changed_after_the_fit_do_not_change_the_model(table):
    X, y = table
    model = PUSVC(0.4).fit(X, y)
    before = model.decision_function(X)
    np.testing.assert_array_equal(model.set_params(kernel="linear").decision_function(X), before)


def test_pickled_model_predicts_the_same(table):
    X, y = table
    model = PUSVC(0.4).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.certificate_ == model.certificate_


def test_hidden_positives_are_ranked_first():
    rng = np.random.default_rng(0)
    truth = rng.random(400) < 0.3
    X = rng.normal(size=(400, 2)) + np.where(truth, 2.0, -2.0)[:, None]
    y = (truth & (rng.random(400) < 0.3)).astype(int)
    model = PUSVC(random_state=0).fit(X, y)
    hidden = y == 0
    assert roc_auc_score(truth[hidden], model.decision_function(X[hidden])) > 0.99
    assert np.mean(model.predict(X[hidden]) == truth[hidden]) > 0.95
    low, high = model.prior_interval_
    assert low <= truth[hidden].mean() <= high


def test_a_prior_estimated_on_a_sample_is_at_least_the_share_of_labelled_rows(monkeypatch):
    monkeypatch.setattr("usmo.estimators.preparation.PRIOR_ROWS", 20)
    rng = np.random.default_rng(0)
    y = np.r_[np.ones(100, int), np.zeros(300, int)]
    X = rng.normal(size=(400, 2)) + 8 * y[:, None]  # no positive is unlabelled
    for seed in range(8):
        model = PUSVC(scenario="censored", lam=0.01, random_state=seed).fit(X, y)
        assert model.prior_interval_[0] >= 0.25
        assert model.prior_ >= 0.25

"""Estimated propensities: what they recover, how they enter the fit, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

from usmo import PUSVC, PUSVCCV, LinearPUSVC, PropensityModel, load, path
from usmo.core.table import Table
from usmo.core.targets import known_values, label_rule
from usmo.estimators.preparation import specification
from usmo.fitting import propensity
from usmo.fitting.propensity import estimate_propensity


def by_column(n=1200, seed=0, slope=2.0):
    """Three columns: the first two tell the class, labels depend on the third."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    positive = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n) > 0.8
    e = expit(-0.5 + slope * X[:, 2])
    return X, positive, (positive & (rng.random(n) < e)).astype(int), e


def by_score(n=1500, seed=0):
    """Obvious positives are labelled more often."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    score = 2.0 * (X[:, 0] + X[:, 1])
    positive = rng.random(n) < expit(score - 0.5)
    e = expit(1.2 * (score - 3.0))
    return X, positive, (positive & (rng.random(n) < e)).astype(int), e


def test_known_propensity_is_recovered_with_the_right_column():
    X, positive, y, e = by_column(1500)
    model = PropensityModel(positive.mean(), columns=[2]).fit(X, y)
    assert np.abs(model.predict(X) - e).mean() < 0.1
    np.testing.assert_array_equal(model.propensity_, model.predict(X[y == 1]))
    assert not model.propensity_model_.is_constant
    assert model.prior_ == positive.mean()


def test_ranking_is_better_with_the_estimate_and_the_column_loses_its_weight():
    X, positive, y, e = by_column()
    options = {"kernel": "linear", "scenario": "censored"}
    plain = PUSVC(positive.mean(), **options).fit(X, y)
    known = PUSVC(**options).fit(X, y, propensity=e)
    estimated = PUSVC(positive.mean(), propensity="estimate", propensity_columns=[2], **options).fit(X, y)
    weight = [abs(m.coef_[0][2]) / np.linalg.norm(m.coef_[0]) for m in (plain, estimated)]
    assert weight[1] < 0.4 * weight[0]
    hidden = y == 0
    plain, known, estimated = (
        roc_auc_score(positive[hidden], m.decision_function(X[hidden])) for m in (plain, known, estimated)
    )
    assert estimated > plain + 0.5 * (known - plain)


def test_propensity_by_score_increases_with_the_score():
    X, positive, y, e = by_score()
    model = PropensityModel(positive.mean(), estimator=LinearPUSVC()).fit(X, y)
    assert model.propensity_model_.coef[0] > 0
    assert spearmanr(model.propensity_, e[y == 1]).statistic > 0.9
    assert np.abs(model.propensity_ - e[y == 1]).mean() < 0.15
    assert spearmanr(model.predict(X[y == 1]), X[y == 1].sum(axis=1)).statistic > 0.9


@pytest.mark.parametrize("columns", [None, [0], [1, 2]])
def test_labels_at_random_leave_the_fit_as_it_is(columns):
    X, positive, _, _ = by_column(900, seed=3)
    rng = np.random.default_rng(1)
    y = (positive & (rng.random(900) < 0.4)).astype(int)
    plain = PUSVC(0.3, scenario="censored").fit(X, y)
    model = PUSVC(0.3, scenario="censored", propensity="estimate", propensity_columns=columns).fit(X, y)
    assert model.propensity_model_.is_constant
    assert model.propensity_[0] == model.propensity_[1]
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-6)


def test_wrong_estimate_of_the_prior_is_not_taken_for_labels_not_at_random():
    """Given as known, a prior far too high makes P(labelled | x) too low for the score; as an estimate it does not."""
    X, positive, _, _ = by_column(900, seed=13)
    y = (positive & (np.random.default_rng(2).random(900) < 0.4)).astype(int)
    table = Table.of(X, y, label_rule(*known_values(y)), None, square=False)
    spec = specification(PUSVC(scenario="censored"), table)
    wrong = 0.85
    as_known = estimate_propensity(table, spec, wrong, 0.005, None).propensity
    as_estimate = estimate_propensity(table, spec, wrong, 0.005, None, prior_error=0.5).propensity
    assert not as_known.is_constant
    assert as_estimate.is_constant
    assert as_estimate(0.0)[0] == pytest.approx(y.mean() / wrong)


def test_evidence_rises_from_round_to_round_and_every_fit_is_certified():
    X, positive, y, _ = by_column(600, seed=5)
    model = PUSVC(float(positive.mean()), scenario="censored")
    table = Table.of(X, y, label_rule(*known_values(y)), None, square=False)
    spec = specification(model, table)
    found = estimate_propensity(table, spec, model.prior, 0.005, np.array([2]), tol=0.01)
    rises = np.diff(found.propensity.evidence)
    assert len(rises) >= 1
    assert (rises >= 0.01).all()
    assert len(found.fits) == 5
    for fit in found.fits:
        assert fit.solution.status == "optimal"
        assert -1e-9 < fit.certificate.relative_gap < 1e-3
        assert fit.certificate.convex
    assert ((found.q >= 0) & (found.q <= 1)).all()
    assert (found.q[np.isin(found.rows, np.flatnonzero(y == 1))] == 1.0).all()


@pytest.mark.parametrize("estimator", [PUSVC(lam=0.01), LinearPUSVC()])
def test_fit_is_that_of_the_same_propensities_given(estimator):
    """Propensities given imply the prior: scaled so that they imply the same one, they make the same problem."""
    X, positive, y, _ = by_column(700, seed=6)
    prior = float(positive.mean())
    model = clone(estimator).set_params(
        prior=prior, scenario="censored", propensity="estimate", propensity_columns=[2], tol=1e-6
    )
    model.fit(X, y)
    e = model.propensity_model_(X[:, 2])
    e *= (1.0 / e[y == 1]).sum() / len(y) / prior
    assert e[y == 1].max() <= 1.0
    given = clone(estimator).set_params(scenario="censored", tol=1e-6).fit(X, y, propensity=e)
    assert given.prior_ == pytest.approx(prior)
    np.testing.assert_allclose(model.decision_function(X), given.decision_function(X), atol=1e-4)
    assert model.certificate_.relative_gap < 1e-5


def test_estimate_depends_neither_on_the_order_of_rows_nor_on_how_equal_rows_are_written():
    X, positive, y, _ = by_column(500, seed=7)
    model = PropensityModel(float(positive.mean()), columns=[2]).fit(X, y)
    order = np.random.default_rng(0).permutation(500)
    moved = PropensityModel(float(positive.mean()), columns=[2]).fit(X[order], y[order])
    np.testing.assert_allclose(moved.predict(X), model.predict(X), atol=0.01)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.propensity_, model.propensity_)
    twice = np.concatenate([np.arange(500), np.arange(100)])
    weight = np.where(np.arange(500) < 100, 2.0, 1.0)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(X[twice], y[twice])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=0.02)


def test_large_tables_are_sampled(monkeypatch):
    X, positive, y, e = by_score()
    monkeypatch.setattr("usmo.fitting.propensity.MOST_ROWS", 150)
    model = PropensityModel(positive.mean(), estimator=LinearPUSVC()).fit(X, y)
    assert len(model.propensity_) == y.sum() > 150
    assert spearmanr(model.propensity_, e[y == 1]).statistic > 0.9


def test_known_negatives_sparse_tables_and_names_of_columns():
    X, positive, y, _ = by_column(500, seed=8)
    prior = float(positive.mean())
    options = {"prior": prior, "scenario": "censored", "propensity": "estimate"}
    plain = LinearPUSVC(**options, propensity_columns=[2]).fit(X, y)
    named = LinearPUSVC(**options, propensity_columns=["c"], lam="cv").fit(pd.DataFrame(X, columns=list("abc")), y)
    assert named.propensity_ == plain.propensity_
    assert named.selection_.lam == named.lam_
    stored = LinearPUSVC(**options, propensity_columns=[2]).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(stored.propensity_, plain.propensity_, atol=0.02)
    y = y.copy()
    y[np.flatnonzero(~positive)[:60]] = -1
    with_negatives = LinearPUSVC(**options, propensity_columns=[2]).fit(X, y)
    np.testing.assert_allclose(with_negatives.propensity_, plain.propensity_, atol=0.15)


def test_path_and_search_use_the_estimate():
    X, positive, y, _ = by_column(500, seed=9)
    model = PUSVC(float(positive.mean()), scenario="censored", propensity="estimate", propensity_columns=[2])
    alone = clone(model).fit(X, y)
    models = path(model, X, y, lams=[0.1, alone.lam_])
    assert models[1].propensity_ == alone.propensity_
    np.testing.assert_allclose(models[1].decision_function(X), alone.decision_function(X), atol=0.02)
    search = PUSVCCV(model, lams=[0.1, 0.01]).fit(X, y)
    assert search.best_estimator_.propensity_[0] < 0.5 * search.best_estimator_.propensity_[1]
    with pytest.raises(ValueError, match="rests on one prior"):
        path(model, X, y, lams=[0.1], priors=[0.2, 0.3])


def test_kernels_of_trees_and_approximations_can_be_used():
    X, positive, y, _ = by_column(500, seed=10)
    for options in ({"kernel": "forest+rbf", "n_trees": 20}, {"approximation": "nystroem", "n_components": 50}):
        model = PUSVC(
            float(positive.mean()), scenario="censored", propensity="estimate", propensity_columns=[2], **options
        ).fit(X, y)
        assert model.propensity_[0] < 0.6 * model.propensity_[1]


def test_rows_of_one_group_share_a_fold(monkeypatch):
    X, positive, y, _ = by_column(400, seed=11)
    samples, deal = [], propensity._sample
    monkeypatch.setattr(propensity, "_sample", lambda *given: samples.append(deal(*given)) or samples[-1])
    model, group = PropensityModel(float(positive.mean())), np.arange(400) // 8
    for fit in (model.fit, PUSVC(0.5, scenario="censored", propensity="estimate").fit):
        fit(X, y, groups=group)
        sample = samples.pop()
        assert len(np.unique(sample.fold)) > 1
        for g in np.unique(group):
            assert len(np.unique(sample.fold[group[sample.origin] == g])) == 1
    with pytest.raises(ValueError, match=r"propensity='estimate' divides the rows by groups"):
        model.fit(X, y, groups=np.zeros(400))


@pytest.mark.parametrize("columns", [None, [2]])
def test_models_are_stored_and_read(columns, tmp_path):
    X, positive, y, _ = by_column(400, seed=11)
    prior = float(positive.mean())
    for model in (
        PropensityModel(prior, columns=columns).fit(X, y),
        PUSVC(prior, scenario="censored", propensity="estimate", propensity_columns=columns).fit(X, y),
    ):
        model.save(tmp_path / "model.usmo")
        again = load(tmp_path / "model.usmo")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        own, read = model.propensity_model_, again.propensity_model_
        assert (read.evidence, read.spread, read.prior) == (own.evidence, own.spread, own.prior)
        np.testing.assert_array_equal(read.coef, own.coef)


def test_rounds_that_do_not_converge_warn():
    X, positive, y, _ = by_column(600, seed=5)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 ended the estimate.*propensity-not-converged"):
        PropensityModel(float(positive.mean()), columns=[2], max_iter=1, tol=1e-9).fit(X, y)


@pytest.mark.parametrize(("parameters", "message"), [
    ({"scenario": "case-control"}, "needs scenario='censored', got scenario='case-control'"),
    ({"propensity": None, "propensity_columns": [0]}, r"propensity_columns needs propensity='estimate', got \[0\]"),
    ({"propensity": "guess"}, "'propensity' parameter of PUSVC must be"),
    ({"propensity_columns": [3]}, "numbers from 0 to 2, got 3"),
    ({"propensity_columns": ["a"]}, "numbers from 0 to 2, got 'a'"),
    ({"propensity_columns": [1.5]}, "numbers from 0 to 2, got 1.5"),
    ({"propensity_columns": []}, r"one column at least, each once, got \[\]"),
    ({"propensity_columns": [1, 1]}, r"one column at least, each once, got \[1, 1\]"),
    ({"kernel": "precomputed"}, "needs the rows, not kernel='precomputed'"),
])  # fmt: skip
def test_parameters_that_do_not_go_together_are_refused(parameters, message):
    X, _, y, _ = by_column(100)
    model = PUSVC(0.3, scenario="censored", propensity="estimate").set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


def test_few_labels_and_propensities_given_twice_are_refused():
    X, _, y, _ = by_column(200)
    few = np.zeros(200, int)
    few[:9] = 1
    model = PUSVC(0.3, scenario="censored", propensity="estimate")
    with pytest.raises(ValueError, match="at least 10 labelled positives, got 9"):
        model.fit(X, few)
    with pytest.raises(ValueError, match=r"prior must be at least 0\.\d+ .*share of labelled positives"):
        PropensityModel(0.01).fit(X, y)
    with pytest.raises(ValueError, match="leave out one of them"):
        model.fit(X, y, propensity=0.5)
    with pytest.raises(ValueError, match=r"write PUSVC\(propensity='estimate'\)"):
        PUSVC(scenario="censored").fit(X, y, propensity="estimate")
    for bad in ({"max_iter": 0}, {"tol": 0.0}, {"prior": 1.0}, {"estimator": "PUSVC"}):
        with pytest.raises(ValueError, match="parameter of PropensityModel must be"):
            PropensityModel(**bad).fit(X, y)


def test_constant_column_says_nothing():
    X, positive, y, _ = by_column(400, seed=12)
    X = np.column_stack([X, np.full(400, 7.0)])
    assert PropensityModel(float(positive.mean()), columns=[3]).fit(X, y).propensity_model_.is_constant


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_two_different_labelled_rows_of_which_one_is_also_unlabelled_are_enough():
    rng = np.random.default_rng(0)
    labelled = np.repeat([[0.0, 0.0], [1.0, 0.0]], 10, axis=0)
    X = np.vstack([labelled, rng.normal(size=(60, 2)), np.zeros((5, 2))])
    model = PUSVC(0.5, scenario="censored", propensity="estimate").fit(X, np.arange(85) < 20)
    assert model.certificate_.relative_gap < 1e-3
    assert np.isfinite(model.propensity_).all()


@pytest.mark.parametrize("lam", ["cv", 0.01])
def test_probabilities_and_reference_have_the_propensities(lam):
    X, positive, y, e = by_column(800, seed=2)
    model = LinearPUSVC(scenario="censored", lam=lam).fit(X, y, propensity=e)
    share = 1.0 / e[y == 1]
    assert model.reference_.n_labelled == pytest.approx(share.sum() ** 2 / (share @ share))
    chance = np.clip(model.predict_proba(X)[:, 1], 1e-6, 1 - 1e-6)
    loss = -np.mean(np.log(np.where(positive, chance, 1 - chance)))
    fixed = LinearPUSVC(scenario="censored", lam=model.lam_).fit(X, y, propensity=e).predict_proba(X)[:, 1]
    fixed = np.clip(fixed, 1e-6, 1 - 1e-6)
    assert loss == pytest.approx(-np.mean(np.log(np.where(positive, fixed, 1 - fixed))), abs=0.03)


def test_a_labelled_row_of_weight_two_counts_as_two():
    X, _, y, _ = by_column(400, seed=13)
    rows = np.r_[np.flatnonzero(y == 1)[:6], np.flatnonzero(y == 0)]
    weight = np.where(y[rows] == 1, 2, 1)
    model = PUSVC(0.5, scenario="censored", propensity="estimate", propensity_columns=[1])
    weighted = clone(model).fit(X[rows], y[rows], weight)
    again = np.repeat(rows, weight)
    repeated = clone(model).fit(X[again], y[again])
    assert weighted.propensity_ == pytest.approx(repeated.propensity_, rel=0.01)
    with pytest.raises(ValueError, match="at least 10 labelled positives, got 8"):
        clone(model).fit(X[rows[2:]], y[rows[2:]], weight[2:])


@pytest.mark.parametrize("columns", [None, [0]])
def test_equal_rows_of_a_kind_are_refused_unless_groups_divide_them(columns):
    rng = np.random.default_rng(0)
    same, others = np.ones((20, 2)), rng.normal(size=(60, 2))
    model = PUSVC(0.5, scenario="censored", propensity="estimate", propensity_columns=columns)
    with pytest.raises(ValueError, match=r"at least 2 different labelled .* got 1 and 60"):
        model.fit(np.vstack([same, others]), np.arange(80) < 20)
    with pytest.raises(ValueError, match=r"at least 2 different labelled .* got 60 and 1"):
        clone(model).set_params(prior=0.9).fit(np.vstack([same, others]), np.arange(80) >= 20)
    model.fit(np.vstack([same, others]), np.arange(80) < 20, groups=np.arange(80) % 8)
    assert np.isfinite(model.propensity_).all()

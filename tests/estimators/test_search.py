"""λ and γ chosen by cross-validation: ``lam="cv"``, PUSVCCV, and scikit-learn's grid search with a PU scorer."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV

from tests.fitting.moons import moons
from usmo import PUSVC, PUSVCCV, LinearPUSVC, load, path
from usmo.estimators.preparation import prepare_table, specification
from usmo.fitting.folds import deal
from usmo.fitting.kernel_choice import _placements
from usmo.metrics import pu_scorer


def test_lam_cv_chooses_a_lambda_and_fits_with_it():
    X, y, truth, prior = moons(seed=3)
    model = PUSVC(prior, lam="cv").fit(X, y)
    assert model.lam == "cv"
    assert model.lam_ in model.selection_.lams
    same = PUSVC(prior, lam=model.lam_).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-3)
    grid = path(PUSVC(prior), X, y, lams=model.selection_.lams)
    best = max(f1_score(truth, m.predict(X[y == 0])) for m in grid)
    assert f1_score(truth, model.predict(X[y == 0])) > best - 0.06
    assert not hasattr(same, "selection_")
    again = model.set_params(lam=0.01).fit(X, y)
    assert not hasattr(again, "selection_")


@pytest.mark.parametrize("scenario", ["case-control", "censored"])
def test_search_over_lambda_and_gamma(scenario):
    X, y, _, prior = moons(n_p=40, n_u=160)
    search = PUSVCCV(PUSVC(prior, scenario=scenario), lams=[0.1, 0.01], gammas=[0.1, 1.0, 10.0]).fit(X, y)
    assert set(search.cv_results_) == {"lam", "gamma", "mean_risk", "std_error"}
    assert len(search.cv_results_["lam"]) == 6
    assert search.best_estimator_.lam_ == search.best_lam_
    assert search.best_estimator_.gamma == search.best_gamma_
    np.testing.assert_array_equal(search.predict(X), search.best_estimator_.predict(X))
    assert search.predict_proba(X).shape == (200, 2)
    least = PUSVCCV(PUSVC(prior, scenario=scenario), lams=[0.1, 0.01], gammas=[0.1, 1.0, 10.0], rule="min").fit(
        X, y
    )
    k = int(np.argmin(least.cv_results_["mean_risk"]))
    assert (least.best_lam_, least.best_gamma_) == (least.cv_results_["lam"][k], least.cv_results_["gamma"][k])
    clone(search)


def test_linear_search_and_sample_weights():
    X, y, _, prior = moons()
    weight = np.random.default_rng(0).random(len(y)) + 0.5
    search = PUSVCCV(LinearPUSVC(prior), lams=[1.0, 0.01]).fit(X, y, weight)
    assert search.best_lam_ in (1.0, 0.01)
    with pytest.raises(ValueError, match="gammas needs an estimator with a gamma"):
        PUSVCCV(LinearPUSVC(prior), gammas=[1.0]).fit(X, y)


def test_grid_search_with_the_pu_risk_as_score():
    X, y, _, prior = moons(n_p=40, n_u=160)
    search = GridSearchCV(
        PUSVC(prior, threshold=0.0), {"lam": [0.1, 0.01, 1e-3]}, scoring=pu_scorer("double_hinge_risk"), cv=3
    ).fit(X, y)
    assert search.best_params_["lam"] in (0.1, 0.01, 1e-3)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_names_of_columns_are_those_of_the_last_fit_and_the_model_is_saved(tmp_path):
    X, y, _, prior = moons(n_p=20, n_u=80)
    search = PUSVCCV(PUSVC(prior), lams=[0.1, 0.01]).fit(pd.DataFrame(X).add_prefix("c"), y)
    assert search.feature_names_in_.tolist() == [f"c{k}" for k in range(X.shape[1])]
    search.fit(X, y)
    assert not hasattr(search, "feature_names_in_")
    search.save(tmp_path / "search.usmo")
    np.testing.assert_array_equal(load(tmp_path / "search.usmo").decision_function(X), search.decision_function(X))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lams": []}, "lams must be positive"),
        ({"lams": [-1.0]}, "lams must be positive"),
        ({"folds": 1}, "'folds' parameter of PUSVCCV must be an int in the range"),
        ({"rule": "best"}, "'rule' parameter of PUSVCCV must be a str among"),
        ({"gammas": [0.0]}, "gammas must be positive"),
        ({"folds": 500}, "folds must be at most"),
    ],
)
def test_bad_searches_are_refused(arguments, message):
    X, y, _, prior = moons(n_p=10, n_u=40)
    with pytest.raises(ValueError, match=message):
        PUSVCCV(PUSVC(prior), **arguments).fit(X, y)


def test_one_positive_is_too_few_to_choose_lambda():
    with pytest.raises(ValueError, match="lam='cv' needs at least 2 labelled positives"):
        PUSVC(0.3, lam="cv").fit(np.arange(6.0)[:, None], [1, 0, 0, 0, 0, 0])


def test_a_kernel_is_chosen_that_ranks_held_out_positives_best():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    truth = np.abs(X[:, 0]) > 1.2  # no linear function of the columns tells the classes apart
    y = np.where(truth & (rng.random(400) < 0.5), 1, 0)
    prior = float(truth[y == 0].mean())
    search = PUSVCCV(PUSVC(prior, n_trees=30), kernels=["linear", "forest"], lams="auto").fit(X, y)
    choice = search.kernel_choice_
    assert (search.best_kernel_, choice.kernel) == ("forest", "forest")
    assert search.best_estimator_.kernel == "forest"
    assert choice.auc[1] - choice.auc[0] > 2 * choice.error[1] > 0
    assert search.best_lam_ == search.best_estimator_.lam_ == 0.05
    assert not hasattr(search, "selection_")
    same = PUSVC(prior, kernel="forest", n_trees=30).fit(X, y)
    np.testing.assert_array_equal(search.decision_function(X), same.decision_function(X))


def test_the_first_kernel_is_kept_unless_another_is_clearly_better():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 3)), np.arange(300) < 60
    X[:150, 0] += 3.0  # positives lie on one side: a linear function ranks them as well as any other
    for first, second in (("rbf", "linear"), ("linear", "rbf")):
        search = PUSVCCV(PUSVC(0.375), kernels=[first, second], lams=[0.1, 0.01]).fit(X, y)
        assert search.best_kernel_ == first
        assert search.best_lam_ in (0.1, 0.01)


def test_held_out_auc_counts_pairs_in_one_fold_and_ties_half():
    X, y, _, _ = moons(n_p=30, n_u=90)
    table = prepare_table(PUSVC(), X, y, None)
    sample = deal(table, specification(PUSVC(), table), 3, 0)
    f = np.round(np.random.default_rng(0).normal(size=len(sample.rows)), 1)
    pairs = [
        (f[i] > f[j]) + 0.5 * (f[i] == f[j])
        for i in np.flatnonzero(sample.kind == 1)
        for j in np.flatnonzero((sample.kind == 0) & (sample.fold == sample.fold[i]))
    ]
    assert _placements(sample, f).auc == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernels": "rbf"}, "'kernels' parameter of PUSVCCV must be an array-like or None"),
        ({"kernels": []}, "kernels must be a list of names"),
        ({"kernels": ["precomputed"]}, "kernels must be a list of names"),
        ({"kernels": ["cubic"]}, "'kernel' parameter of PUSVC must be"),
        ({"estimator": LinearPUSVC(0.3), "kernels": ["rbf"]}, "kernels needs an estimator with a kernel"),
        ({"lams": "cv"}, "'lams' parameter of PUSVCCV must be an array-like, a str among {'auto'}"),
    ],
)
def test_bad_kernels_and_lams_are_refused(parameters, message):
    X, y, _, _ = moons()
    with pytest.raises(ValueError, match=message):
        PUSVCCV(**parameters).fit(X, y)

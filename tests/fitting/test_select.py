"""The choice of λ and γ, the threshold at the prior, and probabilities, all without negatives."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV

from usmo import PUSVC, LinearPUSVC, path
from usmo.core.shards import Here
from usmo.core.table import Table
from usmo.estimators.calibration import Calibration, calibrated
from usmo.estimators.ramp import RampPUSVC
from usmo.estimators.threshold import Decisions, threshold_over
from usmo.fitting.select import PUSVCCV, select
from usmo.metrics import pu_scorer, risk_with_error


def moons(prior=0.3, n_p=60, n_u=400, seed=0, noise=0.6):
    rng = np.random.default_rng(seed)
    positive = rng.random(n_u) < prior
    angle = rng.random(n_p + n_u) * np.pi
    side = np.r_[np.ones(n_p, bool), positive]
    X = np.c_[np.cos(angle), np.sin(angle)] * np.where(side, 1.0, -1.0)[:, None]
    X += np.where(side, 0.0, 1.0)[:, None] * [1.0, 0.5] + noise * 0.4 * rng.normal(size=X.shape)
    return X, np.r_[np.ones(n_p, int), np.zeros(n_u, int)], positive, positive.mean()


@pytest.mark.parametrize("kind", [PUSVC, LinearPUSVC, RampPUSVC])
@pytest.mark.parametrize("scenario", ["case-control", "censored"])
def test_threshold_at_the_prior_marks_that_share(kind, scenario):
    X, y, _, prior = moons()
    model = kind(prior, scenario=scenario, lam=0.1).fit(X, y)
    sample = X if scenario == "censored" else X[y == 0]
    assert np.mean(model.predict(sample) == 1) == pytest.approx(prior, abs=1.5 / len(sample))
    plain = kind(prior, scenario=scenario, lam=0.1, threshold=0.0).fit(X, y)
    np.testing.assert_allclose(
        plain.decision_function(X), model.decision_function(X) + model.threshold_, atol=1e-10
    )
    assert plain.threshold_ == 0.0


def test_threshold_of_many_rows_is_that_of_sorting_them_all():
    rng = np.random.default_rng(0)
    f = np.concatenate([rng.normal(size=450_000), np.full(5000, -1.0) + 1e-5 * rng.normal(size=5000)])
    for weight in (np.ones(len(f)), rng.random(len(f)) + 0.1):
        for prior in (0.001, 0.3, 0.8413, 0.999):
            found = threshold_over(Here(Decisions(f, weight)), prior, 1e-4)
            parts = [
                Decisions(f[part], weight[part]) for part in (slice(9), slice(9, 300_000), slice(300_000, None))
            ]
            assert threshold_over(Here(*parts), prior, 1e-4) == found
            share = weight[f > found].sum() / weight.sum()
            assert share == pytest.approx(prior, abs=0.012 if prior == 0.8413 else 1e-5)
            assert not 0 < np.abs(found + 1.0) < 1e-5  # not inside the rows at -1


def test_rare_classes_are_decided_by_differences_below_tol():
    """Strong regularisation and a small prior leave f within tol of -1; the fit is more exact than that."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(20, 2)) + 6.0, rng.normal(size=(5, 2)) + 6.0, rng.normal(size=(495, 2))])
    model = PUSVC(0.01, lam=100.0, kernel="linear", solver="blocks").fit(X, (np.arange(520) < 20).astype(int))
    f = model.decision_function(X)
    assert np.ptp(f) < 4.0 * model.tol
    np.testing.assert_array_equal(np.flatnonzero(model.predict(X)), np.arange(25))


@pytest.mark.parametrize("edge", [-1.0, 1.0])
@pytest.mark.parametrize(("others", "prior"), [(0, 0.3), (0, 0.8), (40, 0.1), (40, 0.5), (40, 0.9)])
def test_rows_at_an_edge_fall_on_one_side(edge, others, prior):
    """The solver leaves them within the tolerance of it; which of them are above is chance."""
    tol = 1e-3
    rng = np.random.default_rng(0)
    at_edge = edge + tol * rng.uniform(-1.0, 1.0, 100)
    f = np.concatenate([at_edge, edge + rng.uniform(-0.5, 0.5, others)])
    found = threshold_over(Here(Decisions(f, np.ones(len(f)))), prior, tol)
    assert len(np.unique(at_edge > found)) == 1
    away = np.abs(f - edge) > 4.0 * tol
    possible = [np.mean(f > t) for t in (*f[away], edge - 4.0 * tol, edge + 4.0 * tol)] + [0.0, 1.0]
    assert abs(np.mean(f > found) - prior) == pytest.approx(np.min(np.abs(np.array(possible) - prior)), abs=1e-12)


def test_intercept_holds_the_threshold_so_that_coef_and_intercept_are_the_decision():
    X, y, _, prior = moons()
    model = LinearPUSVC(prior).fit(X, y)
    np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_[0], model.decision_function(X), atol=1e-12)


def test_risks_of_the_selection_are_those_of_separate_fits():
    """Each fold fitted by hand with ``path`` on a table cut to the fold's rows."""
    X, y, _, prior = moons(n_p=30, n_u=120)
    model = PUSVC(prior, gamma=0.7, tol=1e-5, threshold=0.0)
    table = Table.of(X, y, None, square=False)
    lams = [0.1, 0.01, 0.001]
    found = select(model, table, prior, [0.7], lams=lams, folds=3, seed=5)
    rng = np.random.default_rng(5)
    fold = np.empty(len(y), int)
    fold[table.labelled] = rng.permutation(30) % 3
    fold[table.unlabelled] = rng.permutation(120) % 3
    values = np.empty((3, len(y)))
    for k in range(3):
        kept = fold != k
        for j, part in enumerate(path(model, X[kept], y[kept], lams=lams)):
            values[j, ~kept] = part.decision_function(X[~kept])
    for j in range(3):
        risk, error = risk_with_error(y, values[j], prior=prior)
        assert found.mean[0, j] == pytest.approx(risk, abs=0.02)
        assert found.error[0, j] == pytest.approx(error, rel=0.1)
    assert found.best_lam == lams[int(np.argmin(found.mean[0]))]
    within = found.mean[0] <= found.mean.min() + found.error[0, int(np.argmin(found.mean[0]))]
    assert found.lam == max(lam for lam, ok in zip(lams, within, strict=True) if ok)


def test_cross_validated_lambda_is_found_and_used():
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
def test_search_over_both_parameters(scenario):
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


def test_grid_search_of_scikit_learn_takes_the_pu_risk():
    X, y, _, prior = moons(n_p=40, n_u=160)
    search = GridSearchCV(
        PUSVC(prior, threshold=0.0), {"lam": [0.1, 0.01, 1e-3]}, scoring=pu_scorer("double_hinge_risk"), cv=3
    ).fit(X, y)
    assert search.best_params_["lam"] in (0.1, 0.01, 1e-3)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lams": []}, "lams must be positive"),
        ({"lams": [-1.0]}, "lams must be positive"),
        ({"folds": 1}, "folds must be at least 2"),
        ({"rule": "best"}, "rule must be"),
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


def test_probabilities_are_calibrated_on_data_never_seen():
    """|mean probability - share of positives| over ten bins of the probability, on fresh rows of the mixture."""
    errors = []
    for seed in range(3):
        X, y, _, prior = moons(0.35, 150, 1200, seed, noise=1.5)
        Z, _, truth, _ = moons(0.35, 1, 8000, seed + 100, noise=1.5)
        chance = PUSVC(prior, lam="cv").fit(X, y).predict_proba(Z[1:])[:, 1]
        assert chance.min() >= 0
        assert chance.max() <= 1
        bins = np.minimum((chance * 10).astype(int), 9)
        parts = [(np.mean(bins == b), abs(chance[bins == b].mean() - truth[bins == b].mean())) for b in set(bins)]
        errors.append(sum(share * gap for share, gap in parts))
    assert np.mean(errors) < 0.06


def test_probability_is_half_where_the_decision_changes_and_monotone():
    X, y, _, prior = moons()
    model = PUSVC(prior).fit(X, y)
    chance, decision = model.predict_proba(X)[:, 1], model.decision_function(X)
    np.testing.assert_array_equal(chance > 0.5, decision > 0)
    order = np.argsort(decision)
    assert np.all(np.diff(chance[order]) >= 0)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_calibration_finds_slopes_that_made_the_data():
    rng = np.random.default_rng(1)
    made = Calibration(above=1.5, below=4.0)
    decision = rng.normal(-0.3, 1.0, 200_000)
    positive = rng.random(len(decision)) < made(decision)
    d_p, d_u = rng.choice(decision[positive], 8000), decision[:20_000]
    found = calibrated(d_p, d_u, positive.mean(), np.ones(8000), np.ones(20_000))
    grid = np.linspace(-3, 3, 61)
    assert np.abs(found(grid) - made(grid)).max() < 0.05

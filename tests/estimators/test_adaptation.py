"""A fitted model for another mixture of the same classes."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import usmo
from usmo import PUSVC, PUSVCCV, LinearPUSVC, RampPUSVC
from usmo.estimators.adaptation import Reference, _drift, _likeliest_prior, decision_quantiles, mixture_prior
from usmo.estimators.calibration import Calibration, calibrated


def rows(seed, n, prior, moved=0.0):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < prior
    X = rng.normal(size=(n, 2)) + moved
    X[truth, 0] += 3.0
    return X, truth


@pytest.fixture(scope="module", params=[PUSVC, LinearPUSVC, RampPUSVC])
def model(request):
    X, truth = rows(0, 500, 0.5)
    y = truth & (np.arange(500) % 3 == 0)
    prior = float(truth[~y].mean())
    return request.param(prior=prior).fit(X, y.astype(int))


@pytest.mark.parametrize("prior", [0.1, 0.7])
def test_prior_threshold_and_probabilities_follow_the_mixture(model, prior):
    X, truth = rows(1, 1500, prior)
    adapted = model.adapt(X)
    assert adapted.prior_ == pytest.approx(truth.mean(), abs=0.06)
    assert adapted.predict(X).mean() == pytest.approx(adapted.prior_, abs=2 / 1500)
    assert adapted.predict_proba(X)[:, 1].mean() == pytest.approx(adapted.prior_, abs=0.01)
    before, after = (np.mean(each.predict(X) == truth) for each in (model, adapted))
    assert after >= before - 0.005
    assert adapted.prior_interval_[0] < adapted.prior_ < adapted.prior_interval_[1]
    np.testing.assert_array_equal(np.argsort(model.decision_function(X)), np.argsort(adapted.decision_function(X)))


def test_the_model_itself_is_not_changed(model):
    X, _ = rows(2, 300, 0.2)
    before = model.predict_proba(X)
    prior = model.prior_
    model.adapt(X)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.prior_ == prior


def test_a_table_that_fits_is_not_called_drift_and_another_one_is(model, recwarn):
    X, _ = rows(3, 800, 0.2)
    assert model.adapt(X).drift_ < 0.1
    assert not recwarn.list
    other, _ = rows(4, 800, 0.1, moved=1.5)
    with pytest.warns(UserWarning, match="does not fit.*#drift"):
        assert model.adapt(other).drift_ > 0.1


def test_an_adapted_model_is_stored_and_adapted_again(model, tmp_path):
    X, _ = rows(5, 800, 0.2)
    once = model.adapt(X)
    once.save(tmp_path / "model.usmo")
    loaded = usmo.load(tmp_path / "model.usmo")
    np.testing.assert_allclose(loaded.predict_proba(X), once.predict_proba(X))
    assert loaded.prior_interval_ == once.prior_interval_
    # every copy refers to the training table
    for other in (X, rows(6, 800, 0.5)[0]):
        again, direct = loaded.adapt(other), model.adapt(other)
        assert again.prior_ == pytest.approx(direct.prior_, abs=1e-9)
        assert again.prior_interval_ == pytest.approx(direct.prior_interval_, abs=1e-9)
        np.testing.assert_allclose(again.predict_proba(other), direct.predict_proba(other), atol=1e-9)


def test_a_model_of_an_older_file_is_adapted_without_a_check_of_drift(model):
    older = copy.copy(model)
    del older.reference_
    X, truth = rows(11, 1500, 0.2)
    adapted = older.adapt(X)
    assert adapted.prior_ == pytest.approx(truth.mean(), abs=0.08)
    assert not hasattr(adapted, "drift_")


def test_a_given_threshold_stays():
    X, truth = rows(7, 300, 0.5)
    y = (truth & (np.arange(300) % 2 == 0)).astype(int)
    fitted = PUSVC(prior=0.4, threshold=0.2).fit(X, y)
    adapted = fitted.adapt(rows(8, 300, 0.1)[0])
    assert adapted.threshold_ == 0.2
    np.testing.assert_array_equal(adapted.decision_function(X), fitted.decision_function(X))
    assert adapted.prior_ < fitted.prior_


def test_the_prior_maximises_the_likelihood_of_the_mixture():
    rng = np.random.default_rng(0)
    chance = rng.beta(0.5, 0.5, 2000)
    value, (low, high) = _likeliest_prior(chance, 0.4)
    grid = np.linspace(0.001, 0.999, 999)
    terms = grid[:, None] * chance / 0.4 + (1 - grid[:, None]) * (1 - chance) / 0.6
    assert value == pytest.approx(grid[np.log(terms).sum(axis=1).argmax()], abs=2e-3)
    assert low < value < high


PRIOR, CURVE = 0.5, Calibration(1.0, 4.0)
"""The prior of training, and a curve that is far from the true one of the classes below."""


def values(rng, n, prior):
    """Decision values of n rows: normal with mean 1 in the one class, -1 in the other."""
    return rng.normal(size=n) + np.where(rng.random(n) < prior, 1.0, -1.0)


def reference_of(rng, p, n):
    on_p, on_u = values(rng, p, 1.0), values(rng, n, PRIOR)
    kept = (decision_quantiles(d, np.ones(len(d))) for d in (on_p, on_u))
    return Reference(PRIOR, PRIOR, PRIOR, *kept, float(p), float(n), 0.0)


@pytest.mark.parametrize("prior", [0.1, 0.7])
def test_the_interval_covers_with_few_labelled_positives_and_a_wrong_curve(prior):
    rng = np.random.default_rng(0)
    found = [mixture_prior(reference_of(rng, 20, 150), CURVE, values(rng, 1000, prior)) for _ in range(300)]
    covered = np.mean([low <= prior <= high for _, (low, high) in found])
    # the error of the table alone gives about 0.5
    assert 0.85 <= covered <= 0.97
    assert all(low <= value <= high for value, (low, high) in found)


@pytest.mark.parametrize("prior", [0.1, 0.9])
def test_the_interval_covers_with_a_handful_of_labelled_positives(prior):
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        on_p, on_u = values(rng, 4, 1.0), values(rng, 200, PRIOR)
        curve = calibrated(on_p, on_u, PRIOR, np.ones(4), np.ones(200))  # on the same rows, as in a fit
        kept = (decision_quantiles(d, np.ones(len(d))) for d in (on_p, on_u))
        known = Reference(PRIOR, PRIOR, PRIOR, *kept, 4.0, 200.0, 0.0)
        low, high = mixture_prior(known, curve, values(rng, 1000, prior))[1]
        covered += low <= prior <= high
    assert covered >= 170


def test_few_labelled_positives_that_trees_have_seen_leave_the_mixture_open():
    """Held-out labelled rows then have a probability of nearly 1, which is no measure of their error."""
    rng = np.random.default_rng(0)
    p, u = np.full(201, 9.0), decision_quantiles(values(rng, 200, PRIOR), np.ones(200))
    known, d = Reference(PRIOR, PRIOR, PRIOR, p, u, 10.0, 200.0, 0.0), values(rng, 1000, 0.7)
    (low, high), (lowest, highest) = (mixture_prior(known, CURVE, d, seen=seen)[1] for seen in (False, True))
    assert not low <= 0.7 <= high
    assert lowest <= 0.7 <= highest
    many = replace(known, n_labelled=20.0)
    assert mixture_prior(many, CURVE, d, seen=True) == mixture_prior(many, CURVE, d)


@pytest.mark.parametrize("decision", [0.0, 0.37, -2.0])
def test_values_that_are_all_equal_say_nothing_of_the_prior(decision):
    p, u, d = np.full(201, decision), np.full(201, decision), np.full(77, decision)
    value, (low, high) = mixture_prior(Reference(0.3, 0.3, 0.3, p, u, 60.0, 200.0, 0.0), CURVE, d)
    assert value == pytest.approx(0.3, abs=0.02)  # that of training
    assert low < 0.01
    assert high > 0.99


def test_each_sample_of_training_and_the_interval_of_its_prior_widen_the_interval():
    def width(p, n, **interval):
        rng = np.random.default_rng(1)
        known = replace(reference_of(rng, 2000, 2000), n_labelled=float(p), n_unlabelled=float(n), **interval)
        low, high = mixture_prior(known, CURVE, values(rng, 2000, 0.3))[1]
        return high - low

    narrow = width(2000, 2000)
    assert width(50, 2000) > 1.2 * narrow
    assert width(2000, 100) > 1.5 * narrow
    assert width(2000, 2000, low=0.4, high=0.6) > 1.5 * narrow


def test_tables_that_fit_are_called_drift_in_one_of_twenty_cases_at_most(recwarn):
    rng = np.random.default_rng(2)
    curve = Calibration(2.0, 2.0)  # the true one
    for _ in range(200):
        known, d = reference_of(rng, 40, 150), values(rng, 150, 0.3)
        _drift(known, curve, d, mixture_prior(known, curve, d)[1])
    assert len(recwarn.list) <= 10


def test_quantiles_of_weighted_values_are_those_of_repeated_values():
    rng = np.random.default_rng(0)
    d, weight = rng.normal(size=400), rng.integers(1, 4, 400).astype(float)
    repeated = np.repeat(d, weight.astype(int))
    np.testing.assert_allclose(
        decision_quantiles(d, weight), decision_quantiles(repeated, np.ones(len(repeated))), atol=0.1
    )


def test_a_search_adapts_the_classifier_that_it_chose():
    X, truth = rows(9, 300, 0.5)
    y = (truth & (np.arange(300) % 2 == 0)).astype(int)
    search = PUSVCCV(PUSVC(prior=0.4), lams=[0.01]).fit(X, y)
    new = rows(10, 400, 0.1)[0]
    adapted, direct = search.adapt(new), search.best_estimator_.adapt(new)
    assert adapted.prior_ == direct.prior_ < search.prior_
    np.testing.assert_array_equal(adapted.predict(new), direct.predict(new))
    assert search.prior_ == search.best_estimator_.prior_ == 0.4


def test_adapt_needs_a_fit_and_rows(model):
    with pytest.raises(NotFittedError):
        PUSVC().adapt(np.eye(2))
    with pytest.raises(ValueError, match=r"minimum of 1|at least one row"):
        model.adapt(np.zeros((0, 2)))


def test_a_few_rows_say_little():
    X, truth = rows(0, 500, 0.4)
    model = PUSVC(0.4, scenario="censored").fit(X, truth & (np.arange(500) % 3 == 0))
    for size, widest in ((1, 0.7), (3, 0.3)):
        found = [model.adapt(rows(seed, size, 0.4)[0]) for seed in range(20)]
        intervals = np.array([each.prior_interval_ for each in found])
        assert np.diff(intervals, axis=1).min() > widest
        assert np.mean((intervals[:, 0] <= 0.4) & (intervals[:, 1] >= 0.4)) > 0.8

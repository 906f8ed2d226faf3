"""Probabilities without negatives: calibrated on new rows, monotone, ½ at the decision."""

import numpy as np
import pytest
from scipy.special import expit, logit

from tests.fitting.moons import moons
from usmo import PUSVC, load
from usmo.estimators.calibration import Calibration, calibrated


def test_probabilities_are_calibrated_on_new_rows():
    """|mean probability - share of positives| over ten bins of the probability, on new rows of the mixture."""
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


def test_probability_is_monotone_and_half_at_the_decision():
    X, y, _, prior = moons()
    model = PUSVC(prior).fit(X, y)
    chance, decision = model.predict_proba(X)[:, 1], model.decision_function(X)
    np.testing.assert_array_equal(chance > 0.5, decision > 0)
    order = np.argsort(decision)
    assert np.all(np.diff(chance[order]) >= 0)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_calibration_recovers_the_slopes_that_generated_the_labels():
    rng = np.random.default_rng(1)
    true = Calibration(above=1.5, below=4.0)
    decision = rng.normal(-0.3, 1.0, 200_000)
    positive = rng.random(len(decision)) < true(decision)
    d_p, d_u = rng.choice(decision[positive], 8000), decision[:20_000]
    fitted = calibrated(d_p, d_u, positive.mean(), np.ones(8000), np.ones(20_000))
    grid = np.linspace(-3, 3, 61)
    assert np.abs(fitted(grid) - true(grid)).max() < 0.05


PRIOR, GAP, COLUMNS = 0.3, 2.0, 10


def normal_rows(rng, n):
    """Rows of two normal classes whose means differ by GAP in the first column, and which are positive."""
    truth = rng.random(n) < PRIOR
    X = rng.normal(size=(n, COLUMNS))
    X[:, 0] += GAP * (truth - 0.5)
    return X, truth


def test_probabilities_are_nearer_to_the_posterior_than_with_values_of_the_fit():
    """The fit draws its labelled rows up. Probabilities are calibrated on values as if each row had not been there."""
    excess, surplus = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, truth = normal_rows(rng, 400)
        labelled = truth & (rng.random(len(X)) < 0.4)
        model = PUSVC(PRIOR, scenario="censored").fit(X, labelled.astype(int))
        f = model.decision_function(X)
        by_fit = calibrated(f[labelled], f, PRIOR, np.ones(labelled.sum()), np.ones(len(f)))
        Z, _ = normal_rows(rng, 5000)
        posterior, d = expit(GAP * Z[:, 0] + logit(PRIOR)), model.decision_function(Z)

        def log_loss(chance, posterior=posterior):
            return -np.mean(posterior * np.log(chance) + (1 - posterior) * np.log1p(-chance))

        excess.append([log_loss(curve(d)) - log_loss(posterior) for curve in (by_fit, model.calibration_)])
        # mean probability of labelled rows minus that of new positives
        known = (by_fit, f[labelled]), (model.calibration_, model.reference_.labelled)
        surplus.append([curve(own).mean() - np.average(curve(d), weights=posterior) for curve, own in known])
    (by_fit, held_out), (fit_surplus, held_out_surplus) = np.mean(excess, axis=0), np.mean(surplus, axis=0)
    assert held_out < 0.8 * by_fit
    assert fit_surplus > 0.1
    assert abs(held_out_surplus) < 0.05


def test_mean_probability_is_the_prior_where_many_rows_have_the_same_value():
    ones = np.ones(400)
    flat = calibrated(np.zeros(50), np.zeros(400), 0.2, ones[:50], ones)
    np.testing.assert_allclose(flat(np.zeros(3)), 0.2, atol=1e-9)
    tied = np.r_[np.full(300, 0.5), np.full(100, -1.0)]  # the threshold calls 3/4 of the rows positive
    found = calibrated(np.full(50, 0.5), tied, 0.2, ones[:50], ones)
    assert found(tied).mean() == pytest.approx(0.2, abs=1e-9)
    assert found.offset < 0
    spread = np.random.default_rng(0).normal(-0.5, 1.0, 400)
    many = calibrated(spread[spread > 0], spread, float(np.mean(spread > 0)), 1e6 * ones[spread > 0], 1e6 * ones)
    assert many.offset == 0


def test_a_threshold_far_from_the_prior_does_not_flatten_probabilities():
    rng = np.random.default_rng(0)
    d = rng.normal(1.0, 1.0, 4000)  # the threshold calls most rows positive
    p = expit(3.0 * d - 6.0)
    labelled = rng.random(4000) < 0.5 * p
    found = calibrated(d[labelled], d, float(p.mean()), np.ones(np.count_nonzero(labelled)), np.ones(4000))
    assert np.abs(found(d) - p).mean() < 0.02
    assert found(d).mean() == pytest.approx(p.mean(), abs=1e-9)


def test_the_offset_of_probabilities_is_kept_in_a_file(tmp_path):
    X = np.r_[np.zeros((20, 1)), np.zeros((150, 1)), np.ones((50, 1))]
    y = np.r_[np.ones(20, int), np.zeros(200, int)]
    model = PUSVC(0.3, threshold=0.0, lam=0.01).fit(X, y)
    assert model.calibration_.offset != 0
    assert model.predict_proba(X[y == 0])[:, 1].mean() == pytest.approx(0.3, abs=1e-9)
    model.save(tmp_path / "m.usmo")
    np.testing.assert_array_equal(load(tmp_path / "m.usmo").predict_proba(X), model.predict_proba(X))

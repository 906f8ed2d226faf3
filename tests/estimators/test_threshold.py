"""The threshold at the prior: the share called positive, many rows, shards, rows at -1 and 1."""

import numpy as np
import pytest

from tests.fitting.moons import moons
from usmo import PUSVC, LinearPUSVC
from usmo.core.shards import LocalShards
from usmo.estimators.ramp import RampPUSVC
from usmo.estimators.threshold import ValueShard, threshold_at_prior


@pytest.mark.parametrize("estimator", [PUSVC, LinearPUSVC, RampPUSVC])
@pytest.mark.parametrize("scenario", ["case-control", "censored"])
def test_that_share_of_the_unlabelled_rows_is_called_positive(estimator, scenario):
    X, y, _, prior = moons()
    model = estimator(prior, scenario=scenario, lam=0.1).fit(X, y)
    sample = X if scenario == "censored" else X[y == 0]
    assert np.mean(model.predict(sample) == 1) == pytest.approx(prior, abs=1.5 / len(sample))
    plain = estimator(prior, scenario=scenario, lam=0.1, threshold=0.0).fit(X, y)
    np.testing.assert_allclose(
        plain.decision_function(X), model.decision_function(X) + model.threshold_, atol=1e-10
    )
    assert plain.threshold_ == 0.0


def test_threshold_of_many_rows_in_shards_equals_that_of_sorting_all():
    rng = np.random.default_rng(0)
    f = np.concatenate([rng.normal(size=450_000), np.full(5000, -1.0) + 1e-5 * rng.normal(size=5000)])
    for weight in (np.ones(len(f)), rng.random(len(f)) + 0.1):
        for prior in (0.001, 0.3, 0.8413, 0.999):
            at = threshold_at_prior(LocalShards(ValueShard(f, weight)), prior, 1e-4)
            parts = [
                ValueShard(f[part], weight[part]) for part in (slice(9), slice(9, 300_000), slice(300_000, None))
            ]
            assert threshold_at_prior(LocalShards(*parts), prior, 1e-4) == at
            share = weight[f > at].sum() / weight.sum()
            assert share == pytest.approx(prior, abs=0.012 if prior == 0.8413 else 1e-5)
            assert not 0 < np.abs(at + 1.0) < 1e-5  # not among the rows at -1


def test_rare_classes_are_decided_by_differences_below_tol():
    """Strong regularisation and a small prior leave f within tol of -1, but the fit is more accurate than tol."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(20, 2)) + 6.0, rng.normal(size=(5, 2)) + 6.0, rng.normal(size=(495, 2))])
    model = PUSVC(0.01, lam=100.0, kernel="linear", solver="blocks", class_weight=None)
    model.fit(X, (np.arange(520) < 20).astype(int))
    f = model.decision_function(X)
    assert np.ptp(f) < 4.0 * model.tol
    np.testing.assert_array_equal(np.flatnonzero(model.predict(X)), np.arange(25))


@pytest.mark.parametrize("edge", [-1.0, 1.0])
@pytest.mark.parametrize(("others", "prior"), [(0, 0.3), (0, 0.8), (40, 0.1), (40, 0.5), (40, 0.9)])
def test_rows_at_an_edge_fall_on_one_side(edge, others, prior):
    """The solver leaves them within the tolerance of the edge, above or below it by chance."""
    tol = 1e-3
    rng = np.random.default_rng(0)
    at_edge = edge + tol * rng.uniform(-1.0, 1.0, 100)
    f = np.concatenate([at_edge, edge + rng.uniform(-0.5, 0.5, others)])
    at = threshold_at_prior(LocalShards(ValueShard(f, np.ones(len(f)))), prior, tol)
    assert len(np.unique(at_edge > at)) == 1
    away = np.abs(f - edge) > 4.0 * tol
    possible = [np.mean(f > t) for t in (*f[away], edge - 4.0 * tol, edge + 4.0 * tol)] + [0.0, 1.0]
    assert abs(np.mean(f > at) - prior) == pytest.approx(np.min(np.abs(np.array(possible) - prior)), abs=1e-12)


def test_intercept_includes_the_threshold():
    X, y, _, prior = moons()
    model = LinearPUSVC(prior).fit(X, y)
    np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_[0], model.decision_function(X), atol=1e-12)

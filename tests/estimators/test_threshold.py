"""The threshold at the prior: the share called positive, many rows, shards, rows that cannot be told apart."""

import warnings

import numpy as np
import pytest

from tests.fitting.moons import moons
from usmo import PUSVC, LinearPUSVC
from usmo.core.shards import LocalShards
from usmo.estimators.counts import Counts
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
            at = threshold_at_prior(LocalShards(ValueShard(f, weight)), prior)
            parts = [
                ValueShard(f[part], weight[part]) for part in (slice(9), slice(9, 300_000), slice(300_000, None))
            ]
            assert threshold_at_prior(LocalShards(*parts), prior) == at
            share = weight[f > at].sum() / weight.sum()
            assert share == pytest.approx(prior, abs=1e-5)


def test_rare_classes_are_decided_by_differences_below_tol():
    """Strong regularisation and a small prior leave f within tol of -1, but the fit is more accurate than tol."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(20, 2)) + 6.0, rng.normal(size=(5, 2)) + 6.0, rng.normal(size=(495, 2))])
    model = PUSVC(0.01, lam=100.0, kernel="linear", solver="blocks", class_weight=None)
    model.fit(X, (np.arange(520) < 20).astype(int))
    f = model.decision_function(X)
    assert np.ptp(f) < 4.0 * model.tol
    np.testing.assert_array_equal(np.flatnonzero(model.predict(X)), np.arange(25))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("class_weight", ["balanced", None])
@pytest.mark.parametrize("lam", [10.0, 1.0, 0.1])
@pytest.mark.parametrize("prior", [0.1, 0.31, 0.6])
def test_that_share_is_called_positive_where_f_hardly_varies(kernel, class_weight, lam, prior):
    """Columns of noise and strong regularisation leave all rows within the tolerance of -1 or 1."""
    X = np.random.default_rng(0).normal(size=(500, 6))
    y = (np.arange(500) < 30).astype(int)
    model = PUSVC(prior, lam=lam, kernel=kernel, class_weight=class_weight, tol=1e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = model.fit(X, y).decision_function(X)
    if len(np.unique(np.round(f, 9))) == len(f):  # the linear optimum may be constant up to rounding
        assert np.count_nonzero(f[y == 0] > 0) == round(prior * 470)
        assert Counts.of(model, f, y).equal == 0


def test_rows_that_cannot_be_told_apart_are_called_alike_and_counted():
    X = np.repeat(np.array([[0.0], [1.0], [2.0]]), [300, 150, 50], axis=0)
    X = np.vstack([np.full((20, 1), 2.0), X])
    y = (np.arange(520) < 20).astype(int)
    with pytest.warns(
        UserWarning, match=r"0\.1 of the unlabelled rows are called positive, not the prior of 0\.2"
    ):
        model = PUSVC(0.2, lam=0.1).fit(X, y)
    counts = Counts.of(model, model.decision_function(X), y)
    assert (counts.marked, counts.expected, counts.equal) == (50, 100.0, 150)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Counts.of(model.set_params(prior=0.4).fit(X, y), model.decision_function(X), y).marked == 200


def test_rows_at_the_threshold_up_to_the_precision_of_the_fit_are_counted():
    X, y, _, prior = moons()
    model = PUSVC(prior).fit(X, y)
    f = model.decision_function(X)
    near = 4.0 * min(model.tol, model.certificate_.kkt_violation) + 1e-6
    assert Counts.of(model, f, y).close == np.count_nonzero(np.abs(f[y == 0]) <= near)


def test_intercept_includes_the_threshold():
    X, y, _, prior = moons()
    model = LinearPUSVC(prior).fit(X, y)
    np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_[0], model.decision_function(X), atol=1e-12)

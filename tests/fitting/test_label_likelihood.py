"""The likelihood of labels by class and propensity: against its definition, brute force and simulated labels."""

import numpy as np
import pytest
from scipy.special import expit

from usmo.fitting.label_likelihood import LabelData, fit_labels


def simulated(seed, slope, n=2500, on_class=1.0):
    """Two columns, the second with this slope in the propensity; the class depends on both."""
    rng = np.random.default_rng(seed)
    score, z = rng.normal(size=(2, n))
    p = expit(3.0 * score + on_class * z - 1.0)
    e = expit(-0.5 + slope * z)
    labelled = (rng.random(n) < p) & (rng.random(n) < e)
    A = np.column_stack([score, z])
    return LabelData(A, z[:, None], labelled, np.ones(n), float(p.mean())), e


def test_known_slopes_are_recovered():
    for seed, slope in enumerate((-1.5, 1.0, 2.0)):
        data, e = simulated(seed, slope)
        model = fit_labels(data)
        assert model.v[0] == pytest.approx(slope, abs=0.5)
        assert np.abs(model.propensity(data.Z) - e).mean() < 0.08
        assert model.positive(data.A).mean() == pytest.approx(data.prior, abs=2e-3)


@pytest.mark.parametrize("seed", [12, 17])
def test_known_slope_is_recovered_where_the_prior_is_hardly_known(seed):
    """A constant propensity is then fitted as 1, where the likelihood is flat in the slope."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(2000, 2))
    p, e = expit(2.0 * A[:, 0] - 0.8), expit(0.2 + 1.2 * A[:, 1])
    labelled = rng.random(2000) < p * e
    model = fit_labels(LabelData(A, A[:, 1:], labelled, np.ones(2000), float(p.mean()), prior_error=0.5))
    assert model.v[0] == pytest.approx(1.2, abs=0.5)
    found, own = (
        np.where(labelled, np.log(r), np.log(1.0 - r)).sum()
        for r in (model.positive(A) * model.propensity(A[:, 1:]), p * e)
    )
    assert found > own  # the labels are at least as likely as by the coefficients that made them


def test_propensity_is_constant_for_labels_at_random_though_the_column_tells_the_class():
    constant = 0
    for seed in range(12):
        data, _ = simulated(seed, 0.0, n=800, on_class=1.5)
        model = fit_labels(data)
        constant += model.spread == 0.0
        if model.spread == 0.0:
            assert (model.v == 0.0).all()
            assert model.evidence == model.evidence_constant
    assert constant >= 11


def test_no_other_coefficients_have_a_larger_penalised_likelihood():
    """Written out: the log-likelihood, less the ridges of w and v and the penalty of the level."""
    data, _ = simulated(4, 1.5, n=600)
    model = fit_labels(data)
    assert model.spread > 0
    n = len(data.labelled)

    def value(w, b, u, v):
        p, e = expit(data.A @ w + b), expit(u + data.Z @ v)
        log = np.where(data.labelled, np.log(p * e), np.log(1 - p * e)).sum()
        level = 100.0 * n * (p.mean() - data.prior) ** 2
        return log - 0.5 * (0.01 * w @ w + v @ v / model.spread**2 + level)

    best = value(model.w, model.b, model.u, model.v)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(40):
            step = size * rng.normal(size=5)
            assert (
                value(model.w + step[:2], model.b + step[2], model.u + step[3], model.v + step[4:]) < best + 1e-4
            )


def test_increasing_propensity_does_not_fall():
    data, _ = simulated(5, -1.5)
    data = LabelData(data.A, data.Z, data.labelled, data.weight, data.prior, increasing=True)
    assert (fit_labels(data).v >= 0.0).all()


def test_weights_count_rows():
    data, _ = simulated(6, 1.5, n=400)
    twice = np.repeat(np.arange(400), np.where(np.arange(400) < 100, 2, 1))
    weight = np.where(np.arange(400) < 100, 2.0, 1.0)
    weighted = fit_labels(LabelData(data.A, data.Z, data.labelled, weight, data.prior))
    repeated = fit_labels(LabelData(data.A[twice], data.Z[twice], data.labelled[twice], np.ones(500), data.prior))
    assert weighted.spread == repeated.spread
    np.testing.assert_allclose(weighted.v, repeated.v, atol=1e-3)

"""Known negatives make the measures more precise, and leave them unbiased."""

import numpy as np
import pytest

from usmo.metrics import pu_f1, pu_false_positive_rate, pu_roc_auc, risk_with_error


def draw(rng, n_p, n_u, n_n):
    """Decision values of P, U (a fifth positive) and N, and their labels."""
    hidden = rng.random(n_u) < 0.2
    f = np.concatenate([rng.normal(1, 1, n_p), rng.normal(np.where(hidden, 1.0, -1.0), 1), rng.normal(-1, 1, n_n)])
    return np.r_[np.ones(n_p, int), np.zeros(n_u, int), -np.ones(n_n, int)], f


@pytest.mark.parametrize("measure", [pu_false_positive_rate, pu_f1, pu_roc_auc])
def test_negatives_lower_the_variance_and_not_the_mean(measure):
    rng = np.random.default_rng(0)
    exact = measure(*draw(rng, 200_000, 1_000_000, 0), prior=0.2)
    with_n, without = [], []
    for _ in range(300):
        y, f = draw(rng, 60, 100, 200)
        with_n.append(measure(y, f, prior=0.2))
        without.append(measure(y[y >= 0], f[y >= 0], prior=0.2))
    assert np.std(with_n) < 0.9 * np.std(without)
    assert np.mean(with_n) == pytest.approx(exact, abs=0.02)


def test_error_of_the_risk_with_negatives_is_that_of_repeated_draws():
    rng = np.random.default_rng(1)
    options = {"prior": 0.2, "eta": 0.4, "class_weight": {0: 1, 1: 3}}
    values = [risk_with_error(*draw(rng, 60, 200, 80), **options) for _ in range(400)]
    risks, errors = np.array(values).T
    assert np.mean(errors) == pytest.approx(np.std(risks), rel=0.1)

"""The prior estimators are scikit-learn estimators, without ``predict`` and ``transform``."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.priors.estimates import estimator
from usmo.priors import ESTIMATORS, NEED_NEGATIVES, Consensus, PriorEstimator

QUICK = {"n_bootstrap": 0, "folds": 2, "classifier": LogisticRegression()}
"""Parameters with which a fit takes little time; the default scores are checked with ``Consensus``."""


PLAIN = {name: cls for name, cls in ESTIMATORS.items() if name not in NEED_NEGATIVES}


def quick(cls: type[PriorEstimator]) -> PriorEstimator:
    return cls(**{name: value for name, value in QUICK.items() if name in cls().get_params()})


@parametrize_with_checks(
    [Consensus(folds=2, n_bootstrap=0), *(quick(cls) for cls in PLAIN.values() if cls is not Consensus)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def table(seed=0, n=40):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < n // 3).astype(int)
    X = rng.normal(size=(n, 3)) + y[:, None]
    X[::5] = np.round(X[::5])
    return X, y, rng


@pytest.mark.parametrize("name", list(PLAIN))
def test_weights_are_repetitions_and_the_order_of_rows_has_no_effect(name):
    X, y, rng = table()
    weight = rng.integers(0, 4, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    one = estimator(name, 2, scenario="censored").fit(X, y, weight)
    two = estimator(name, 2, scenario="censored").fit(X[rows], y[rows])
    assert one.prior_ == pytest.approx(two.prior_, rel=1e-12)
    assert one.interval_ == pytest.approx(two.interval_, rel=1e-12)


@pytest.mark.parametrize("name", list(PLAIN))
def test_weights_stay_repetitions_where_a_sample_of_the_rows_is_used(name, monkeypatch):
    cls = ESTIMATORS[name]
    monkeypatch.setattr(cls, "_most_rows", 15)
    X, y, rng = table(1, 90)
    weight = rng.integers(0, 4, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    assert quick(cls).fit(X, y, weight).prior_ == pytest.approx(quick(cls).fit(X[rows], y[rows]).prior_, rel=1e-12)


def test_one_distinct_row_of_a_kind_is_enough():
    for name, cls in ESTIMATORS.items():
        X = np.r_[np.zeros((6, 2)), np.eye(2)[[0, 1, 0, 1, 0]]]
        y = (np.arange(11) < 6).astype(int)
        if name in ("known-negatives", "negatives-only"):
            y[-2:] = -1
        model = quick(cls).fit(X, y)
        assert 0 < model.prior_ < 1, name


@pytest.mark.parametrize(
    ("y", "weight", "message"),
    [
        ([1, 1, 0, 0, 0, 0], np.ones(5), r"sample_weight.shape == \(5,\), expected \(6,\)"),
        ([1, 1, 0, 0, 0, 0], [1, -1, 1, 1, 1, 1], "Negative values"),
        ([1, 1, 0, 0, 0, 0], [1, 0, 1, 1, 1, 1], "at least 2 labelled positives .* got 1 and 4"),
        ([1, 1, 1, 1, 1, 1], None, "only one class"),
        ([0, 1, 2, 0, 1, 2], None, "y holds 3 values"),
    ],
)
def test_bad_labels_and_weights_are_refused(y, weight, message):
    with pytest.raises(ValueError, match=message):
        quick(Consensus).fit(np.eye(6), y, weight)


def test_huge_integer_weights_do_not_make_huge_bootstrap_samples():
    """Weights as a scale: ten rows of weight 1e12 each."""
    X, y, _ = table(n=10)
    model = ESTIMATORS["tice"](n_bootstrap=2).fit(X, y, np.full(10, 1e12))
    assert 0 < model.prior_ < 1

"""The best-bin estimator on mixtures whose prior is known."""

import numpy as np
import pytest
from scipy import sparse

from usmo.kernels.row_sampling import row_keys
from usmo.priors import BestBin
from usmo.priors.scores import held_out_scores


def mixture(prior, seed=0, n_p=300, n_u=1200, distance=4.0):
    rng = np.random.default_rng(seed)
    hidden = rng.random(n_u) < prior
    positive = rng.normal(size=(n_p, 2))
    unlabelled = rng.normal(size=(n_u, 2)) - np.where(hidden, 0.0, distance)[:, None]
    return np.vstack([positive, unlabelled]), np.r_[np.ones(n_p), np.zeros(n_u)], hidden.mean()


@pytest.mark.parametrize(("prior", "limit"), [(0.05, 0.01), (0.2, 0.01), (0.5, 0.03), (0.8, 0.06)])
def test_estimate_is_near_the_truth_where_classes_separate(prior, limit):
    errors = []
    for seed in range(5):
        X, y, true = mixture(prior, seed)
        model = BestBin().fit(X, y)
        low, high = model.interval_
        assert low <= model.prior_ <= high
        assert low <= true <= high
        errors.append(abs(model.prior_ - true))
    assert np.mean(errors) < limit


def test_estimate_does_not_fall_far_below_the_truth_where_classes_overlap():
    for seed in range(5):
        X, y, true = mixture(0.3, seed, distance=1.0)
        assert BestBin().fit(X, y).prior_ > true - 0.05


def test_censored_prior_counts_the_labelled_rows():
    X, y, _true = mixture(0.4, 1)
    plain, censored = BestBin().fit(X, y), BestBin(scenario="censored").fit(X, y)
    share = (300 + 1200 * plain.prior_) / 1500
    assert censored.prior_ == pytest.approx(share)
    assert censored.diagnostics_["prior_unlabelled"] == plain.prior_


def test_sparse_and_dense_rows_have_the_same_keys_and_near_estimates():
    X, y, _ = mixture(0.3, 3)
    X = X * (np.abs(X) > 0.3)
    thin = sparse.csr_matrix(X)
    np.testing.assert_array_equal(row_keys(thin, 0), row_keys(X, 0))
    assert BestBin().fit(thin, y).prior_ == pytest.approx(BestBin().fit(X, y).prior_, abs=0.05)


def test_seed_changes_the_folds():
    X, y, _ = mixture(0.3, 3)
    assert BestBin(random_state=None).fit(X, y).prior_ == BestBin().fit(X, y).prior_
    assert BestBin(random_state=1).fit(X, y).prior_ != BestBin(random_state=2).fit(X, y).prior_


def test_scores_are_held_out():
    """Rows of noise, labels by coin: held-out scores cannot tell them apart, fitted ones would."""
    rng = np.random.default_rng(0)
    X, labelled = rng.normal(size=(300, 30)), rng.random(300) < 0.5
    X[150:] = X[:150]  # each row twice, so that splitting equal rows over folds would leak
    labelled[150:] = labelled[:150]
    score = held_out_scores(X, labelled, np.ones(300), row_keys(X, 0), 5)
    above = np.mean([np.mean(s > score[~labelled]) for s in score[labelled]])
    assert 0.35 < above < 0.65


def test_estimate_stays_inside_the_unit_interval():
    rng = np.random.default_rng(0)
    same = rng.normal(size=(100, 2))
    y = np.r_[np.ones(50), np.zeros(50)]
    assert 0.5 < BestBin().fit(same, y).prior_ < 1
    apart = np.vstack([same[:50], same[50:] + 50.0])
    assert 0 < BestBin().fit(apart, y).prior_ < 0.1
    assert 0 < BestBin().fit(np.ones((10, 1)), np.arange(10) % 2).prior_ < 1

"""Sensitivity to the prior: the expected number of positives, the priors tried, models without a path."""

import numpy as np
import pytest

from tests.oracles import random_table
from usmo.estimators.counts import expected_positives
from usmo.estimators.pusvc import PUSVC
from usmo.estimators.ramp import RampPUSVC
from usmo.estimators.sensitivity import prior_sensitivity, unfitted_copy


@pytest.fixture(scope="module")
def table():
    X, y = random_table(0, n=120, p=30, d=2)
    return X, y == 1


def test_expected_positives_of_a_censored_sample_leave_out_the_labelled_ones():
    assert expected_positives(0.25, 50, 200, "case-control") == 50.0
    assert expected_positives(0.25, 50, 200, "censored") == 12.5
    assert expected_positives(0.1, 50, 200, "censored") == 0.0  # the labelled rows alone are a fifth
    assert expected_positives(0.999, 1, 2, "censored") <= 2.0


def test_priors_of_a_censored_sample_begin_at_its_labelled_share(table):
    X, labelled = table
    model = PUSVC(0.25, lam=0.01, scenario="censored").fit(X, labelled)
    result = prior_sensitivity(model, X, labelled, count=5)
    np.testing.assert_allclose(result.priors, [0.2, 0.225, 0.25, 0.3125, 0.375])
    np.testing.assert_allclose(result.expected, result.priors * 150 - 30)
    assert result.top == round(0.25 * 150 - 30)
    assert result.rows == 120


@pytest.mark.parametrize("model", [RampPUSVC(0.4, lam=0.1), PUSVC(0.4, approximation="nystroem", random_state=0)])
def test_models_without_a_path_are_fitted_one_by_one(table, model):
    X, labelled = table
    model.fit(X, labelled)
    result = prior_sensitivity(model, X, labelled, priors=[0.3, 0.4])
    other = unfitted_copy(model).set_params(prior=0.3).fit(X, labelled).decision_function(X)
    np.testing.assert_allclose(result.f[0], other)
    assert result.positives[0] == (other[~labelled] > 0).sum()
    assert result.overlap[1] == 1.0


def test_refits_keep_what_the_fit_chose_and_write_no_checkpoint(table, tmp_path):
    X, labelled = table
    model = PUSVC(lam="cv", checkpoint=tmp_path / "state.npz", warm_start=True).fit(X, labelled)
    copy = unfitted_copy(model)
    assert (copy.prior, copy.lam) == (model.prior_, model.lam_)
    assert copy.checkpoint is None
    assert not copy.warm_start


def test_weights_count_in_the_labelled_share_of_a_censored_sample(table):
    X, labelled = table
    weight = np.where(labelled, 3.0, 1.0)
    share = 90 / 210
    model = PUSVC(0.5, lam=0.01, scenario="censored").fit(X, labelled, weight)
    assert prior_sensitivity(model, X, labelled, count=5, sample_weight=weight).priors[0] == pytest.approx(share)

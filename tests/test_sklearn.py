"""PUSVC is a scikit-learn estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from usmo import PUSVC


@parametrize_with_checks([PUSVC(), PUSVC(prior=0.5, tol=1e-10), PUSVC(kernel="linear", scenario="censored")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)

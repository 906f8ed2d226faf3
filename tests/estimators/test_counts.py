"""Numbers of positives that a prior implies."""

import pytest

from usmo.estimators.counts import expected_positives, prior_is_determined


def test_the_censored_prior_counts_all_rows_and_the_labelled_positives_are_subtracted():
    assert expected_positives(0.5, 20, 100, "case-control") == 50
    assert expected_positives(0.5, 20, 100, "censored", negatives=80) == 80


@pytest.mark.parametrize(("high", "determined"), [(0.59, True), (0.61, False)])
def test_a_prior_is_determined_by_its_interval_among_the_unlabelled_rows(high, determined):
    """The same interval of the share among 100 unlabelled rows, whatever the scenario says the prior refers to."""
    assert prior_is_determined((0.1, high), 300, 100, "case-control") is determined
    censored = [(300 + 100 * end) / 400 for end in (0.1, high)]
    assert prior_is_determined(censored, 300, 100, "censored") is determined

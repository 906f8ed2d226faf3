"""The audit ends wrongly with probability at most α, for every number of positives left: checked draw by draw."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import hypergeom

from usmo.review.audit import AuditPlan, least_missed, most_missed, recall_plan


def probability_of_a_wrong_end(plan: AuditPlan, u: int, K: int, allowed) -> float:
    """By one draw after the other: states are the rows drawn and the positives among them."""
    alive, wrong = {0: 1.0}, 0.0
    for s in range(u):
        for x in [x for x in alive if s >= plan.end(x)]:
            mass = alive.pop(x)
            wrong += mass if K - x > allowed(x) else 0.0
        drawn: dict[int, float] = {}
        for x, mass in alive.items():
            hit = (K - x) / (u - s)
            for y, share in ((x + 1, hit), (x, 1.0 - hit)):
                drawn[y] = drawn.get(y, 0.0) + mass * share
        alive = drawn
    return wrong


@pytest.mark.parametrize(("u", "found"), [(60, 10), (60, 45), (80, 100), (50, 300)])
def test_a_promise_of_recall_fails_with_probability_alpha_at_most(u, found):
    plan = recall_plan(u, found, 0.95, 0.05)
    allowed = lambda x: least_missed(found + x, 0.95) - 1  # noqa: E731
    errors = [probability_of_a_wrong_end(plan, u, K, allowed) for K in range(u + 1)]
    assert max(errors) <= 0.05 + 1e-9
    assert max(errors) > 0.025  # and no more rows are asked for than that takes


def test_without_a_positive_the_hypergeometric_test_alone_decides():
    plan = recall_plan(1000, 45, 0.95, 0.05)
    s = plan.end(0)
    none = lambda s: np.prod([(1000 - 3 - i) / (1000 - i) for i in range(s)])  # noqa: E731
    assert none(s) <= 0.05 < none(s - 1)


def test_the_bound_on_what_is_missed_is_exact_at_each_moment():
    u, alpha = 30, 0.1
    for s in (5, 15, 25):
        bound = [most_missed(u, s, x, alpha) for x in range(s + 1)]
        for K in range(u + 1):
            wrong = sum(hypergeom.pmf(x, u, K, s) for x in range(s + 1) if bound[x] < K - x)
            assert wrong <= alpha + 1e-9
    assert most_missed(u, u, 3, alpha) == 0


def test_the_number_that_may_not_be_missed():
    assert least_missed(45, 0.95) == 3  # 45 of 47 are more than 95 %, 45 of 48 are less
    assert least_missed(19, 0.95) == 2
    assert least_missed(0, 0.95) == 1

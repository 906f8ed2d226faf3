"""Measures of an order, and simulated reviews."""

from __future__ import annotations

import numpy as np
import pytest

from tests.review.tables import two_clouds
from usmo.review.measures import average_time_to_discovery, places_of, recall_at, work_saved
from usmo.review.risk import ReviewRisk
from usmo.review.runs import FinishedRuns
from usmo.review.simulation import Plan, means, simulate


def test_measures_of_a_small_order():
    places = places_of([True, False, True, False, False, False, False, False, False, True])
    assert places.tolist() == [1, 3, 10]
    assert work_saved(places, 10, 0.6) == pytest.approx(1 - 0.3 - 0.4)
    assert recall_at(places, 10, 0.3) == pytest.approx(2 / 3)
    assert average_time_to_discovery(places, 10) == pytest.approx(14 / 30)


def test_both_classes_of_the_risk_weigh_a_half():
    kinds = np.array([1, 1, 0, 0, 0, -1], dtype=np.int8)
    problem = ReviewRisk(lam=0.25, rejected=20.0).problem(kinds)
    assert problem.c.sum() == pytest.approx(2.0)
    assert problem.share == pytest.approx(0.5)
    assert problem.c[5] == pytest.approx(20 * problem.c[2])
    sample = ReviewRisk().weights(kinds[[0, 1, 2, 5]], 3)
    assert sample[2] == pytest.approx(3 * ReviewRisk().weights(kinds, 3)[2])


def test_a_simulated_review_is_better_than_random_order():
    X, truth = two_clouds(150, 20)
    plan = Plan(rules=("buscar", "irrelevant"))
    run = simulate(X, truth, 0, plan)
    assert run["wss95"] > 0.5
    assert set(run["stopping"]) == {"buscar", "irrelevant"}
    assert run == simulate(X, truth, 0, plan)
    mean = means([run, {**run, "wss95": 0.0}])
    assert mean["wss95"] == pytest.approx(run["wss95"] / 2)


def test_plans_that_cannot_be_carried_out_are_refused():
    truth = np.arange(10) < 3
    with pytest.raises(ValueError, match="start must be at least 1 and below the 3 positives"):
        Plan(start=3).check(truth)
    with pytest.raises(ValueError, match="rule must be one of"):
        Plan(rules=("best",)).check(truth)


def test_finished_runs_are_found_again_and_a_torn_line_is_dropped(tmp_path):
    path = tmp_path / "runs.jsonl"
    runs = FinishedRuns(path, "digest")
    runs.add({"seed": 0, "wss95": 0.5})
    with open(path, "ab") as stream:
        stream.write(b'{"format": "usmo sim')
    again = FinishedRuns(path, "digest")
    again.add({"seed": 1, "wss95": 0.6})
    assert sorted(FinishedRuns(path, "digest").runs) == [0, 1]
    assert FinishedRuns(path, "other").runs == {}
    path.write_text("no json\n")
    with pytest.raises(ValueError, match="is not a file of simulated reviews"):
        FinishedRuns(path, "digest")

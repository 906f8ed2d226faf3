"""What each stopping rule says, and that promises are kept on simulated orders."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import hypergeom

from usmo.review import QBCB, RULES, Audit, Buscar, Estimate, Irrelevant, Tail
from usmo.review.course import Course
from usmo.review.replay import replay
from usmo.review.stopping import make_rule, verdict_of
from usmo.review.what_is_left import what_is_left


def course(n: int, positive: list[int], reviewed: int, audit_from: int | None = None, expected=None) -> Course:
    hits = np.isin(np.arange(reviewed), positive)
    drawn = np.arange(reviewed) >= (reviewed if audit_from is None else audit_from)
    return Course(n, hits, drawn, expected)


def ranked(n: int, positives: int, d: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    truth = np.arange(n) < positives
    return truth[np.argsort(-(rng.normal(size=n) + d * truth))]


def test_buscar_is_the_hypergeometric_test_on_the_rows_since_a_positive():
    one = course(200, [0, 1, 2, 3, 4], 100)
    expected = min(hypergeom.cdf(k, 200 - s, 6 - (5 - k), 100 - s) for s, k in [(0, 5), (5, 0), (4, 1), (3, 2)])
    assert Buscar().p_value(one) == pytest.approx(expected)


def test_fifty_nine_control_positives_are_the_fewest_for_95_percent():
    rule = QBCB()
    assert rule.smallest == 59
    assert rule.needed(58) is None
    assert rule.needed(59) == 59
    assert rule.needed(200) < 200


def test_irrelevant_in_a_row_counts_since_the_last_positive():
    rule = Irrelevant(n=20)
    assert not rule.verdict(course(200, [5], 25)).stop
    assert rule.verdict(course(200, [5], 26)).stop
    assert rule.verdict(course(200, [5], 26)).confidence is None


def test_the_estimate_is_called_an_indication():
    verdict = Estimate().verdict(course(200, list(range(40)), 100, expected=1.0))
    assert verdict.stop
    assert verdict.confidence is None
    assert "without a guarantee" in verdict.sentence


def test_the_audit_says_what_it_needs_and_then_what_it_promises():
    before = Audit().verdict(course(1000, list(range(45)), 60))
    assert not before.stop
    assert before.phase == "rank"
    assert f"an audit needs {before.audit_rows:,} random rows" in before.sentence
    late = Audit().verdict(course(1000, list(range(45)), 400))
    assert late.phase == "audit"
    after = Audit().verdict(course(1000, list(range(45)), 400 + late.audit_rows, audit_from=400))
    assert after.stop
    assert after.sentence == "with 95 % confidence at least 95 % of the positives have been found"
    assert not Audit().verdict(course(1000, list(range(45)), 399 + late.audit_rows, audit_from=400)).stop


def test_the_audit_keeps_its_promise_where_the_ranking_is_worse_than_random():
    results = [replay(Audit(), ranked(300, 40, -0.5, seed), seed) for seed in range(60)]
    promised = [result for result in results if result.promised is not None]
    assert np.mean([result.kept for result in promised]) >= 0.9


@pytest.mark.parametrize("name", ["audit", "tail", "buscar", "qbcb"])
def test_rules_with_a_promise_keep_it_on_good_rankings(name):
    results = [replay(make_rule(name, 0.95, 0.95), ranked(600, 120, 2.5, seed), seed) for seed in range(20)]
    promised = [result for result in results if result.promised is not None]
    assert promised
    assert np.mean([result.kept for result in promised]) >= 0.9
    assert np.mean([result.saved for result in results]) > 0.05


def test_nothing_is_left_when_every_row_is_reviewed():
    done = what_is_left(course(60, list(range(30)), 60), 0.95)
    assert (done.estimate, done.low, done.high, done.confidence) == (0.0, 0, 0, 1.0)
    assert done.sentence == "every row is reviewed: no positive is left"


def test_what_is_left_shrinks_to_nothing():
    early, late = (what_is_left(course(500, list(range(30)), t), 0.95) for t in (100, 450))
    assert early.high > late.high
    assert not early.guaranteed
    audited = what_is_left(course(500, list(range(30)), 400, audit_from=200), 0.95)
    assert audited.guaranteed
    assert "about" in audited.sentence


def test_there_is_no_estimate_before_the_scores_or_an_audit_give_one():
    early = what_is_left(course(500, list(range(6)), 12), 0.95)
    assert early.estimate is None
    assert "no estimate yet" in early.sentence
    audited = what_is_left(course(500, [*range(6), 30], 60, audit_from=20), 0.95)
    assert audited.estimate == pytest.approx(440 * 1.5 / 41)  # one positive among 40 random rows


@pytest.mark.parametrize("name", RULES)
def test_every_rule_ends_where_no_row_is_left(name):
    for found in ([], [3], list(range(20))):
        verdict = verdict_of(RULES[name](), course(20, found, 20))
        assert verdict.stop
        assert (verdict.recall, verdict.confidence) == (1.0, 1.0)


def test_random_rows_at_the_end_save_work_over_buscar():
    orders = [ranked(800, 60, 2.0, seed) for seed in range(12)]
    saved = [np.mean([replay(rule, order, 0).saved for order in orders]) for rule in (Tail(), Buscar())]
    assert saved[0] > saved[1]


@pytest.mark.parametrize("rule", [Tail(), Buscar(), Irrelevant(), Estimate()])
def test_imported_rows_are_no_sample(rule):
    seen = course(400, list(range(30)), 120, audit_from=110, expected=3.0)
    imported = np.concatenate([np.zeros(120, dtype=bool), np.ones(200, dtype=bool)])
    none = np.zeros(200, dtype=bool)
    both = Course(
        600, np.concatenate([seen.positive, none]), np.concatenate([seen.drawn, none]), 3.0, imported=imported
    )
    assert rule.verdict(both) == rule.verdict(seen)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("best", 0.9, 0.9), "rule must be one of"), (("audit", 1.0, 0.9), "recall must lie")],
)
def test_unknown_rules_and_impossible_promises_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_rule(*arguments)


@pytest.mark.parametrize("rule", [Audit, Tail, Buscar, QBCB, Irrelevant, Estimate])
def test_a_rule_refuses_parameters_without_a_meaning(rule):
    for name in [each for each in ("recall", "confidence") if hasattr(rule(), each)]:
        for value in (95, 1.0, 0.0, np.nan):
            with pytest.raises(ValueError, match=f"{name} must lie between 0 and 1, got {value}"):
                rule(**{name: value})
    if hasattr(rule(), "patience"):
        assert rule(patience=0.0).patience == 0.0
        with pytest.raises(ValueError, match="patience must be at least 0, got -1"):
            rule(patience=-1)
    if hasattr(rule(), "n"):
        with pytest.raises(ValueError, match="n must be at least 1 or None, got 0"):
            rule(n=0)
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1, got 95"):
        make_rule(rule(), 0.95, 95)

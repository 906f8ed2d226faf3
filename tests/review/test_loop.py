"""The loop: proposals, decisions, undo, several people, restarts, audits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from tests.review.tables import ColumnRanker, one_known, two_clouds
from usmo.review import QBCB, Audit, BackgroundRefit, Review, StoreError, Verdict


@pytest.fixture
def table():
    return two_clouds()


def run(review: Review, truth: np.ndarray, rows: int, k: int = 10) -> None:
    for _ in range(rows // k):
        batch = review.next(k)
        review.tell(batch, truth[batch])


def test_most_positives_come_first(table):
    X, truth = table
    review = Review(X, one_known(truth))
    run(review, truth, 30)
    assert review.found >= 17
    assert review.remaining().high < 60


@pytest.mark.parametrize("strategy", ["mixed", "uncertain", "diverse"])
def test_every_strategy_proposes_each_row_once(table, strategy):
    X, truth = table
    review = Review(X, one_known(truth), strategy=strategy, ranker=ColumnRanker(), rule="irrelevant")
    run(review, truth, 120, 20)
    assert len(review.next(5)) == 0
    assert (review.kinds == np.where(truth, 1, -1)).all()


def test_mixed_has_random_rows_and_diverse_leaves_out_duplicates():
    X = np.repeat(np.arange(1.0, 31.0), 2)[:, None] * np.array([1.0, 0.2])
    X[:, 1] += np.repeat(np.random.default_rng(0).normal(size=30), 2) * 10
    labels = np.zeros(60)
    labels[0] = 1
    diverse = Review(X, labels, strategy="diverse", ranker=ColumnRanker(), rule="irrelevant")
    rows = diverse.next(4)
    assert len(set(rows // 2)) == 4
    mixed = Review(X, labels, strategy="mixed", random_share=0.5, ranker=ColumnRanker(), rule="irrelevant")
    assert {candidate.how for candidate in mixed.candidates(30)} == {"likely", "random"}


def test_undo_takes_back_the_last_call(table):
    X, truth = table
    review = Review(X, one_known(truth), ranker=ColumnRanker())
    first, second = review.next(3), None
    review.tell(first, True, by="anna")
    second = review.next(2)
    review.tell(second, False, by="ben")
    assert review.undo(by="anna") == first.tolist()
    assert (review.kinds[first] == 0).all()
    assert (review.kinds[second] == -1).all()
    assert review.undo() == second.tolist()
    assert review.undo() == []


def test_a_review_goes_on_from_its_store(table, tmp_path):
    X, truth = table
    path = tmp_path / "a.review"
    review = Review(X, one_known(truth), store=path)
    run(review, truth, 20)
    expected, kinds = review.next(5), review.kinds
    review.close()
    again = Review(X, one_known(truth), store=path, random_state=99)
    assert (again.kinds == kinds).all()
    assert (again.next(5) == expected).all()
    with pytest.raises(StoreError, match="changed: matrix"):
        Review(X + 1e-9, one_known(truth), store=path)


def test_two_reviews_of_one_file_see_each_other(table, tmp_path):
    X, truth = table
    one, two = (Review(X, one_known(truth), store=tmp_path / "a.review", ranker=ColumnRanker()) for _ in range(2))
    rows = one.next(5)
    one.tell(rows, truth[rows])
    assert two.stale
    assert not set(two.next(5)) & set(rows)


def test_people_get_different_rows(table):
    X, truth = table
    review = Review(X, one_known(truth), ranker=ColumnRanker())
    anna, ben = review.next(5, by="anna"), review.next(5, by="ben")
    assert not set(anna) & set(ben)
    assert (review.next(5, by="anna") == anna).all()


def test_rows_put_off_come_last(table):
    X, truth = table
    review = Review(X, one_known(truth), ranker=ColumnRanker(), rule="irrelevant")
    row = review.next(1)
    review.tell(row, 0)
    rest = review.next(200)
    assert row[0] not in rest
    review.tell(rest, truth[rest])
    assert review.next(3).tolist() == row.tolist()


def test_a_refit_that_fails_keeps_the_ranking(table):
    X, truth = table
    ranker = ColumnRanker()
    review = Review(X, one_known(truth), ranker=ranker)
    before = review.next(3)
    review.tell(before, truth[before])
    ranker.fails = True
    with pytest.warns(UserWarning, match="the last ranking stays: the solver gave up"):
        rows = review.next(3)
    assert len(rows) == 3
    assert "gave up" in review.trouble
    ranker.fails = False
    review.next(1)
    assert review.trouble is None


def test_columns_without_signal_are_said(table):
    _, truth = table
    review = Review(np.ones((len(truth), 2)) * np.arange(2), one_known(truth), ranker=ColumnRanker())
    review.refit()
    assert "no row from another" in review.trouble


def test_the_background_refits_after_decisions(table):
    X, truth = table
    review = Review(X, one_known(truth), ranker=ColumnRanker())
    with BackgroundRefit(review) as background:
        version = review.model.version
        rows = review.next(4)
        review.tell(rows, truth[rows])
        assert background.wait(timeout=30)
        assert review.model.version > version
        assert not review.stale
    assert not review.background


def test_audit_rows_are_random_and_count_up_to_the_first_without_an_answer(table):
    X, truth = table
    review = Review(X, one_known(truth), ranker=ColumnRanker(), rule=Audit(patience=0.01))
    while review.stop().phase == "rank":
        rows = review.next(5)
        review.tell(rows, truth[rows])
    candidates = review.candidates(6)
    assert {candidate.how for candidate in candidates} == {"audit"}
    rows = [candidate.row for candidate in candidates]
    review.tell(rows[:2], truth[rows[:2]])
    review.tell(rows[2], 0)
    review.tell(rows[3:], truth[rows[3:]])
    assert review.decisions.course(None).drawn.sum() == 2
    review.tell(rows[2], bool(truth[rows[2]]))
    assert review.decisions.course(None).drawn.sum() == 6


def test_an_audit_ends_with_a_promise(table):
    X, truth = table
    review = Review(X, one_known(truth), ranker=ColumnRanker())
    while not review.stop().stop:
        rows = review.next(5)
        review.tell(rows, truth[rows])
    assert review.found >= 0.95 * (truth.sum() - 1)
    assert review.stop().audit_rows == 0


def test_a_rule_of_the_user_may_ask_for_random_rows(table):
    class FirstTwenty:
        draws = "audit"

        def verdict(self, course):
            done = len(course.positive)
            return Verdict(done >= 20, 0.95, None, ["twenty random rows"], phase="audit" if done < 20 else "rank")

    X, truth = table
    review = Review(X, one_known(truth), ranker=ColumnRanker(), rule=FirstTwenty())
    while not review.stop().stop:
        candidates = review.candidates(5)
        assert {one.how for one in candidates} == {"audit"}
        review.tell([one.row for one in candidates], truth[[one.row for one in candidates]])
    assert {one.how for one in review.candidates(5)} == {"likely"}


def test_the_ranking_does_not_know_control_rows_that_it_has_not_come_upon():
    X, truth = two_clouds(200, 80)
    review = Review(X, one_known(truth), ranker=ColumnRanker(), rule=QBCB(recall=0.8, confidence=0.8))
    while review.stop().phase == "audit":
        rows = review.next(5)
        review.tell(rows, truth[rows])
    hidden = review.decisions.hidden_control
    assert hidden
    assert (review.decisions.for_training()[hidden] == 0).all()
    while not review.stop().stop and len(rows := review.next(5)):
        review.tell(rows, truth[rows])
    assert review.stop().stop
    assert len(review.decisions.hidden_control) < len(hidden)
    assert review.found >= 0.8 * (truth.sum() - 1)


def test_tables_of_all_kinds(table):
    X, truth = table
    texts = np.where(truth, "quick red fox jumps over hedges", "slow grey stone lies under water")
    noise = [f"word{k % 7} word{k % 11} {text} word{k % 13}" for k, text in enumerate(texts)]
    titles = [f"a title with number {k} and words" for k in range(len(truth))]
    frame = {"title": titles, "abstract": noise, "size": X[:, 0]}
    for one in (
        sparse.csr_matrix(X),
        pd.DataFrame(frame),
        pl.DataFrame(frame),
        pd.DataFrame(X, columns=list("abcd")),
    ):
        review = Review(one, one_known(truth))
        run(review, truth, 20)
        assert review.found >= 12


def test_export_and_ranking(table, tmp_path):
    X, truth = table
    review = Review(X, one_known(truth), ids=[f"r{k}" for k in range(len(truth))], ranker=ColumnRanker())
    rows = review.next(4)
    review.tell(rows, truth[rows], by="anna", note='quote " and, comma')
    columns = review.export(tmp_path / "all.csv")
    assert len(columns["row"]) == len(truth)
    assert pl.read_csv(tmp_path / "all.csv")["note"].to_list()[1] == 'quote " and, comma'
    assert review.export(which="reviewed")["id"] == [f"r{row}" for row in rows]
    assert len(review.export(which="open")["row"]) == len(truth) - 5
    assert review.ranking()["score"] == sorted(review.ranking()["score"], reverse=True)
    with pytest.raises(ValueError, match="which must be one of"):
        review.export(which="some")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [0] * 120}, "at least one row as positive"),
        ({"labels": [1] * 120}, "leave no row to review"),
        ({"labels": [1] * 3}, "one entry for each of the 120 rows"),
        ({"labels": ["yes"] + ["no"] * 119}, r"labels must be 1 \(positive\)"),
        ({"strategy": "best"}, "strategy must be one of"),
        ({"random_share": 1.5}, "random_share must lie"),
        ({"ids": ["a"]}, "ids must have one entry"),
    ],
)
def test_bad_input_is_refused(table, change, message):
    X, truth = table
    arguments = {"labels": one_known(truth), **change}
    with pytest.raises(ValueError, match=message):
        Review(X, **arguments)


@pytest.mark.parametrize(
    ("ids", "labels", "message"),
    [
        ([500], [1], "between 0 and 119"),
        ([1, 1], [1, 1], "each row once, got row 1 in 2 places"),
        ([1], [2], "labels must be 1 or True"),
        ([1.5], [1], "row numbers"), ([1, 2], [1], "one entry for each of the 2 ids"),
    ],
)  # fmt: skip
def test_bad_decisions_are_refused_and_leave_nothing(table, ids, labels, message):
    X, truth = table
    review = Review(X, one_known(truth), ranker=ColumnRanker())
    with pytest.raises(ValueError, match=message):
        review.tell(ids, labels)
    assert review.history() == []


def test_missing_labels_are_unlabelled(table):
    X, truth = table
    labels = np.where(one_known(truth) == 1, 1.0, np.nan)
    assert Review(X, labels, ranker=ColumnRanker()).kinds.sum() == 1


@pytest.mark.parametrize("rule", ["audit", "tail", "buscar", "irrelevant"])
def test_rows_imported_before_an_audit_count_as_if_known_at_the_start(table, rule):
    X, truth = table
    elsewhere = np.random.default_rng(1).choice(np.flatnonzero(one_known(truth) == 0), 30, replace=False)
    known = one_known(truth)
    known[elsewhere] = np.where(truth[elsewhere], 1, -1)
    from_start = Review(X, known, ranker=ColumnRanker(), rule=rule)
    imported = Review(X, one_known(truth), ranker=ColumnRanker(), rule=rule)
    rows = imported.next(1)
    rows = rows if rows[0] not in elsewhere else from_start.next(1)
    imported.tell(rows, truth[rows])
    from_start.tell(rows, truth[rows])
    imported.tell(elsewhere, truth[elsewhere], how="imported")
    while len(rows := from_start.next(7)):
        assert imported.next(7).tolist() == rows.tolist()
        imported.tell(rows, truth[rows])
        from_start.tell(rows, truth[rows])
        assert imported.stop() == from_start.stop()
        assert imported.found == from_start.found
    assert len(imported.next(1)) == 0


def test_rows_imported_during_an_audit_count_when_the_random_order_comes_to_them(table):
    X, truth = table
    review = Review(X, one_known(truth), ranker=ColumnRanker(), rule=Audit(patience=0.01))
    while review.course().audit_start is None:
        rows = review.next(5)
        review.tell(rows, truth[rows])
    before = review.stop()
    order = review.decisions.next_audit_rows()
    negatives = order[~truth[order]]
    later = negatives[negatives != order[0]][:20]
    review.tell(later, False, how="imported")
    assert review.stop().audit_rows == before.audit_rows
    review.tell(order[0], bool(truth[order[0]]))
    assert review.course().drawn[review.course().imported].any()


def test_imported_rows_are_named_so_in_the_export_and_do_not_enter_the_estimate(table):
    X, truth = table
    review = Review(X, one_known(truth), ranker=ColumnRanker(), rule="irrelevant")
    run(review, truth, 10)
    review.tell([100, 101], truth[[100, 101]], how="imported")
    sources = dict(zip(review.export()["row"], review.export()["source"], strict=True))
    assert sources[101] == sources[102] == "imported"
    assert len(review.decisions.scored()[0]) == 10

"""The numbers of the report, against independent ones."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from tests.report.pages import Page, cells_of, page_of
from usmo import PUSVC
from usmo.estimators.counts import Counts
from usmo.report import build, refits
from usmo.report.doubts import Quality, doubts
from usmo.report.formatting import chance, score


def test_the_headline_numbers_are_those_of_the_model(model, rows, text):
    X, known = rows
    page, n = Page(text), int((~known).sum())
    low, high = (round(end * n) for end in model.prior_interval_)
    marked = int((model.predict(X[~known]) == model.classes_[1]).sum())
    assert f"Between {low} and {high} of the {n} unlabelled rows are expected to be positive" in page.text
    assert f"about {round(model.prior_ * n)} (" in page.text
    assert f"The decision marks {marked}." in page.text
    assert f"From {known.sum()} rows known to be positive and {n} unlabelled rows" in page.text
    gap = float(re.search(r"within ([\d.]+) % of the optimum", page.text)[1]) / 100
    assert gap == pytest.approx(model.certificate_.relative_gap, rel=0.06)


def test_the_list_holds_the_highest_unlabelled_rows_in_order(model, rows):
    X, known = rows
    ids = [f"id{k}" for k in range(len(known))]
    text = build(model=model, X=X, known=known, ids=ids, top=7)
    f = model.decision_function(X)
    best = sorted(np.flatnonzero(~known), key=lambda k: -f[k])[:7]
    assert cells_of(text, 1) == [ids[k] for k in best]
    assert cells_of(text, 2) == [score(f[k]) for k in best]
    probability = model.predict_proba(X[best])[:, 1]
    shown = [cell.replace("&gt;", ">").replace("&lt;", "<") for cell in cells_of(text, 3)]
    assert shown == [chance(p) for p in probability]


def test_rows_above_the_threshold_are_marked(rows):
    X, known = rows
    strict = PUSVC(0.3, lam=0.01, threshold=0.5).fit(X, known)
    text = build(model=strict, X=X, known=known, top=len(known))
    decisions = cells_of(text, 4)
    assert decisions.count("marked") == (strict.predict(X[~known]) == strict.classes_[1]).sum() > 0
    assert decisions == sorted(decisions)
    assert decisions[-1] == "not marked"


def test_rows_without_ids_are_numbered_from_one(model, rows, text):
    f = model.decision_function(rows[0])
    best = max(np.flatnonzero(~rows[1]), key=lambda k: f[k])
    assert cells_of(text, 1)[0] == str(best + 1)
    assert "Rows are numbered from 1" in Page(text).text


def test_quality_is_that_of_held_out_rows(model, rows, text):
    X, known = rows
    f = np.empty(len(known))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, known):
        f[test] = PUSVC(model.prior_, lam=0.01).fit(X[train], known[train]).decision_function(X[test])
    found, page = int((f[known] > 0).sum()), Page(text).text
    assert f"Of {known.sum()} known positives held out in this way, {found} w" in page
    auc = (roc_auc_score(known, f) - model.prior_ / 2) / (1 - model.prior_)
    assert f"ranks above a negative{min(max(auc, 0), 1):.2f}" in page
    recall, q = found / known.sum(), (f[~known] > 0).mean()
    assert f"the marked unlabelled rows that are positive{min(1, model.prior_ * recall / q):.2f}" in page


def test_other_priors_give_what_separate_fits_give(model, rows):
    X, known = rows
    f = model.decision_function(X)
    found = refits.sensitivity(model, X, known, f, Counts.of(model, f, known), top=20)
    low, high = model.prior_interval_
    assert found.priors[0] == pytest.approx(low)
    assert found.priors[-1] == pytest.approx(high)
    f = model.decision_function(X[~known])
    first = set(np.argsort(-f, kind="stable")[: found.top])
    for prior, marked, overlap in zip(found.priors, found.positives, found.overlap, strict=True):
        other = clone(model).set_params(prior=float(prior)).fit(X, known).decision_function(X[~known])
        kept = len(first & set(np.argsort(-other, kind="stable")[: found.top])) / found.top
        assert abs(marked - (other > 0).sum()) <= 1
        assert abs(overlap - kept) <= 1.01 / found.top
    own = int(np.argmin(abs(found.priors - model.prior_)))
    assert found.overlap[own] == 1.0


def test_a_fit_that_cannot_be_repeated_is_not_compared_with_others(rows):
    X, known = rows
    weight = np.where(X[:, 0] > 0, 1.0, 0.01)
    weighted = PUSVC(0.4, lam=0.01).fit(X, known, sample_weight=weight)
    f = weighted.decision_function(X)
    assert refits.sensitivity(weighted, X, known, f, Counts.of(weighted, f, known), top=20) is None
    assert "Not computed for this report" in page_of(weighted, X, known).text


def test_more_rows_than_the_limit_are_sampled_and_the_page_says_so(model, rows, monkeypatch):
    X, known = rows
    monkeypatch.setattr(refits, "ROWS", 100)
    f = model.decision_function(X)
    counts = Counts.of(model, f, known)
    found = refits.sensitivity(model, X, known, f, counts, top=10)
    assert found.sampled
    assert found.rows == 100 - known.sum()
    own = int(np.argmin(abs(found.priors - model.prior_)))
    assert found.positives[own] == counts.marked  # of all rows, as everywhere on the page
    np.testing.assert_allclose(
        found.positives, found.priors * (~known).sum(), atol=1.5 * (~known).sum() / found.rows
    )
    page = page_of(model, X, known).text
    assert "on a random sample of the rows; the counts are scaled to all of them" in page
    assert f"The decision marks {counts.marked}." in page
    censored = PUSVC(0.5, lam=0.01, scenario="censored").fit(X, known)
    taken = refits._rows(censored, known, 100)
    assert len(taken) == 100
    assert known[taken].mean() == pytest.approx(known.mean(), abs=0.01)


def test_marks_of_which_most_are_false_alarms_are_not_called_useless(model, rows):
    """Where one row in fifty is positive, marks of which a third are right are worth much."""
    X, known = rows
    f = model.decision_function(X)
    counts = Counts.of(model, f, known.astype(int))
    found = doubts(model, f, counts, Quality(recall=0.35, precision=0.35, auc=0.96, n_positives=90))
    assert found[-1] == (
        "On held-out rows about 35 % of the marked rows are positive: half of the marks or more are false alarms. Use "
        "the order of the rows, not the mark."
    )
    assert not any("false alarms" in one for one in doubts(model, f, counts, Quality(0.6, 0.6, 0.96, 90)))


def test_precision_is_that_of_marked_rows_without_a_label():
    """Most positives are labelled, and of the marked unlabelled rows most are negative: the truth is known."""
    rng = np.random.default_rng(0)
    truth = rng.random(4000) < 0.3
    labels = (truth & (rng.random(4000) < 0.9)).astype(int)
    f = rng.normal(size=4000) + 2.0 * truth - 1.0
    labels[rng.choice(np.flatnonzero(~truth), 400, replace=False)] = -1
    found = Quality.of(labels, f, truth.mean(), "censored", threshold=0.0)
    unlabelled = labels == 0
    assert found.precision == pytest.approx(truth[unlabelled & (f > 0)].mean(), abs=0.03)
    same = Quality.of(labels, f, truth[unlabelled].mean(), "case-control", threshold=0.0)
    assert found == pytest.approx(same)


@pytest.mark.parametrize("prior", [0.4, "estimate"])
def test_an_estimated_propensity_does_not_replace_the_test_of_labels_at_random(prior):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    truth = rng.random(500) < 0.4
    X[truth, :2] += 2.0
    known = truth & (rng.random(500) < 0.5)
    options = {"scenario": "censored", "lam": 0.01, "propensity": "estimate", "propensity_columns": [2]}
    model = PUSVC(prior, **options).fit(X, known)
    assert model.propensity_model_.is_constant
    labels = known.astype(int)
    assert refits.labels_test(model, X, labels).given == (prior == 0.4)
    plain = PUSVC(model.prior_, scenario="censored", lam=0.01).fit(X, known)
    np.testing.assert_allclose(refits.held_out(model, X, labels).f, refits.held_out(plain, X, labels).f, atol=1e-4)
    given = PUSVC(**options | {"propensity": None, "propensity_columns": None}).fit(X, known, propensity=0.5)
    assert refits.labels_test(given, X, labels) is None
    assert refits.held_out(given, X, labels) is None

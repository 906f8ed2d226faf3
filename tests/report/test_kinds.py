"""Every kind of model and table has a page; wrong arguments are refused."""

import copy
import dataclasses
import io
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone

from tests.report.pages import page_of
from usmo import PUSVC, LinearPUSVC
from usmo.estimators.counts import expected_positives
from usmo.report import build, page, refits, write
from usmo.report.refits import labels_test
from usmo.system.words import quantity

KINDS = {
    "linear": (LinearPUSVC(0.3), np.asarray),
    "linear kernel": (PUSVC(0.3, kernel="linear"), np.asarray),
    "sparse": (PUSVC(0.3), sparse.csr_matrix),
    "sparse linear": (LinearPUSVC(0.3), sparse.csr_array),
    "float32": (PUSVC(0.3), np.float32),
    "precomputed": (PUSVC(0.3, kernel="precomputed"), lambda X: X @ X.T + 1.0),
    "callable": (PUSVC(0.3, kernel=lambda A, B: np.exp(-cdist(A, B))), np.asarray),
    "approximate": (PUSVC(0.3, approximation="nystroem", n_components=20), np.asarray),
    "censored": (PUSVC(0.5, scenario="censored"), np.asarray),
    "paper's threshold": (PUSVC(0.3, threshold=0.0), np.asarray),
    "chosen": (PUSVC(0.3, lam="cv"), np.asarray),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_has_a_page_of_numbers(kind, rows):
    X, known = rows
    estimator, form = KINDS[kind]
    X = form(X)
    page = page_of(clone(estimator).fit(X, known), X, known)
    assert not re.search(
        r"\b(nan|inf|None)\b", re.sub(r"\w+=?None|: None", "", page.text.split("How to repeat")[0])
    )
    assert not [a for _, attrs in page.tags for a in attrs.values() if a and re.search(r"\b(nan|inf)\b", a)]
    assert "Not computed" not in page.text
    assert "This share was assumed" in page.text
    assert ("How λ was chosen" in page.text) == (kind == "chosen")
    assert ("What speaks for and against it" in page.text) == (kind != "precomputed")
    assert ("The kernel is approximated" in page.text) == (kind == "approximate")
    # Gaussian kernel, or chosen λ
    held_out = kind in ("sparse", "float32", "censored", "paper's threshold", "chosen")
    assert ("overconfident" in page.text) == (not held_out)


def test_of_a_censored_sample_the_known_rows_are_part_of_the_share(rows):
    X, known = rows
    censored = PUSVC(0.5, scenario="censored").fit(X, known)
    expected = round(0.5 * len(known) - known.sum())
    assert f"About {expected} of the {(~known).sum()} unlabelled rows" in page_of(censored, X, known).text
    assert expected_positives(0.1, 40, 120, "censored") == 0.0


def test_a_prior_that_leaves_no_unlabelled_row_positive_does_not_go_into_the_test_of_the_labels():
    X, known = np.random.default_rng(0).normal(size=(25, 2)), np.arange(25) < 7
    for prior, given in ((7 / 25, False), (0.5, True)):
        model = PUSVC(prior, scenario="censored").fit(X, known)
        assert labels_test(model, X, known.astype(int)).given is given
    model.prior_ = 0.6  # as after adapt
    assert not labels_test(model, X, known.astype(int)).given


@pytest.mark.parametrize(("p", "n"), [(1, 1), (1, 3), (2, 2), (5, 1), (3, 40)])
def test_few_rows_make_a_page_too(p, n):
    X = np.random.default_rng(p).normal(size=(p + n, 2))
    known = np.arange(p + n) < p
    page = page_of(PUSVC(0.4, lam=0.1).fit(X, known), X, known)
    assert "Not estimated: that takes at least 5" in page.text
    assert not re.search(r"\b(nan|inf)\b", page.text)
    assert f"all {quantity(n, 'unlabelled row')}" in page.text


def test_equal_rows_and_empty_columns_make_a_page_too():
    X, known = np.zeros((40, 3)), np.arange(40) < 10
    X[:, 1] = 7.0
    assert "of the 30 unlabelled rows" in page_of(PUSVC(0.4).fit(X, known), X, known).text


def test_without_probabilities_their_column_is_left_out(rows):
    class Plain(PUSVC):
        @property
        def predict_proba(self):
            raise AttributeError("no probabilities")

    page = page_of(Plain(0.3).fit(*rows), *rows)
    assert "Probability" not in page.text
    assert "c-score" in str(page.all("th"))


def test_a_data_frame_gives_its_names(rows):
    pandas = pytest.importorskip("pandas")
    X, known = pandas.DataFrame(rows[0], columns=["height", "weight", "age"]), rows[1]
    page = page_of(LinearPUSVC(0.3).fit(X, known), X, known)
    assert re.search("Typical unlabelled row ?(height|weight|age)", page.text)


def test_comparisons_made_elsewhere_are_shown_or_left_out(model, rows, monkeypatch):
    X, known = rows
    given = SimpleNamespace(priors=[0.1, 0.2], positives=np.array([5, 77]), overlap=np.array([0.5, 1.0]), top=10)
    monkeypatch.setattr(refits, "sensitivity", None)
    assert "Between 5 and 77 rows are then marked" in page_of(model, X, known, sensitivity=given).text
    without = page_of(model, X, known, sensitivity=None)
    assert "Not computed for this report" in without.text
    assert "How well it finds positives" not in without.text


def test_an_unfinished_fit_says_so(rows):
    with pytest.warns(Warning, match="max_iter"):
        early = PUSVC(0.3, lam=1e-4, solver="usmo", max_iter=3).fit(*rows)
    assert "the fit ended early" in page_of(early, *rows, sensitivity=None).text


def test_a_violation_that_is_rounding_of_large_values_is_no_early_end(model, rows):
    large = copy.copy(model)
    large.certificate_ = dataclasses.replace(model.certificate_, kkt_violation=9e6, gap=4e-15, relative_gap=4e-15)
    text = page_of(large, *rows, sensitivity=None).text
    assert "ended early" not in text
    assert "only because kernel values are large" in text


def test_what_is_needed_to_repeat_it_is_there(model, rows):
    from usmo.files import fingerprint

    X, known = rows
    page = page_of(
        model, X, known, columns=["age: number"], parameters={"command": "usmo rank a.csv", "--seed": 7}
    )
    digest = fingerprint(X, known)
    for part in (digest["sha256_X"], "PUSVC(", "usmo rank a.csv", "age: number", "--seed", np.__version__):
        assert part in page.text
    assert "my own mark" in page_of(model, X, known, fingerprint="my own mark", sensitivity=None).text


def test_a_failed_page_leaves_the_old_one(model, rows, tmp_path):
    target = tmp_path / "page.html"
    target.write_text("old")
    with pytest.raises(ValueError, match="top must be a whole number of at least 1, got 0"):
        write(target, model=model, X=rows[0], known=rows[1], top=0)
    assert target.read_text() == "old"
    write(target, model=model, X=rows[0], known=rows[1], sensitivity=None)
    assert target.read_text().startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(ValueError, match="path must name a file in an existing folder"):
        write(tmp_path / "none" / "page.html", model=model, X=rows[0], known=rows[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"known": np.ones(160)},
            "True or False, or 1, 0 or -1, for each of the 160 rows, got float64",
        ),
        (
            {"known": np.ones(160, dtype=bool)},
            "known must hold both kinds of rows, got 160 known positives of 160",
        ),
        ({"ids": ["a"]}, "ids must hold 160 texts, got 1"),
        ({"names": ["a"]}, "names must hold 3 texts, got 1"),
        ({"top": 2.5}, "top must be a whole number of at least 1, got 2.5"),
        ({"sensitivity": 3}, "sensitivity must be 'auto', None or hold priors"),
    ],
)
def test_wrong_arguments_are_refused_by_name(model, rows, change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        build(**{"model": model, "X": rows[0], "known": rows[1], **change})


def test_decision_values_that_are_given_are_not_computed_again(model, rows, text):
    X, known = rows

    class Counted(PUSVC):
        def decision_function(self, X):
            assert len(X) != len(known)  # the rows with one column replaced are others
            return super().decision_function(X)

    copy = Counted()
    copy.__dict__ = dict(model.__dict__)
    f = model.decision_function(X)
    without = build(model=model, X=X, known=known, source="table.csv", sensitivity=None)
    given = build(model=copy, X=X, known=known, source="table.csv", sensitivity=None, f=f)
    assert given.replace("Counted", "PUSVC") == without
    with pytest.raises(ValueError, match=re.escape("f must hold a decision value for each of the 160 rows, got")):
        build(model=model, X=X, known=known, f=f[1:])


def test_markup_of_the_caller_is_text_too(model, rows):
    class Markup(str):
        __slots__ = ()

        def __html__(self):
            return str(self)

    X, known = rows
    bold = Markup("<b>bold</b>")
    text = build(
        model=model, X=X, known=known, ids=[bold] * 160, names=[bold] * 3, source=bold, title=bold, columns=[bold],
        parameters={bold: bold, "command": bold}, fingerprint={bold: bold}, sensitivity=None,
    )  # fmt: skip
    assert "<b>" not in text
    assert text.count("&lt;b&gt;") > 160


def test_the_page_goes_to_a_stream_as_to_a_file(model, rows, tmp_path):
    stream, arguments = io.BytesIO(), {"model": model, "X": rows[0], "known": rows[1], "sensitivity": None}
    write(stream, **arguments)
    write(tmp_path / "page.html", **arguments)
    assert stream.getvalue() == (tmp_path / "page.html").read_bytes()


def test_without_jinja2_the_extra_is_named(model, rows, monkeypatch):
    page.templates.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=re.escape('reports need Jinja2: pip install "usmo-learn[tables]"')):
        build(model=model, X=rows[0], known=rows[1])

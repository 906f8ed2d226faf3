"""The report: its numbers against independent ones, its escaping, and what holds for every page."""

import base64
import hashlib
import io
import itertools
import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from tests.oracles import random_table
from usmo import PUSVC, LinearPUSVC
from usmo.estimators.sensitivity import expected_positives
from usmo.report import build, page, refits, write
from usmo.report.formatting import chance, count, score

VOID = {"meta", "input", "br", "img", "link", "base"}
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</style><!--", "a&b", "' onclick='x"]


class Page(HTMLParser):
    """Tags, attributes and texts of a page; refuses tags that are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open, self.inside = [], [], [], {}
        self.feed(text)
        self.close()
        assert self.open == []
        self.text = re.sub(r"\s+", " ", "".join(self.texts)).replace("\xa0", " ")

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            self.inside[self.open[-1]] = self.inside.get(self.open[-1], "") + data
        else:
            self.texts.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def table(seed=0, n=120, p=40, d=3):
    X, y = random_table(seed, n=n, p=p, d=d)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order] == y.max()


@pytest.fixture(scope="module")
def rows():
    return table()


@pytest.fixture(scope="module")
def model(rows):
    return PUSVC(lam=0.01).fit(*rows)


@pytest.fixture(scope="module")
def text(model, rows):
    return build(model=model, X=rows[0], known=rows[1], source="table.csv")


def page_of(model, X, known, **kw):
    return Page(build(model=model, X=X, known=known, **kw))


def cells_of(text, column):
    """Values of one column of the ranking."""
    body = text[text.index('<table id="ranking">') :]
    body = body[body.index("<tbody>") : body.index("</tbody>")]
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in body.split("</tr>")[:-1]]
    return [re.sub(r"<.*?>", "", row[column]) for row in cells]


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
    assert f"the marked rows that are positive{min(1, model.prior_ * recall / q):.2f}" in page


def test_other_priors_give_what_separate_fits_give(model, rows):
    X, known = rows
    found = refits.sensitivity(model, X, known, model.decision_function(X), top=20)
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
    assert refits.sensitivity(weighted, X, known, weighted.decision_function(X), top=20) is None
    assert "Not computed for this report" in page_of(weighted, X, known).text


def test_more_rows_than_the_limit_are_sampled_and_the_page_says_so(model, rows, monkeypatch):
    X, known = rows
    monkeypatch.setattr(refits, "ROWS", 100)
    found = refits.sensitivity(model, X, known, model.decision_function(X), top=10)
    assert found.sampled
    assert found.rows == 100 - known.sum()
    assert "on a random sample of the rows, 60 of them unlabelled" in page_of(model, X, known).text
    censored = PUSVC(0.5, lam=0.01, scenario="censored").fit(X, known)
    taken = refits._rows(censored, known)
    assert len(taken) == 100
    assert known[taken].mean() == pytest.approx(known.mean(), abs=0.01)


def test_hostile_texts_stay_texts(model, rows):
    X, known = rows
    ids = [HOSTILE[k % len(HOSTILE)] for k in range(len(known))]
    text = build(
        model=model, X=X, known=known, ids=ids, names=HOSTILE[:3], source=HOSTILE[0], title=HOSTILE[1],
        columns=HOSTILE, parameters={**{t: t for t in HOSTILE}, "command": HOSTILE[0]},
        fingerprint={HOSTILE[0]: HOSTILE[1]},
    )  # fmt: skip
    page = Page(text)
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert not page.all("img")
    assert not [attrs for _, attrs in page.tags for name in attrs if name.startswith("on")]
    for hostile in HOSTILE:
        assert hostile in page.text
    assert text.count("alert(1)</script>") == 0
    assert "<!--" not in text


def test_texts_that_no_encoding_holds_and_long_ones_are_mended(model, rows, tmp_path):
    X, known = rows
    ids = ["\ud800lone", "zero\0byte", "x" * 100_000, "\u202eturned"] * (len(known) // 4)
    write(tmp_path / "page.html", model=model, X=X, known=known, ids=ids)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "\0" not in text
    assert len(text) < 300_000
    assert "x" * 100 + "x" * 19 + "…" in text
    assert '<bdi class="short">\u202eturned</bdi>' in text


def test_nothing_is_fetched_and_the_policy_names_the_one_script(text):
    page = Page(text)
    policy = next(m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.inside[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert not re.search(r"https?:|url\(|@import|\bsrc=", text)
    assert not [attrs for _, attrs in page.tags if "style" in attrs]


def test_the_page_can_be_used_without_eyes(text):
    page = Page(text)
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    for tag in ("header", "nav", "main", "footer", "h1"):
        assert len(page.all(tag)) == 1
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    assert len(page.all("table")) == len(page.all("caption"))
    assert all(attrs.get("scope") in ("row", "col") for attrs in page.all("th"))
    assert len(page.all("svg")) == len(page.all("figure")) >= 3
    for svg in page.all("svg"):
        assert svg["role"] == "img"
        assert set(svg["aria-labelledby"].split()) <= set(ids)
    assert [a["lang"] for a in page.all("html")] == ["en"]
    assert all(a["href"][1:] in ids for a in page.all("a"))


def test_the_same_model_gives_the_same_page_and_a_small_one(model, rows, text):
    assert text == build(model=model, X=rows[0], known=rows[1], source="table.csv")
    X, known = table(n=300, p=60, d=20)
    large = build(model=PUSVC(0.3).fit(X, known), X=X, known=known, ids=[f"customer-{k}" for k in range(360)])
    assert len(cells_of(large, 1)) == 100
    assert len(large.encode()) < 300_000


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
    assert "This share was given" in page.text
    assert ("How λ was chosen" in page.text) == (kind == "chosen")
    assert ("raised by" in page.text) == kind.endswith(("linear", "kernel"))
    assert ("The kernel is approximated" in page.text) == (kind == "approximate")


def test_of_a_censored_sample_the_known_rows_are_part_of_the_share(rows):
    X, known = rows
    censored = PUSVC(0.5, scenario="censored").fit(X, known)
    expected = round(0.5 * len(known) - known.sum())
    assert f"About {expected} of the {(~known).sum()} unlabelled rows" in page_of(censored, X, known).text
    assert expected_positives(0.1, 40, 120, "censored") == 0.0


@pytest.mark.parametrize(("p", "n"), [(1, 1), (1, 3), (2, 2), (5, 1), (3, 40)])
def test_few_rows_make_a_page_too(p, n):
    X = np.random.default_rng(p).normal(size=(p + n, 2))
    known = np.arange(p + n) < p
    page = page_of(PUSVC(0.4, lam=0.1).fit(X, known), X, known)
    assert "Not estimated: that takes at least 5" in page.text
    assert not re.search(r"\b(nan|inf)\b", page.text)
    assert f"all {count(n, 'unlabelled row')}" in page.text


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
    assert re.search("raised by (height|weight|age)", page_of(LinearPUSVC(0.3).fit(X, known), X, known).text)


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


def test_what_is_needed_to_repeat_it_is_there(model, rows):
    from usmo.files import fingerprint

    X, known = rows
    page = page_of(
        model, X, known, columns=["age: number"], parameters={"command": "usmo rank a.csv", "--seed": 7}
    )
    digest = fingerprint(X, known)
    for part in (digest["sha256_X"], "PUSVC()", "usmo rank a.csv", "age: number", "--seed", np.__version__):
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
        ({"known": np.ones(160)}, "known must hold True or False for each of the 160 rows, got float64"),
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
            raise AssertionError("computed again")

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
    page._templates.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=re.escape('reports need Jinja2: pip install "usmo-learn[tables]"')):
        build(model=model, X=rows[0], known=rows[1])

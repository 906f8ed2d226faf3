"""Escaping, content security policy, accessibility and determinism of the page."""

import base64
import hashlib
import itertools
import re

from tests.report.pages import HOSTILE, Page, cells_of, table
from usmo import PUSVC
from usmo.report import build, write


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

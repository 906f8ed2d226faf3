"""The report in a real browser: loaded from a file, used by keyboard, on a phone, in the dark, on paper."""

import re

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser import CONTRAST, Browser, needs_browser
from tests.oracles import random_table
from usmo import PUSVC, LinearPUSVC
from usmo.report import write

pytestmark = needs_browser

IDS = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a very long identifier " * 5, "10", "9"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    X, y = random_table(0, n=150, p=40, d=3)
    known = y == y.max()
    ids = [IDS[k % len(IDS)] if k % 3 else f"row-{k}" for k in range(len(known))]
    more = {
        "X": X, "known": known, "ids": ids, "names": ["<b>age</b>", "height", "w" * 200], "source": "a/table.csv",
        "columns": ["age: number"] * 30, "parameters": {"command": "usmo rank table.csv " + "--option " * 40},
    }  # fmt: skip
    write(folder / "kernel.html", model=PUSVC(lam="cv").fit(X, known), **more)
    write(folder / "linear.html", model=LinearPUSVC(0.3).fit(X, known), **more, top=30)
    return folder


@pytest.fixture(scope="module")
def page_of_long_values(tmp_path_factory):
    X, y = random_table(0, n=150, p=40, d=3)
    cells = {
        "merchant_category_of_the_payment": ["electronics and toys"] * len(y), "city": ["Am Äußeren Ring 29"] * len(y),
        "moment": ["2024-05-06T12:41:51Z"] * len(y),
    }  # fmt: skip
    path = tmp_path_factory.mktemp("long") / "long.html"
    write(path, model=PUSVC(0.3).fit(X, y), X=X, known=y == y.max(), groups=list(cells), cells=cells)
    return path


@pytest.fixture(params=["kernel", "linear"])
def page(request, pages):
    return pages / f"{request.param}.html"


def column(browser, k):
    """Texts of the shown rows in column k."""
    return browser.run(
        "[...document.querySelector('#ranking').tBodies[0].rows].filter((row) => !row.hidden)"
        f".map((row) => row.cells[{k}].dataset.v ?? row.cells[{k}].textContent)"
    )


def heads(browser):
    return browser.run(
        "[...document.querySelectorAll('#ranking thead th')].map((h) => h.getAttribute('aria-sort'))"
    )


def click(browser, name):
    browser.run(f"document.querySelector('#ranking .c-{name} button').click()")


def test_it_loads_without_complaint_and_asks_for_nothing(browser, page):
    browser.open(page)
    assert browser.run("document.title") == "Likely positives in table.csv"
    assert browser.problems == []
    assert browser.requests == [page.as_uri()]
    assert browser.run("document.querySelectorAll('img, #ranking script, nav b').length") == 0


def test_the_policy_stops_scripts_and_loads_that_are_not_its_own(browser, page, tmp_path):
    copy = tmp_path / "copy.html"
    bad = "<script>document.title = 1</script><img src='http://127.0.0.1:9/x.png' onerror='document.title = 2'>"
    copy.write_text(page.read_text(encoding="utf-8").replace("</main>", bad + "</main>"), encoding="utf-8")
    browser.open(copy)
    assert browser.run("document.title") == "Likely positives in table.csv"
    refused = [text for text in browser.problems if "Content Security Policy" in text]
    assert len(refused) >= 2
    assert any("127.0.0.1" in text and "default-src 'none'" in text for text in refused)
    assert column(browser, 0)[:3] == ["1", "2", "3"]


def test_headings_sort_in_both_directions(browser, page):
    browser.open(page)
    scores = [float(v) for v in column(browser, 2)]
    assert scores == sorted(scores, reverse=True)
    assert heads(browser)[:3] == ["ascending", "none", "none"]
    click(browser, "score")
    assert heads(browser)[:3] == ["none", "none", "descending"]
    click(browser, "score")
    assert heads(browser)[2] == "ascending"
    assert [float(v) for v in column(browser, 2)] == sorted(scores)
    assert "by score upwards" in browser.run("document.getElementById('filter-status').textContent")
    click(browser, "rank")
    assert [int(v) for v in column(browser, 0)] == list(range(1, len(scores) + 1))
    click(browser, "rank")
    assert column(browser, 0)[0] == str(len(scores))


def test_texts_sort_with_the_numbers_in_them(browser, page):
    browser.open(page)
    click(browser, "id")
    ids = column(browser, 1)
    assert ids.index("9") < ids.index("10")
    mine = [int(text[4:]) for text in ids if text.startswith("row-")]
    assert mine == sorted(mine)


def test_the_filter_shows_rows_that_hold_all_words(browser, page):
    browser.open(page)
    total = len(column(browser, 0))
    browser.run("document.getElementById('filter').focus()")
    browser.press("ROW-")
    found = column(browser, 1)
    everything = browser.run("[...document.querySelectorAll('#ranking tbody tr')].map((row) => row.textContent)")
    assert len(found) == sum("row-" in text.lower() for text in everything)
    browser.press(" nothing-has-this")
    assert column(browser, 1) == []
    assert browser.run("document.getElementById('filter-status').textContent") == f"0 of {total} rows"
    browser.run("const f = document.getElementById('filter'); f.value = ''; f.dispatchEvent(new Event('input'))")
    assert len(column(browser, 0)) == total
    assert browser.problems == []


def test_the_keyboard_alone_reaches_and_sorts_the_list(browser, page):
    browser.open(page)
    seen = []
    for _ in range(60):
        browser.press(Keys.TAB)
        now = browser.run("document.activeElement.closest('th')?.className ?? document.activeElement.id")
        seen.append(now)
        if now == "c-score":
            break
    assert seen[-1] == "c-score"
    assert "filter" in seen
    outline = browser.run("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    browser.press(Keys.ENTER)
    assert heads(browser)[2] == "descending"
    browser.press(Keys.ENTER)
    assert heads(browser)[2] == "ascending"


def test_enter_in_the_filter_does_not_leave_the_page(browser, page):
    browser.open(page)
    browser.run("document.getElementById('filter').focus()")
    browser.press(Keys.ENTER)
    assert browser.run("location.href") == page.as_uri()
    assert browser.problems == []


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_plots_are_seen_and_nothing_sticks_out(browser, page, width):
    browser.open(page, width=width)
    browser.run("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    assert browser.run("document.documentElement.scrollWidth") <= width
    boxes = browser.run(
        "[...document.querySelectorAll('svg')].map((svg) => { const b = svg.getBoundingClientRect();"
        "const all = [...svg.querySelectorAll('rect, line, circle, text')].map((n) => n.getBoundingClientRect());"
        "return [b.width, b.height, Math.min(...all.map((r) => r.left)), Math.max(...all.map((r) => r.right)),"
        "svg.querySelectorAll('rect, circle').length] })"
    )
    assert len(boxes) >= 2
    for wide, high, left, right, shapes in boxes:
        assert wide > 200
        assert high > 150
        assert left >= 0
        assert right <= width
        assert shapes > 3
    sizes = browser.run("[...document.querySelectorAll('svg text')].map((t) => t.getBoundingClientRect().height)")
    assert min(sizes) > 10


@pytest.mark.parametrize("width", [360, 1280])
def test_long_values_leave_the_effect_in_sight(browser, page_of_long_values, width):
    browser.open(page_of_long_values, width=width)
    right = browser.run("document.querySelector('.scroll.tall').getBoundingClientRect().right")
    effects = browser.run(
        "[...document.querySelectorAll('#ranking .effect')].map((e) => e.getBoundingClientRect().right)"
    )
    assert len(effects) > 100
    assert max(effects) <= right


def test_labels_of_the_axes_do_not_overlap_on_a_phone(browser, page):
    browser.open(page, width=360)
    clashes = browser.run(
        "[...document.querySelectorAll('svg')].flatMap((svg) => { const t = [...svg.querySelectorAll('text')];"
        "const r = t.map((n) => n.getBoundingClientRect()); return t.flatMap((a, i) => t.slice(i + 1)"
        ".filter((b, j) => { const p = r[i], q = r[i + 1 + j]; return p.left < q.right && q.left < p.right "
        "&& p.top + 2 < q.bottom && q.top + 2 < p.bottom }).map((b) => a.textContent + ' / ' + b.textContent)) })"
    )
    assert clashes == []


@pytest.mark.parametrize("dark", [False, True])
def test_texts_stand_out_from_what_is_behind_them(browser, page, dark):
    browser.open(page, dark=dark)
    back = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (np.mean([int(v) for v in re.findall(r"\d+", back)]) < 60) == dark
    ratio, where = browser.run(CONTRAST)
    assert ratio >= 4.5, where


def test_paper_is_light_and_has_all_rows(browser, page, tmp_path):
    browser.open(page, dark=True, media="print")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.run("getComputedStyle(document.querySelector('.tools')).display") == "none"
    tall = browser.run(
        "(() => { const s = document.querySelector('.tall'); return s.scrollHeight - s.clientHeight })()"
    )
    assert tall <= 1
    browser.paper(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes()[:5] == b"%PDF-"


def test_without_its_script_it_is_a_plain_table(browser, page):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page)
        document = browser.call("DOM.getDocument", depth=-1)["root"]["nodeId"]
        heading = browser.call("DOM.querySelector", nodeId=document, selector="#ranking th button")["nodeId"]
        tools = browser.call("DOM.querySelector", nodeId=document, selector=".tools[hidden]")["nodeId"]
        rows = browser.call("DOM.querySelectorAll", nodeId=document, selector="#ranking tbody tr")["nodeIds"]
        assert heading == 0
        assert tools != 0
        assert len(rows) in (30, 100)
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)

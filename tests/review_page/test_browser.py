"""The page in a real browser: by keyboard alone, by touch on a phone, in two tabs, in the dark."""

import threading
import time

import pytest
import uvicorn
from selenium.webdriver.common.keys import Keys

from tests.browser import CONTRAST, Browser, needs_browser
from tests.review_page.pages import Page
from usmo.review_page.access import Hosts
from usmo.review_page.application import application
from usmo.review_page.serving import bound_socket

pytestmark = needs_browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


class Served(Page):
    """A page on a port of this machine."""

    def __init__(self):
        super().__init__()
        self.socket = bound_socket("127.0.0.1", 0)
        port = self.socket.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        app = application(self.desk, self.access, Hosts(port), address=f"{self.base}/?token=")
        self.server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    @property
    def address(self):
        return f"{self.base}/?token={self.access.token()}"

    def label(self, name):
        return int(self.review.kinds[self.review.ids.index(name)])


@pytest.fixture
def served():
    served = Served()
    yield served
    served.server.should_exit = True
    served.thread.join()


def enter(browser, served, **options):
    browser.open(served.address, **options)
    shows(browser, "r2")


def shows(browser, name):
    number = name[1:]
    browser.wait(f"document.getElementById('card-h').textContent.includes('number {number} ')")


def text(browser, selector):
    return browser.run(f"document.querySelector('{selector}').textContent")


def test_the_keyboard_alone_reviews_undoes_and_notes(browser, served):
    enter(browser, served)
    browser.press("m")
    browser.press("y", "n")  # in the note, keys are letters
    browser.press(Keys.ESCAPE)
    browser.press("y")
    shows(browser, "r3")
    assert text(browser, "#live").startswith("Saved: yes. Next candidate: The study number 3")
    assert browser.run("document.activeElement.id") == "card-h"
    assert served.label("r2") == 1
    assert served.review.decisions.last[2].note == "yn"
    browser.press("n")
    shows(browser, "r4")
    browser.press("s")
    shows(browser, "r5")
    assert [served.label(one) for one in ("r3", "r4")] == [-1, 0]
    browser.press("u")
    shows(browser, "r4")
    browser.press("u")
    shows(browser, "r3")
    assert served.label("r3") == 0
    browser.press("y")
    shows(browser, "r4")
    assert served.label("r3") == 1
    assert browser.problems == []


def test_tab_and_enter_reach_every_decision(browser, served):
    enter(browser, served)
    seen = []
    for _ in range(40):
        browser.press(Keys.TAB)
        seen.append(browser.run("document.activeElement.id"))
        if seen[-1] == "no":
            break
    assert seen[-3:] == ["note", "yes", "no"]
    assert browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.press(Keys.ENTER)
    shows(browser, "r3")
    assert served.label("r2") == -1


def test_search_leads_to_a_row_and_a_change_of_mind(browser, served):
    enter(browser, served)
    browser.press("y")
    shows(browser, "r3")
    browser.press("/")
    browser.wait("document.activeElement.id === 'q'")
    browser.wait("document.querySelectorAll('#list tbody tr').length === 1")
    browser.run("document.querySelector('#list tbody a').click()")
    shows(browser, "r2")
    assert "Decided: yes" in text(browser, "#card-how")
    browser.press("n")
    shows(browser, "r3")
    assert served.label("r2") == -1
    assert [entry.label for entry in served.review.history(2)] == [1, -1]


def test_a_second_tab_is_told_that_a_row_has_been_decided(browser, served):
    enter(browser, served)
    served.review.tell([2], [1], by="Bob")
    browser.press("n")
    browser.wait("!document.getElementById('banner').hidden")
    assert "Row r2 has just been decided by Bob: yes" in text(browser, "#banner")
    assert served.label("r2") == 1
    shows(browser, "r3")


def test_markup_in_cells_is_inert(browser, served):
    enter(browser, served)
    browser.press("n")
    shows(browser, "r3")
    browser.wait("!document.getElementById('why').hidden")
    assert "<script>" in text(browser, "#card-h")
    assert browser.run("document.title") == "Review of bees.csv"
    assert browser.run("document.querySelectorAll('main img, main script').length") == 0
    assert {one.split("/")[2] for one in browser.requests if one.startswith("http")} == {served.base[7:]}


def test_a_phone_reviews_by_touch_and_nothing_sticks_out(browser, served):
    enter(browser, served, width=390, height=844)
    for view in ("rows", "progress", "more", "review"):
        browser.run(f"location.hash = '#{view}'")
        browser.wait(f"!document.getElementById('view-{view}').hidden")
        assert browser.run("document.documentElement.scrollWidth") <= 390
    sizes = browser.run(
        "['yes', 'no', 'later', 'undo'].map((id) => { const b = document.getElementById(id).getBoundingClientRect();"
        "return [b.width, b.height, b.bottom] })"
    )
    for width, height, bottom in sizes:
        assert width >= 44
        assert height >= 44
        assert bottom <= 844
    browser.touch("#yes")
    shows(browser, "r3")
    browser.touch("#undo")
    shows(browser, "r2")
    browser.touch("#no")
    shows(browser, "r3")
    assert served.label("r2") == -1


@pytest.mark.parametrize("dark", [False, True])
def test_texts_stand_out_from_what_is_behind_them(browser, served, dark):
    enter(browser, served, dark=dark)
    browser.wait("!document.getElementById('why').hidden")
    for view in ("review", "rows", "progress", "more"):
        browser.run(f"location.hash = '#{view}'")
        browser.wait(f"!document.getElementById('view-{view}').hidden")
        browser.run("document.querySelectorAll(':disabled').forEach((one) => one.disabled = false)")
        ratio, where = browser.run(CONTRAST)
        assert ratio >= 4.5, where


def test_everything_that_can_be_used_has_a_name(browser, served):
    enter(browser, served)
    nameless = browser.run(
        "[...document.querySelectorAll('input, select, textarea, button, a')].filter((one) => "
        "!(one.labels && one.labels.length) && !one.textContent.trim() && !one.ariaLabel).map((one) => one.outerHTML)"
    )
    assert nameless == []
    assert browser.run("document.getElementById('live').getAttribute('aria-live')") == "polite"


def test_a_decision_waits_for_a_server_that_does_not_answer(browser, served):
    enter(browser, served)
    browser.run("window.keptFetch = window.fetch; window.fetch = () => Promise.reject(new TypeError('gone')); 0")
    browser.press("y")
    browser.wait("document.getElementById('banner').textContent.startsWith('Not saved yet')")
    assert served.label("r2") == 0
    browser.run("window.fetch = window.keptFetch; 0")
    shows(browser, "r3")
    assert served.label("r2") == 1
    assert len(served.review.history()) == 1


def test_an_answer_from_before_a_decision_does_not_change_what_undo_takes_back(browser, served):
    enter(browser, served)
    browser.run(
        "const real = window.fetch; window.held = []; window.fetch = (path, options) => "
        "path.startsWith('/api/progress') ? real(path, options).then((answer) => "
        "new Promise((resolve) => window.held.push(() => resolve(answer)))) : real(path, options); 0"
    )
    browser.press("y")
    shows(browser, "r3")
    browser.wait("window.held.length > 0")
    browser.press("n")
    shows(browser, "r4")
    browser.run("window.held.shift()(); new Promise((resolve) => setTimeout(resolve, 100))")
    browser.press("u")
    shows(browser, "r3")
    assert [served.label(one) for one in ("r2", "r3")] == [1, 0]

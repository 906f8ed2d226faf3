"""What the page does with a review: decisions on disk, two tabs, undo, search, export, rankings that fail."""

import io
import re
import sqlite3
import threading

import numpy as np
import polars as pl
import pytest

from tests.review_page.pages import HTML, Page, decision, new_id
from usmo.review import Store


@pytest.fixture
def page():
    return Page()


@pytest.fixture
def client(page):
    return page.client()


def next_card(client, **values):
    return client.get("/api/next", params={"tab": "tab-1", **values}).json()["candidate"]


def tell(client, card, label, **more):
    return client.post("/api/decisions", json=decision(card, label, **more))


def test_an_answer_is_on_disk_and_brings_the_next_row(tmp_path):
    page = Page(tmp_path / "bees.review")
    client = page.client()
    card = next_card(client)
    assert card["id"] == "r2"
    answer = tell(client, card, 1, by="Ada", note="<b>sure</b>").json()
    assert answer["candidate"]["id"] == "r3"
    assert answer["counts"]["found"] == 1
    with sqlite3.connect(f"file:{tmp_path}/bees.review?mode=ro", uri=True) as other:
        assert other.execute("SELECT row, label, who, note FROM log").fetchall() == [(2, 1, "Ada", "<b>sure</b>")]


def test_a_request_sent_twice_is_one_decision(page, client):
    body = decision(next_card(client), 1)
    first, second = (client.post("/api/decisions", json=body) for _ in range(2))
    assert first.json()["saved"] == second.json()["saved"]
    assert len(page.review.history()) == 1


def test_a_request_id_is_not_taken_for_another_decision(page, client):
    card = next_card(client)
    body = decision(card, 1)
    client.post("/api/decisions", json=body)
    assert client.post("/api/decisions", json={**body, "label": -1}).status_code == 409
    assert page.review.kinds[card["row"]] == 1


def test_two_tabs_get_different_rows(client):
    assert next_card(client, tab="tab-1")["id"] != next_card(client, tab="tab-2")["id"]


def test_a_row_that_somebody_has_just_decided_is_said_so(page, client):
    card = next_card(client)
    assert tell(client, card, 1, by="Ada").status_code == 200
    late = tell(client, card, -1, by="Bob", tab="tab-2")
    assert late.status_code == 409
    assert late.json()["decided"]["by"] == "Ada"
    assert late.json()["candidate"]["row"] != card["row"]
    assert page.review.kinds[card["row"]] == 1
    again = client.get(f"/api/rows/{card['row']}").json()["candidate"]
    assert tell(client, again, -1, by="Bob").status_code == 200
    assert page.review.kinds[card["row"]] == -1


def test_of_many_answers_to_one_row_at_once_one_is_recorded(page, client):
    card = next_card(client)
    clients = [page.client() for _ in range(6)]
    codes = []

    def answer(one, k):
        codes.append(tell(one, card, 1 if k % 2 else -1, tab=f"tab-{k}").status_code)

    threads = [threading.Thread(target=answer, args=(one, k)) for k, one in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == [200] + [409] * 5
    assert len(page.review.history()) == 1


def test_undo_takes_back_what_the_page_shows_and_only_once(page, client):
    card = next_card(client)
    first = tell(client, card, 1, by="Ada").json()
    second = tell(client, first["candidate"], 1, by="Bob", tab="tab-2").json()
    assert second["undo"]["id"] == first["candidate"]["id"]
    of = {"of": first["undo"]["of"], "by": "Ada"}
    answer = client.post("/api/undo", json={**of, "request": new_id()})
    assert answer.json()["candidate"]["row"] == card["row"]
    assert page.review.kinds[card["row"]] == 0
    assert client.post("/api/undo", json={**of, "request": new_id()}).status_code == 409
    assert page.review.kinds[first["candidate"]["row"]] == 1
    assert [entry["undo"] for entry in client.get(f"/api/rows/{card['row']}").json()["history"]] == [False, True]


def test_an_audit_row_stays_one_when_its_decision_is_taken_back():
    page = Page(n=60)
    page.review.tell([5], [1])
    row = int(page.review.decisions.next_audit_rows()[0])
    page.review.tell([row], [-1], how="audit", request="audit-request")
    client = page.client()
    card = client.post("/api/undo", json={"of": "audit-request", "request": new_id()}).json()["candidate"]
    assert tell(client, card, 1).status_code == 200
    assert page.review.history(row)[-1].how == "audit"


def test_a_skipped_row_comes_last(page, client):
    card = next_card(client)
    seen = [card["id"]]
    answer = tell(client, card, 0).json()
    while answer["candidate"] and len(seen) < 40:
        seen.append(answer["candidate"]["id"])
        answer = tell(client, answer["candidate"], -1).json()
    assert len(seen) == 29
    assert seen[-1] == seen[0]
    assert answer["candidate"] is None


@pytest.mark.parametrize("change", [
    {"row": -1}, {"row": 30}, {"row": "2"}, {"row": 2.5}, {"row": True}, {"row": None}, {"row": [2]}, {"row": 10**30},
    {"label": 2}, {"label": "yes"}, {"label": True}, {"label": None}, {"request": ""}, {"request": "short"},
    {"request": "x" * 65}, {"request": "../../../etc"}, {"request": 12345678}, {"note": 5}, {"note": "x" * 10_001},
    {"by": ["Ada"]}, {"by": "x" * 101}, {"after": -1}, {"after": None}, {"tab": {}},
])  # fmt: skip
def test_malformed_decisions_are_refused_and_name_the_field(page, client, change):
    answer = client.post("/api/decisions", json={**decision({"row": 2, "after": 0}, 1), **change})
    assert answer.status_code == 400
    assert next(iter(change)) in answer.json()["error"]
    assert page.review.history() == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 50_000])
def test_a_body_that_is_no_object_is_refused(client, body):
    answer = client.post("/api/decisions", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400


def test_markup_in_cells_is_sent_as_text_and_escaped_in_the_report(page, client):
    card = client.get("/api/rows/3").json()["candidate"]
    assert HTML in next(cell["value"] for cell in card["cells"] if cell["name"] == "title")
    assert client.get("/api/rows/3").headers["content-type"] == "application/json"
    tell(client, card, 1, note=HTML, by=HTML)
    client.post("/api/criteria", json={"text": HTML, "before": "", "request": new_id()})
    report = client.get("/report").text
    assert "<img" not in report
    assert report.count("&lt;img") >= 3
    assert "default-src &#39;none&#39;" in report


def test_numbers_say_where_they_lie_among_the_positives(page, client):
    page.review.tell([10, 20], [1, 1])
    cells = {cell["name"]: cell for cell in client.get("/api/rows/15").json()["candidate"]["cells"]}
    assert (
        cells["size"]["place"]["words"]
        == "above 25\N{NO-BREAK SPACE}% of the known positives and 48\N{NO-BREAK SPACE}% of all rows"
    )
    marks = cells["size"]["place"]["marks"]
    assert marks == sorted(marks)
    assert marks[0] < cells["size"]["place"]["at"] < marks[4]
    assert cells["kind"]["place"]["words"].startswith("1 of 4 known positives")


def test_the_nearest_known_positives_are_named(client):
    why = client.get("/api/rows/4/why").json()
    assert [one["id"] for one in why["nearest"]] == ["r1", "r0"]


@pytest.mark.parametrize(("query", "which", "ids"), [
    ("NUMBER bees", "open", 28), ("number nothing", "all", 0), ("r7", "all", 1), (".*", "all", 0), ("(", "all", 0),
    ("<script>", "all", 11), ("", "known", 2), ("", "decided", 0),
])  # fmt: skip
def test_search_finds_rows_that_contain_all_words(client, query, which, ids):
    answer = client.get("/api/rows", params={"q": query, "which": which})
    assert answer.json()["total"] == ids


def test_decisions_are_listed_latest_first_and_can_be_filtered(client):
    answer = tell(client, next_card(client), 1).json()
    tell(client, answer["candidate"], -1)
    listed = client.get("/api/rows", params={"which": "decided"}).json()["rows"]
    assert [(row["id"], row["label"]) for row in listed] == [("r3", -1), ("r2", 1)]
    assert [row["id"] for row in client.get("/api/rows", params={"which": "negative"}).json()["rows"]] == ["r3"]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_any_subset_can_be_exported(client, format):
    tell(client, next_card(client), 1, note='good, "very"\nfine')
    values = {"which": "positive", "format": format, "table": "1"}
    answer = client.get("/export", params=values)
    assert f'filename="review-positive.{format}"' in answer.headers["content-disposition"]
    reader = pl.read_csv if format == "csv" else pl.read_parquet
    frame = reader(io.BytesIO(answer.content))
    assert frame["id"].to_list() == ["r2", "r0", "r1"]
    assert frame["note"].to_list()[0] == 'good, "very"\nfine'
    assert frame["size"].to_list()[1] == 9.0
    assert "known" not in frame.columns
    found = reader(io.BytesIO(client.get("/export", params={**values, "q": "r1"}).content))
    assert found["id"].to_list() == ["r1"]
    empty = reader(io.BytesIO(client.get("/export", params={**values, "which": "negative"}).content))
    assert empty.height == 0


@pytest.mark.parametrize("values", [{"which": "none"}, {"format": "exe"}, {"table": "2"}, {"q": "x" * 201}])
def test_an_export_of_nothing_sensible_is_refused(client, values):
    assert client.get("/export", params=values).status_code == 400


def test_known_rows_are_checked_and_then_added_in_one_step(page, client):
    tell(client, next_card(client), -1)
    body = {"text": "r5\n r6 ,note\nr5\n\nnone\nr0\nr2", "label": 1, "request": new_id()}
    plan = client.post("/api/known", json={**body, "check": True}).json()
    assert (plan["added"], plan["labelled"], plan["contrary"], plan["unknown"]) == (2, 1, ["r2"], ["none"])
    assert page.review.kinds[5] == 0
    done = [client.post("/api/known", json=body).json() for _ in range(2)]
    assert [one["added"] for one in done] == [2, 2]
    assert page.review.kinds[[5, 6, 2]].tolist() == [1, 1, -1]
    assert len(page.review.history()) == 3
    client.post("/api/undo", json={"of": done[0]["undo"]["of"], "request": new_id()})
    assert page.review.kinds[[5, 6]].tolist() == [0, 0]


def test_rows_of_every_kind_add_up_to_the_table(page, client):
    assert "negatives known beforehand" not in client.get("/report").text
    tell(client, next_card(client), 1)
    client.post("/api/known", json={"text": "r5\nr6\nr7", "label": -1, "request": new_id()})
    counts = client.get("/api/progress").json()["counts"]
    assert (counts["known_positives"], counts["known_negatives"], counts["decided"]) == (2, 3, 1)
    parts = ("known_positives", "known_negatives", "decided", "open")
    assert sum(counts[name] for name in parts) == counts["rows"] == 30
    assert "<dt>negatives known beforehand or imported</dt><dd>3</dd>" in client.get("/report").text


def test_criteria_are_kept_and_not_overwritten_unawares(tmp_path):
    page = Page(tmp_path / "bees.review")
    client = page.client()
    assert client.post("/api/criteria", json={"text": "bees only", "before": ""}).status_code == 200
    late = client.post("/api/criteria", json={"text": "wasps too", "before": ""})
    assert late.status_code == 409
    assert late.json()["text"] == "bees only"
    page.review.close()
    with Store(tmp_path / "bees.review") as store:
        assert store.setting("criteria", "") == "bees only"


@pytest.mark.filterwarnings("ignore:the refit failed")
def test_a_refit_that_fails_is_said_and_the_last_ranking_stays(page, client):
    card = next_card(client)
    page.ranker.broken = "singular <matrix>"
    answer = tell(client, card, 1).json()
    assert answer["candidate"]["id"] == "r3"
    assert "singular <matrix>" in client.get("/api/progress").json()["trouble"]
    page.ranker.broken = ""
    tell(client, answer["candidate"], 1)
    assert client.get("/api/progress").json()["trouble"] is None


def test_data_without_signal_are_said():
    page = Page()
    page.review.ranker.rank = lambda X, kinds, start=None: type(
        "Flat", (), {"scores": np.zeros(30), "start": None, "coef": None}
    )
    client = page.client()
    next_card(client)
    assert "no row from another" in client.get("/api/progress").json()["trouble"]


def test_progress_says_what_the_rule_says(page, client):
    state = client.get("/api/progress").json()
    assert not state["stop"]
    assert re.search(r"audit needs \d+ ", state["reasons"][0])
    assert state["estimate"] is None
    page.review.tell(list(range(2, 30)), [-1] * 28)
    state = client.get("/api/progress").json()
    assert state["stop"]
    assert {tag for tag, _, _ in state["plot"]["shapes"]} <= {"line", "text", "rect", "circle"}


def test_a_disk_that_fails_is_said_and_nothing_is_confirmed(page, client, monkeypatch):
    card = next_card(client)

    def full(*_values, **_more):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(page.review.store, "record", full)
    answer = tell(client, card, 1)
    assert answer.status_code == 503
    assert "disk is full" in answer.json()["error"]
    assert page.review.kinds[card["row"]] == 0

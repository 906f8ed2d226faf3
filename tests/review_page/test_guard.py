"""What reaches the page: only requests from the page itself, with a session, and of a size."""

import json

import pytest
from starlette.testclient import TestClient

from tests.review_page.pages import BASE, PORT, Page, decision, new_id
from usmo.review_page.access import Access, Hosts, is_loopback
from usmo.review_page.guard import LARGEST_BODY, LARGEST_IMPORT


@pytest.fixture(scope="module")
def page():
    return Page()


@pytest.fixture(scope="module")
def client(page):
    return page.client()


def test_a_token_opens_the_page_once(page):
    token = page.access.token()
    first, second = page.stranger(), page.stranger()
    answer = first.get("/", params={"token": token})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert token not in answer.text
    assert first.get("/").status_code == 200
    assert second.get("/", params={"token": token}).status_code == 401
    assert second.get("/").status_code == 401


def test_a_look_at_the_address_does_not_use_the_token_up(page):
    token, stranger = page.access.token(), page.stranger()
    assert stranger.head("/", params={"token": token}).status_code == 401
    assert stranger.get("/", params={"token": token}).status_code == 200


@pytest.mark.parametrize("token", ["", "x", "é", "a" * 5000, "../..", "%00"])
def test_a_wrong_token_is_refused(page, token):
    assert page.stranger().get("/", params={"token": token}).status_code == 401


@pytest.mark.parametrize(
    "path", ["/", "/api/next", "/static/page.js", "/export", "/report", "/api/rows/0", "/nothing"]
)
def test_without_a_session_there_is_nothing(page, path):
    answer = page.stranger().get(path)
    assert answer.status_code == 401
    assert "bees" not in answer.text


def test_a_session_of_another_server_is_no_session(page):
    stranger = page.stranger()
    stranger.cookies.set(f"usmo-review-{PORT}", Access().token())
    assert stranger.get("/api/next").status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", f"10.0.0.1:{PORT}", "", f"[::1:{PORT}",
             f"127.0.0.1:{PORT}@evil.example", f"127.0.0.1.evil.example:{PORT}"]
)  # fmt: skip
def test_a_wrong_host_is_refused_even_with_a_session(client, host):
    assert client.get("/api/next", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", [f"localhost:{PORT}", f"[::1]:{PORT}", f"127.0.0.1:{PORT}"])
def test_names_of_this_machine_are_accepted(host):
    assert Hosts(PORT).accepts(host)


def test_a_remote_server_accepts_addresses_but_no_foreign_names():
    hosts = Hosts(PORT, remote=True)
    assert hosts.accepts(f"192.168.1.7:{PORT}")
    assert not hosts.accepts(f"evil.example:{PORT}")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1", ""]
)
def test_a_wrong_origin_is_refused(page, client, origin):
    before = page.review.store.last
    card = client.get("/api/next").json()["candidate"]
    assert client.get("/api/next", headers={"Origin": origin}).status_code == 403
    answer = client.post("/api/decisions", json=decision(card, 1), headers={"Origin": origin})
    assert answer.status_code == 403
    assert page.review.store.last == before


def test_a_change_without_an_origin_is_refused(page, client):
    bare = TestClient(page.app, base_url=BASE, cookies=client.cookies)
    assert bare.get("/api/next").status_code == 200
    assert bare.post("/api/share", json={}).status_code == 403


def test_another_page_cannot_load_anything(client):
    for site in ("cross-site", "same-site"):
        assert client.get("/api/next", headers={"Sec-Fetch-Site": site}).status_code == 403


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_changes_must_be_json(client, kind):
    body = json.dumps(decision({"row": 5, "after": 0}, 1))
    answer = client.post("/api/decisions", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 415


@pytest.mark.parametrize("path", ["/api/decisions", "/api/known"])
def test_a_body_beyond_the_limit_is_refused(page, client, path):
    limit = LARGEST_IMPORT if path == "/api/known" else LARGEST_BODY
    before = page.review.store.last
    headers = {"Content-Type": "application/json"}
    assert client.post(path, content=b" " * (limit + 1), headers=headers).status_code == 413
    pieces = (b" " * 10_000 for _ in range(limit // 10_000 + 1))  # without a Content-Length
    assert client.post(path, content=pieces, headers=headers).status_code == 413
    assert client.post(path, content=b" " * limit, headers=headers).status_code == 400
    assert page.review.store.last == before


@pytest.mark.parametrize(
    "path",
    ["/static/../desk.py", "/static/%2e%2e/desk.py", "/static/..%2fdesk.py", "/static//etc/passwd", "/static/",
     "/static/page.html", "/api/rows/-1", "/api/rows/1e3", "/api/rows/30", "/api/rows/99999999999999999999",
     "/etc/passwd", "/%00", "/api/rows/%31%00"],
)  # fmt: skip
def test_paths_lead_nowhere_else(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert "error" in answer.json()


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(client, method):
    answer = client.request(method, "/api/decisions", json={})
    assert answer.status_code == 405


def test_every_answer_has_a_strict_policy(page, client):
    answers = [client.get(path) for path in ("/", "/api/next", "/static/page.js", "/none")]
    answers += [page.stranger().get("/"), page.stranger().get("/", params={"token": page.access.token()})]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers


def test_the_page_names_no_other_server_and_has_no_inline_code(client):
    text = client.get("/").text
    assert "http:" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https:" not in text
    assert "style=" not in text
    assert " on" not in "".join(part.split(">")[0] for part in text.split("<button")[1:])
    assert text.count("<script") == text.count('<script type="module" src="/static/')


def test_an_open_page_makes_addresses_for_others(page, client):
    address = client.post("/api/share", json={"request": new_id()}).json()["address"]
    assert address.startswith(f"{BASE}/?token=")
    other = page.stranger()
    assert other.get(address).status_code == 200
    assert other.get("/api/next").status_code == 200


def test_loopback_is_known():
    assert all(map(is_loopback, ("127.0.0.1", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "192.168.0.2", "example.org")))

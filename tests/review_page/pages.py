"""A small review behind its page, without a network."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
from starlette.testclient import TestClient

from usmo.io import Sheet
from usmo.review import Review
from usmo.review.rankers import Ranked
from usmo.review_page.access import Access, Hosts
from usmo.review_page.application import application
from usmo.review_page.desk import Desk

PORT = 8123
BASE = f"http://127.0.0.1:{PORT}"
HTML = '<script>document.title = 1</script><img src=x onerror="document.title = 2">'

_numbers = itertools.count()


class ByFirstColumn:
    """A ranker that needs no fit; it fails while ``broken`` is set."""

    broken = ""

    def rank(self, X: Any, kinds: np.ndarray, start: Any = None) -> Ranked:
        if self.broken:
            raise RuntimeError(self.broken)
        return Ranked(np.asarray(X)[:, 0].astype(float))


def sheet(n: int = 30) -> Sheet:
    """Ids, numbers, a category and texts, with markup in some cells; row 0 and 1 are known positives."""
    texts = [f"The study number {k} is about wild bees and honey" + (HTML if k == 3 else "") for k in range(n)]
    return Sheet(
        pl.DataFrame({
            "id": [f"r{k}" for k in range(n)],
            "size": np.linspace(9.0, 0.0, n),
            "kind": ["a", "b", HTML] * (n // 3),
            "title": texts,
            "known": ["yes"] * 2 + [""] * (n - 2),
        })
    )  # fmt: skip


class Page:
    """A review of that sheet, its desk and clients for it."""

    def __init__(self, store: Any = None, n: int = 30, **options: Any) -> None:
        table = sheet(n)
        labels = np.array([1, 1] + [0] * (n - 2))
        self.ranker = ByFirstColumn()
        ids = table.column("id").tolist()
        self.review = Review(
            table.column("size")[:, None], labels, ids=ids, store=store, ranker=self.ranker, **options
        )
        self.desk = Desk(self.review, table, hidden=["id", "known"], source="bees.csv")
        self.access = Access()
        self.app = application(self.desk, self.access, Hosts(PORT), address=f"{BASE}/?token=")

    def stranger(self, **headers: str) -> TestClient:
        """A client without a session."""
        return TestClient(self.app, base_url=BASE, headers={"Origin": BASE, **headers})

    def client(self, **headers: str) -> TestClient:
        """A client that has exchanged a token."""
        client = self.stranger(**headers)
        assert client.get("/", params={"token": self.access.token()}).status_code == 200
        return client


def new_id() -> str:
    return f"request-{next(_numbers):08d}"


def decision(card: dict[str, Any], label: Any, **more: Any) -> dict[str, Any]:
    """The body that the page sends."""
    return {
        "row": card["row"],
        "label": label,
        "after": card["after"],
        "request": new_id(),
        "tab": "tab-1",
        **more,
    }

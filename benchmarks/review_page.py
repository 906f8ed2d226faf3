"""The page of a review: python -m benchmarks.review_page COMMAND

latency   from a decision to the next candidate over HTTP, while fits run behind it
kills     the server is killed at random moments under load (--kills 20): what it confirmed is in the store, each once
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from usmo.review import Store

_DECISIONS = 60
_OPTIONS = (
    "--label-column",
    "known",
    "--positive",
    "yes",
    "--id-column",
    "id",
    "--no-browser",
    "--json",
    "--quiet",
)


class Server:
    """``usmo review`` in a process of its own."""

    def __init__(self, table: Path, store: Path) -> None:
        command = [sys.executable, "-m", "usmo", "review", str(table), "--store", str(store), *_OPTIONS]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"usmo review ended with code {self.process.wait()}")
        self.address = json.loads(line)["address"]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


class Client:
    """A browser's part: a session, then JSON."""

    def __init__(self, address: str) -> None:
        parts = urllib.parse.urlsplit(address)
        self.tab = uuid.uuid4().hex
        self._origin = f"http://{parts.netloc}"
        self._connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        self._connection.request("GET", f"/?{parts.query}")
        answer = self._connection.getresponse()
        answer.read()
        self._cookie = answer.getheader("Set-Cookie", "").partition(";")[0]

    def call(self, path: str, body: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Status and answer; a change if there is a body."""
        headers = {"Cookie": self._cookie, "Origin": self._origin, "Content-Type": "application/json"}
        text = None if body is None else json.dumps({"tab": self.tab, **body})
        self._connection.request("GET" if body is None else "POST", path, text, headers)
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read())

    def share(self) -> Client:
        """Another client of the same server."""
        return Client(self.call("/api/share", {})[1]["address"])


def latency() -> None:
    """A table of 10,000 rows with the default kernel, then documents."""
    print(f"{'rows':>8} {'table':>10} {'start':>8} {'median':>8} {'worst':>8}   answers while a fit ran")
    with tempfile.TemporaryDirectory() as folder:
        for rows, kind in ((10_000, "numbers"), (10_000, "documents"), (100_000, "documents")):
            table = Path(folder) / f"{kind}-{rows}.csv"
            truth = write_table(table, rows, kind)
            begin = time.perf_counter()
            server = Server(table, table.with_suffix(".review"))
            start = time.perf_counter() - begin
            try:
                waits, fitting = _decide(Client(server.address), truth)
            finally:
                server.kill()
            median, worst = 1e3 * np.median(waits), 1e3 * max(waits)
            print(
                f"{rows:8,} {kind:>10} {start:7.1f}s {median:5.0f} ms {worst:5.0f} ms   {fitting} of {len(waits)}",
                flush=True,
            )


def _decide(client: Client, truth: np.ndarray) -> tuple[list[float], int]:
    """Seconds from each decision to the next candidate, and how many answers came while a fit ran."""
    card = client.call(f"/api/next?tab={client.tab}")[1]["candidate"]
    waits, fitting = [], 0
    for _ in range(_DECISIONS):
        body = _decision(card, 1 if truth[card["row"]] else -1)
        begin = time.perf_counter()
        answer = client.call("/api/decisions", body)[1]
        waits.append(time.perf_counter() - begin)
        card, fitting = answer["candidate"], fitting + answer["fitting"]
        time.sleep(0.05)
    return waits, fitting


def write_table(path: Path, rows: int, kind: str) -> np.ndarray:
    """Write a table with 5 known positives, and return the truth."""
    rng = np.random.default_rng(0)
    truth = rng.random(rows) < 0.02
    truth[:5] = True
    if kind == "numbers":
        values = rng.normal(size=(rows, 20)) + 1.2 * truth[:, None] * (np.arange(20) < 6)
        header = ",".join(f"x{j}" for j in range(20))
        cells = (",".join(f"{v:.4f}" for v in row) for row in values)
    else:
        words = np.minimum(rng.pareto(1.1, size=(rows, 60)) * 30, 49_999).astype(int)
        topic = truth[:, None] & (rng.random((rows, 60)) < 0.15)
        words[topic] = 20_000 + rng.integers(0, 200, int(topic.sum()))
        header, names = "abstract", [_word(k) for k in range(50_000)]
        cells = (" ".join(names[k] for k in row) for row in words)
    with open(path, "w") as file:
        file.write(f"id,known,{header}\n")
        file.writelines(f"r{k},{'yes' if k < 5 else ''},{text}\n" for k, text in enumerate(cells))
    return truth


def _word(number: int) -> str:
    """A word of letters for a number."""
    return "".join(chr(97 + int(digit)) for digit in f"{number:05d}") + "ing"


def _decision(card: dict[str, Any], label: int) -> dict[str, Any]:
    return {"row": card["row"], "label": label, "after": card["after"], "request": uuid.uuid4().hex}


def kills(number: int, people: int = 3, rows: int = 400) -> dict[str, int]:
    """Kill a server under load; compare what it confirmed with what the store holds."""
    with tempfile.TemporaryDirectory() as folder:
        table, store = Path(folder) / "table.csv", Path(folder) / "table.review"
        write_table(table, rows, "numbers")
        outcome: dict[str, str] = {}
        again = 0
        unanswered: list[tuple[str, dict[str, Any]]] = []
        for k in range(number):
            server = Server(table, store)
            first = Client(server.address)
            # what got no answer is sent again, as the page does
            again += len(unanswered)
            for path, body in unanswered:
                _note(outcome, body["request"], first.call(path, body)[0])
            unanswered = _under_load([first, *(first.share() for _ in range(people - 1))], server, outcome, k)
        with Store(store) as log:
            counts = Counter(entry.request for entry in log.history())
    confirmed = [request for request, what in outcome.items() if what == "confirmed"]
    return {
        "kills": number,
        "confirmed": len(confirmed),
        "refused": sum(what == "refused" for what in outcome.values()),
        "sent again": again,
        "lost": sum(counts[request] == 0 for request in confirmed),
        "doubled": sum(n > 1 for n in counts.values()),
        "recorded though refused": sum(counts[one] > 0 for one, what in outcome.items() if what == "refused"),
    }


def _note(outcome: dict[str, str], request: str, status: int) -> None:
    outcome[request] = "confirmed" if status == 200 else "refused"


def _under_load(
    clients: list[Client], server: Server, outcome: dict[str, str], seed: int
) -> list[tuple[str, dict[str, Any]]]:
    """Let people decide until the server is killed; returns their changes that got no answer."""
    unanswered: list[tuple[str, dict[str, Any]]] = []

    def work(client: Client, rng: random.Random) -> None:
        path, body = "", {"request": ""}
        try:
            while True:
                path = ""
                card = client.call(f"/api/rows/{rng.randrange(5, 25)}")[1]["candidate"]  # few rows: people meet
                path, body = "/api/decisions", _decision(card, rng.choice((-1, 1)))
                status, answer = client.call(path, body)
                _note(outcome, body["request"], status)
                if status == 200 and answer["undo"] and rng.random() < 0.1:
                    path, body = "/api/undo", {"of": answer["undo"]["of"], "request": uuid.uuid4().hex}
                    _note(outcome, body["request"], client.call(path, body)[0])
        except (OSError, http.client.HTTPException, ValueError):
            if path and body["request"] not in outcome:
                unanswered.append((path, body))

    threads = [
        threading.Thread(target=work, args=(client, random.Random(100 * seed + i)))
        for i, client in enumerate(clients)
    ]
    for thread in threads:
        thread.start()
    time.sleep(random.Random(seed).uniform(0.05, 0.6))
    server.kill()
    for thread in threads:
        thread.join()
    return unanswered


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["latency", "kills"])
    parser.add_argument("--kills", type=int, default=20)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if options.command == "latency":
        latency()
    else:
        print(", ".join(f"{name} {number:,}" for name, number in kills(options.kills).items()))

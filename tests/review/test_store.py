"""The store: nothing confirmed is lost, nothing is doubled, nothing is changed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading

import numpy as np
import pytest

from usmo.review import Store, StoreError
from usmo.review.decisions import Decisions
from usmo.review.fingerprint import fingerprint

WRITER = """
import sys
from usmo.review.store import Store
store = Store(sys.argv[1])
k = 0
while True:
    store.record([k, k + 1], [1, -1], request=f"{sys.argv[2]}-{k}")
    print(f"{sys.argv[2]}-{k}", flush=True)
    k += 1
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.review"


def test_decisions_are_the_last_entries_that_are_not_undone(path):
    with Store(path) as store:
        store.record([3, 4], [1, -1], by="anna", note="sure")
        store.record([3], [-1], by="ben")
        assert {entry.row: entry.label for entry in store.decisions()} == {3: -1, 4: -1}
        assert [entry.row for entry in store.undo()] == [3]
        assert {entry.row: entry.label for entry in store.decisions()} == {3: 1, 4: -1}
        assert [entry.by for entry in store.history(3)] == ["anna", "ben", "ben"]
    with Store(path) as again:
        assert {entry.row: entry.label for entry in again.decisions()} == {3: 1, 4: -1}


def test_a_control_row_that_comes_up_again_keeps_its_decision(path):
    with Store(path) as store:
        store.record([3], [1], by="anna", how="control")
        store.record([3], [1], how="again")
        assert [(entry.row, entry.how) for entry in store.decisions()] == [(3, "control")]
        assert [entry.how for entry in store.undo()] == ["control"]
        assert store.decisions() == []
        decisions = Decisions(np.zeros(5, dtype=np.int8), np.arange(5))
        decisions.replay(store.history())
        assert not decisions.again  # the decision was taken back
        store.record([3], [-1], how="control")
        store.record([3], [-1], how="again")
        decisions.replay(store.history())
        assert decisions.again == {3}


def test_the_file_has_the_view_of_decisions_that_older_versions_read(path):
    with Store(path) as store:
        store.record([3, 4], [1, -1], how="control")
        store.record([3], [1], how="again")
        store.record([4], [1])
        ours = [(entry.seq, entry.row, entry.label) for entry in store.decisions()]
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT seq, row, label FROM decisions ORDER BY seq").fetchall() == ours
    connection.close()


def test_undo_of_one_person_leaves_the_others(path):
    with Store(path) as store:
        store.record([1], [1], by="anna")
        store.record([2], [1], by="ben")
        assert [entry.row for entry in store.undo(by="anna")] == [1]
        assert store.undo(by="anna") == []
        assert [entry.row for entry in store.decisions()] == [2]


def test_a_request_is_recorded_once(path):
    with Store(path) as store:
        first = store.record([1], [1], request="r")
        assert store.record([1], [1], request="r") == first
        store.undo(request="u")
        store.undo(request="u")
        assert len(store.history()) == 2


def test_the_log_cannot_be_changed(path):
    with Store(path) as store:
        store.record([1], [1])
        for statement in ("UPDATE log SET label = -1", "DELETE FROM log"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                store._connection.execute(statement)


def test_a_failed_request_leaves_nothing(path):
    with Store(path) as store:
        with pytest.raises(sqlite3.IntegrityError):
            store.record([1, 2], [1, 7])
        assert store.history() == []


def test_writers_at_once_lose_and_double_nothing(path):
    def write(name: str) -> None:
        with Store(path) as store:
            for k in range(20):
                store.record([k], [1], by=name, request=f"{name}-{k}")
                store.record([k], [1], by=name, request=f"{name}-{k}")

    threads = [threading.Thread(target=write, args=(name,)) for name in ("anna", "ben", "cleo")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Store(path) as store:
        assert len(store.history()) == 60


def test_a_new_file_that_another_writer_holds_is_waited_for(path):
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.2, other.execute, ["ROLLBACK"])
    release.start()
    with Store(path) as store:
        store.record([1], [1])
        assert len(store.history()) == 1
    release.join()
    other.close()


def test_a_file_that_stays_locked_is_refused(path, monkeypatch):
    monkeypatch.setattr("usmo.review.store._BUSY_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"cannot be used \(database is locked\)"):
        Store(path)
    other.close()


def test_kills_lose_no_confirmed_request_and_leave_no_half(path):
    Store(path).close()
    confirmed = []
    for k in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), f"w{k}"], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        confirmed += [process.stdout.readline() for _ in range(3 + k)]
        os.kill(process.pid, signal.SIGKILL)
        confirmed += [line for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
        process.wait()
    with Store(path) as store:
        requests = [entry.request for entry in store.history()]
    assert {line.strip() for line in confirmed} <= set(requests)
    assert all(requests.count(request) == 2 for request in set(requests))


def test_a_changed_table_is_refused_with_what_differs(path):
    import polars as pl

    from usmo.io import Sheet

    frame = pl.DataFrame({"title": ["a", "b", "c"], "year": [1, 2, 3]})
    labels = np.array([1, 0, 0])
    Store(path, fingerprint(Sheet(frame), labels)).close()
    Store(path, fingerprint(Sheet(frame.clone()), labels)).close()
    other = frame.with_columns(title=pl.Series(["a", "B", "c"])).with_columns(more=pl.lit(0))
    with pytest.raises(StoreError, match=r"changed: column 'title'; new: column 'more'"):
        Store(path, fingerprint(Sheet(other), labels))
    with pytest.raises(StoreError, match=r"3 rows before, 2 now"):
        Store(path, fingerprint(Sheet(frame.head(2)), labels[:2]))


def test_other_files_are_refused(path, tmp_path):
    path.write_bytes(b"not a database, but long enough to be taken for one" * 40)
    with pytest.raises(StoreError, match="is not a review file"):
        Store(path)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(StoreError, match="database of another program"):
        Store(other)
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "no folder" / "a.review")

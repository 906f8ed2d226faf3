"""The decisions of a review on disk: one SQLite file, an append-only log.

Each entry of the log has row, label, who, when, note, how the row was chosen and the version of the model. Nothing is
ever changed or deleted: triggers refuse it. The present labels and the history are views of the log. An undo is an
entry too; it names the entry that it takes back.

A call that records decisions returns when they are on disk (WAL with ``synchronous=FULL``). They are one transaction: a
kill leaves all of them or none. A caller that does not know whether its request arrived sends it again with the same
``request``; the log keeps one.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from types import TracebackType
from typing import Any, NamedTuple

_APPLICATION_ID = 0x75736D6F  # "usmo"
_FORMAT = 1
_BUSY_SECONDS = 60.0
"""How long a writer waits for others. A decision takes some milliseconds."""
_RETRY_SECONDS = 0.005
"""Pause between attempts to set the journal mode."""

AUDIT, CONTROL, AGAIN, IMPORTED = "audit", "control", "again", "imported"
"""How a row was chosen: an audit row, a row of the control sample, a control row that the ranking has come upon, a row
whose label is known from elsewhere. An entry "again" is no decision."""

_DECISIONS = f"SELECT * FROM active WHERE how <> '{AGAIN}'"
"""All decisions that are not taken back; the last one on a row is the present one."""

_PRESENT = f"SELECT * FROM active WHERE seq IN (SELECT MAX(seq) FROM ({_DECISIONS}) GROUP BY row)"
"""The present decision on each row."""

_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {_FORMAT};
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    request TEXT NOT NULL,
    row INTEGER NOT NULL CHECK (row >= 0),
    label INTEGER NOT NULL CHECK (label IN (-1, 0, 1)),
    who TEXT NOT NULL,
    time TEXT NOT NULL,
    note TEXT NOT NULL,
    how TEXT NOT NULL,
    model INTEGER NOT NULL,
    score REAL,
    undoes INTEGER UNIQUE REFERENCES log (seq),
    UNIQUE (request, row)
);
CREATE TRIGGER log_is_not_changed BEFORE UPDATE ON log BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER log_is_not_deleted BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE VIEW active AS
    SELECT * FROM log
    WHERE undoes IS NULL AND seq NOT IN (SELECT undoes FROM log WHERE undoes IS NOT NULL);
CREATE VIEW decisions AS {_PRESENT};
"""
"""The view ``decisions`` is for other programs and older versions: in their files it has entries "again" too."""

_COLUMNS = "seq, request, row, label, who, time, note, how, model, score, undoes"

LONGEST_TEXT = 100_000
"""Characters of a note, a name or a request at most."""


class StoreError(ValueError):
    """A file that is not a review, belongs to another table, or cannot be used."""


class AlreadyDecided(ValueError):
    """A decision that was made in view of an older one: somebody has decided on the row meanwhile.

    ``entry`` is the present decision on the row, None if it was taken back.
    """

    def __init__(self, row: int, entry: Entry | None) -> None:
        what = "the decision was taken back" if entry is None else f"{entry.by or 'somebody'} has decided on it"
        super().__init__(f"row {row + 1} has changed: {what}")
        self.row, self.entry = row, entry


class Entry(NamedTuple):
    """One entry of the log. ``undoes`` is the number of the entry that it takes back, None for a decision.

    ``score`` is the score of the row in the ranking that proposed it, in standard deviations of the open rows' scores.
    """

    seq: int
    request: str
    row: int
    label: int
    by: str
    time: str
    note: str
    how: str
    model: int
    score: float | None
    undoes: int | None


class Store:
    """The log of one review. Threads and processes may share the file; an object may be used by several threads.

    Parameters
    ----------
    path : path or None
        The file, made if there is none; None keeps the log in memory.
    fingerprint : mapping of str to str, optional
        What identifies the table (:func:`usmo.review.fingerprint.fingerprint`). A new file stores it; with an
        existing file it must agree, or a StoreError says what differs.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, fingerprint: Mapping[str, str] | None = None
    ) -> None:
        self.path = None if path is None else os.fspath(path)
        self._lock = threading.RLock()
        try:
            self._connection = sqlite3.connect(
                ":memory:" if self.path is None else self.path,
                timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False,
            )  # fmt: skip
        except sqlite3.Error as error:
            raise StoreError(f"the review file {self.path} cannot be opened ({error})") from error
        try:
            self._prepare(fingerprint)
        except sqlite3.OperationalError as error:
            self.close()
            raise StoreError(f"the review file {self.path} cannot be used ({error})") from error
        except sqlite3.DatabaseError as error:
            self.close()
            raise StoreError(f"{self.path} is not a review file ({error}): give another --store") from error
        except BaseException:
            self.close()
            raise

    def _prepare(self, fingerprint: Mapping[str, str] | None) -> None:
        self._keep_a_write_ahead_log()
        for pragma in ("synchronous=FULL", "foreign_keys=ON"):
            self._connection.execute(f"PRAGMA {pragma}")
        if self._is_empty():  # only then is the lock of writers needed: they may be busy
            with self._transaction() as connection:
                if self._is_empty():
                    for statement in _statements(_SCHEMA):
                        connection.execute(statement)
                    _put(connection, "fingerprint", dict(fingerprint or {}))
        application, version = (
            self._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if application != _APPLICATION_ID or version != _FORMAT:
            is_review = application == _APPLICATION_ID
            what = f"review of format {version}" if is_review else "database of another program"
            raise StoreError(f"{self.path} is a {what}, this version reads reviews of format {_FORMAT}")
        if fingerprint is not None:
            refuse_other_table(_get(self._connection, "fingerprint", {}), fingerprint, str(self.path))

    def _keep_a_write_ahead_log(self) -> None:
        """Set the journal mode. SQLite does not wait for others here, who may be opening the same new file."""
        last_try = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > last_try:
                    raise
            time.sleep(_RETRY_SECONDS)

    def _is_empty(self) -> bool:
        return not self._connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A block whose changes are on disk when it ends, all or none."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def record(
        self, rows: Sequence[int], labels: Sequence[int], *, by: str = "", note: str = "",
        how: Sequence[str] | str = "", model: int = 0, scores: Sequence[float] | None = None,
        request: str | None = None, after: Sequence[int] | None = None,
    ) -> list[Entry]:  # fmt: skip
        """Append decisions, and return their entries when they are on disk.

        A request that the log has already is not recorded again: its entries are returned. ``after`` has for each row
        the number of the decision that the caller has seen, 0 for none; AlreadyDecided is raised if there is another.
        """
        request = uuid.uuid4().hex if request is None else request
        for name, text in (("by", by), ("note", note), ("request", request)):
            if not isinstance(text, str) or len(text) > LONGEST_TEXT:
                raise ValueError(f"{name} must be text of at most {LONGEST_TEXT:,} characters, got {text!r:.60}")
        hows = [how] * len(rows) if isinstance(how, str) else list(how)
        own_scores = [None] * len(rows) if scores is None else [float(score) for score in scores]
        now = _now()
        with self._transaction() as connection:
            known = self._select("SELECT {} FROM log WHERE request = ? ORDER BY seq", request)
            if known:
                return known
            for row, seen in zip(rows, after or (), strict=after is not None):
                present = self._select(f"SELECT {{}} FROM ({_DECISIONS}) WHERE row = ? ORDER BY seq", row)
                if (present[-1].seq if present else 0) != seen:
                    raise AlreadyDecided(int(row), present[-1] if present else None)
            connection.executemany(
                "INSERT INTO log (request, row, label, who, time, note, how, model, score) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (request, int(row), int(label), by, now, note, how_one, int(model), score)
                    for row, label, how_one, score in zip(rows, labels, hows, own_scores, strict=True)
                ],
            )
            return self._select("SELECT {} FROM log WHERE request = ? ORDER BY seq", request)

    def undo(self, by: str | None = None, request: str | None = None, *, of: str | None = None) -> list[Entry]:
        """Take back the last request that is not taken back, of this person if one is given; or the request ``of``.

        The entries returned are those taken back; none if there is nothing to undo.
        """
        request = uuid.uuid4().hex if request is None else request
        with self._transaction() as connection:
            if self._select("SELECT {} FROM log WHERE request = ?", request):
                return self._select(
                    "SELECT {} FROM log WHERE seq IN (SELECT undoes FROM log WHERE request = ?) ORDER BY seq",
                    request,
                )
            if of is None:
                chosen = f"SELECT {{}} FROM ({_DECISIONS}) WHERE ? IS NULL OR who = ? ORDER BY seq DESC LIMIT 1"
                last = self._select(chosen, by, by)
                if not last:
                    return []
                of = last[0].request
            taken = self._select("SELECT {} FROM active WHERE request = ? ORDER BY seq", of)
            connection.executemany(
                "INSERT INTO log (request, row, label, who, time, note, how, model, undoes) "
                "VALUES (?, ?, 0, ?, ?, '', 'undo', ?, ?)",
                [(request, one.row, by or one.by, _now(), one.model, one.seq) for one in taken],
            )
            return taken

    def decisions(self) -> list[Entry]:
        """The present decision on each row, in the order in which they were made."""
        return self._read(f"SELECT {{}} FROM ({_PRESENT}) ORDER BY seq")

    def history(self, row: int | None = None) -> list[Entry]:
        """All entries, of one row if it is given: changes of mind and undone ones too."""
        return self._read("SELECT {} FROM log WHERE ? IS NULL OR row = ? ORDER BY seq", row, row)

    @property
    def last(self) -> int:
        """The number of the last entry; it grows with every change of any process."""
        with self._lock:
            return int(self._connection.execute("SELECT COALESCE(MAX(seq), 0) FROM log").fetchone()[0])

    def setting(self, name: str, default: Any) -> Any:
        """A value kept with the review. The first caller's ``default`` becomes it."""
        with self._lock:
            value = _get(self._connection, name, None)
        if value is not None:
            return value
        with self._transaction() as connection:
            value = _get(connection, name, None)
            if value is None:
                _put(connection, name, default)
                value = default
            return value

    def change_setting(self, name: str, before: Any, value: Any) -> bool:
        """Replace a value kept with the review if it is still ``before``; returns whether it was."""
        with self._transaction() as connection:
            if _get(connection, name, before) != before:
                return False
            connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, json.dumps(value)))
            return True

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def end(self) -> None:
        """Close the file just before the process ends, so that it holds all decisions without the write-ahead log.

        Threads that still ask for it wait for ever.
        """
        self._lock.acquire()
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, query: str, *values: Any) -> list[Entry]:
        with self._lock:
            return self._select(query, *values)

    def _select(self, query: str, *values: Any) -> list[Entry]:
        with closing(self._connection.execute(query.format(_COLUMNS), values)) as cursor:
            return [Entry(*entry) for entry in cursor]


def refuse_other_table(stored: Mapping[str, str], now: Mapping[str, str], path: str) -> None:
    """Raise an error that says what differs between the table of a review and the one that is given."""
    changed = [name for name in stored if name in now and stored[name] != now[name]]
    gone = [name for name in stored if name not in now]
    new = [name for name in now if name not in stored]
    parts = [
        f"{what} {', '.join(names[:5])}{' and more' if len(names) > 5 else ''}"
        for what, names in (("changed:", changed), ("missing:", gone), ("new:", new))
        if names
    ]
    if "rows" in changed:
        parts[0] += f" ({stored['rows']} rows before, {now['rows']} now)"
    if parts:
        raise StoreError(
            f"the table is not the one of the review {path}: {'; '.join(parts)}. Its decisions refer to rows by "
            "number: restore the table, read it as before (in usmo review, with the same --kind, --missing and "
            "--ignore), or start a review in another file"
        )


def _statements(script: str) -> Iterator[str]:
    """The statements of a script, triggers whole; ``executescript`` would end the transaction."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _put(connection: sqlite3.Connection, name: str, value: Any) -> None:
    connection.execute("INSERT INTO settings VALUES (?, ?)", (name, json.dumps(value)))


def _get(connection: sqlite3.Connection, name: str, default: Any) -> Any:
    found = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    return default if found is None else json.loads(found[0])


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")

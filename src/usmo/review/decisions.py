"""The state of a review that follows from its log: labels of all rows, and the order in which rows were decided."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from usmo.core.arrays import Index
from usmo.review.course import Course
from usmo.review.store import AGAIN, AUDIT, CONTROL, IMPORTED, Entry


class Decisions:
    """Labels of all rows: those known at the start, replaced by the decisions of the log.

    ``kinds`` has 1, 0 and -1 for positive, unlabelled and negative. Rows ``put_off`` have a decision without a label.
    """

    def __init__(self, known: NDArray[np.int8], audit_order: Index) -> None:
        self.known = known
        self.audit_order = audit_order
        self._place = np.empty(len(known), dtype=np.intp)
        self._place[audit_order] = np.arange(len(audit_order))
        self.replay(())

    def replay(self, log: Iterable[Entry]) -> None:
        """Start again from the labels known at the start, and apply a whole log."""
        log = list(log)
        undone = {entry.undoes for entry in log if entry.undoes is not None}
        self.kinds = self.known.copy()
        self.last: dict[int, Entry] = {}
        self._first: dict[int, str] = {}
        self.again: set[int] = set()
        self.seen = log[-1].seq if log else 0
        self.apply(entry for entry in log if entry.undoes is None and entry.seq not in undone)

    def apply(self, entries: Iterable[Entry]) -> None:
        """Apply new decisions, in the order of the log."""
        for entry in entries:
            self.seen = max(self.seen, entry.seq)
            if entry.how == AGAIN:
                if entry.row in self._first:  # else the decision was taken back
                    self.again.add(entry.row)
                continue
            self.kinds[entry.row] = entry.label
            self.last[entry.row] = entry
            if entry.label:
                self._first.setdefault(entry.row, entry.how)

    @property
    def put_off(self) -> list[int]:
        """Rows that were decided upon without a label."""
        return [row for row, entry in self.last.items() if entry.label == 0]

    @property
    def open(self) -> NDArray[np.bool_]:
        """Which rows have no label."""
        return self.kinds == 0

    def for_training(self) -> NDArray[np.int8]:
        """The labels that a ranking may know: without control rows that it has not come upon."""
        hidden = self.hidden_control
        if not hidden:
            return self.kinds.copy()
        kinds = self.kinds.copy()
        kinds[hidden] = 0
        return kinds

    @property
    def hidden_control(self) -> list[int]:
        """Control rows that the ranking has not come upon."""
        return [row for row, how in self._first.items() if how == CONTROL and row not in self.again]

    @property
    def imported(self) -> list[int]:
        """Rows whose first label is known from elsewhere."""
        return [row for row, how in self._first.items() if how == IMPORTED]

    def scored(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Scores with which reviewed rows were proposed, and whether they are positive, in the order of decision."""
        imported = set(self.imported)
        entries = [
            one for one in self.last.values() if one.label and one.score is not None and one.row not in imported
        ]
        entries.sort(key=lambda entry: entry.seq)
        return np.array([entry.score for entry in entries], dtype=float), np.array(
            [e.label == 1 for e in entries], bool
        )

    def next_audit_rows(self) -> Index:
        """The rows without a label, in the random order."""
        return self.audit_order[self.kinds[self.audit_order] == 0]

    def course(self, expected: float | None) -> Course:
        """The review so far, for stopping rules.

        Rows imported before an audit starts are left out, as are those known at the start. Rows imported later belong
        to the rows that the audit draws from: to leave them out would change the odds of a draw that has begun.
        """
        rows = np.array([r for r in self._first if self.known[r] == 0 and self.kinds[r] != 0], dtype=np.intp)
        hows = np.array([self._first[r] for r in rows.tolist()], dtype=object)
        audit = np.flatnonzero(np.isin(hows, (AUDIT, CONTROL)))
        imported = hows == IMPORTED
        early = imported & (np.arange(len(rows)) < (audit[0] if len(audit) else len(rows)))
        n_rows = int(np.count_nonzero(self.known == 0)) - int(np.count_nonzero(early))
        rows, hows, imported = rows[~early], hows[~early], imported[~early]
        audit = np.flatnonzero(np.isin(hows, (AUDIT, CONTROL)))
        positive = self.kinds[rows] == 1
        drawn = np.zeros(len(rows), dtype=bool)
        if len(audit):
            # up to the first row without an answer: which rows people put off is not random
            gap = self.next_audit_rows()[:1]
            end = int(self._place[gap[0]]) if len(gap) else len(self.audit_order)
            since = int(audit[0])
            drawn[since:] = self._place[rows[since:]] < end
        control = rows[(hows == CONTROL) & positive]
        came = np.array([row in self.again for row in control.tolist()], dtype=bool)
        return Course(n_rows, positive, drawn, expected, came, imported)

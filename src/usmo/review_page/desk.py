"""What the page does with a review. Every answer is made of plain values, ready for JSON.

A change has a request id, which the store records once. A decision names the one that it was made in view of, so that
two people who look at the same row do not overwrite each other unawares.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Collection
from functools import cached_property
from typing import Any

import numpy as np

from usmo.core.arrays import Index
from usmo.io import Sheet
from usmo.report.formatting import clean
from usmo.review import AlreadyDecided, BackgroundRefit, Entry, Review
from usmo.review.store import AGAIN, IMPORTED
from usmo.review_page import requests
from usmo.review_page.cards import Cards
from usmo.review_page.listing import FORMATS, SUBSETS, Listing
from usmo.review_page.progress import counts, progress
from usmo.review_page.reasons import Reasons
from usmo.review_page.requests import LARGEST_IMPORT, Fields, RequestRefused

_LABELS = (-1, 0, 1)
_CRITERIA = "criteria"
_SHOWN_IDS = 10

Answer = dict[str, Any]


class Desk:
    """A review on a page.

    Parameters
    ----------
    review : Review
    sheet : Sheet
        The table as it was read. The page shows all its columns but ``hidden``.
    hidden : list of str
        The columns of the label and of the ids.
    source : str
        The name of the table.
    refit : BackgroundRefit, optional
        Makes rankings in the background; without it, they are made when a row is asked for.
    """

    def __init__(
        self, review: Review, sheet: Sheet, *, hidden: list[str], source: str, refit: BackgroundRefit | None = None
    ) -> None:  # fmt: skip
        self.review, self.source, self.refit = review, source, refit
        self.cards = Cards(sheet, hidden, review.ids, review.encoder)
        self.listing = Listing(review, self.cards)
        self.reasons = Reasons(review, self.cards)
        self._reopened: dict[int, str] = {}

    # rows

    def next(self, fields: Fields) -> Answer:
        """The candidate for a tab."""
        return self._answer(fields, candidate=self._candidate(fields))

    def _candidate(self, fields: Fields) -> Answer | None:
        for candidate in self.review.candidates(1, by=_tab(fields)):
            return self.card(candidate.row, candidate.how)
        return None

    def card(self, row: int, how: str = "") -> Answer:
        """Everything that the page shows of a row but the reasons."""
        entry = self.review.decisions.last.get(row)
        return {
            "row": row, "id": clean(self.review.ids[row]), "title": self.cards.title(row), "how": how,
            "titled": None if self.cards.titled is None else clean(self.cards.titled),
            "cells": self.cards.cells(row, self._positives(row)), "left_out": self.cards.left_out(row),
            "label": int(self.review.kinds[row]), "known": int(self.review.decisions.known[row]),
            "decision": None if entry is None else _entry(entry), "after": 0 if entry is None else entry.seq,
        }  # fmt: skip

    def row(self, row: int) -> Answer:
        """One row with its history."""
        self._check(row)
        history = [_entry(entry) for entry in self.review.history(row) if entry.how != AGAIN]
        return {"candidate": self.card(row), "history": history}

    def why(self, row: int) -> Answer:
        self._check(row)
        return self.reasons.why(row, self._positives(row))

    def rows(self, fields: Fields) -> Answer:
        """A page of rows by subset and words."""
        which = fields.choice("which", SUBSETS, "decided")
        query = fields.text("q", requests.LONGEST_SEARCH, "")
        offset = fields.number("offset", 10**9, 0)
        rows = self.listing.rows(which, query)
        kinds, last = self.review.kinds, self.review.decisions.last
        listed = [
            {
                "row": row, "id": clean(self.review.ids[row]), "title": self.cards.title(row),
                "about": self.cards.about(row), "label": int(kinds[row]),
                "decision": _entry(last[row]) if row in last else None,
            }
            for row in rows[offset : offset + requests.MOST_ROWS].tolist()
        ]  # fmt: skip
        return {"total": len(rows), "offset": offset, "rows": listed}

    def _positives(self, row: int) -> Index:
        positives = np.flatnonzero(self.review.kinds == 1)
        return positives[positives != row]

    def _check(self, row: int) -> None:
        if row >= self.review.n_rows:
            raise RequestRefused(404, f"the table has {self.review.n_rows:,} rows")

    # changes

    def decide(self, fields: Fields) -> Answer:
        """Record a decision; the answer has the next candidate."""
        row, label = fields.number("row", self.review.n_rows), int(fields.choice("label", _LABELS))
        request, after = fields.request(), fields.number("after", 2**53)
        name, note = self._name(fields), fields.text("note", requests.LONGEST_NOTE, "")
        _tab(fields)  # before anything is recorded
        how = self._reopened.pop(row, None)
        try:
            entries = self.review.tell([row], [label], by=name, note=note, how=how, request=request, after=[after])
        except AlreadyDecided as error:
            decided = None if error.entry is None else _entry(error.entry)
            raise RequestRefused(
                409, "somebody has decided on this row meanwhile; your answer is not recorded",
                decided=decided, card=self.card(row), **self.next(fields),
            ) from error  # fmt: skip
        if [(entry.row, entry.label) for entry in entries] != [(row, label)]:
            raise RequestRefused(409, "the request id belongs to another decision; nothing is recorded")
        self._poke()
        return self._answer(fields, saved=_entry(entries[0]), candidate=self._candidate(fields))

    def undo(self, fields: Fields) -> Answer:
        """Take back one request; the answer has its first row."""
        of, request, name = fields.request("of"), fields.request(), self._name(fields)
        before = {entry.row: entry.how for entry in self.review.decisions.last.values() if entry.request == of}
        rows = self.review.undo(name, request=request, of=of)
        if not rows:
            raise RequestRefused(409, "this decision has been taken back already", **self._answer(fields))
        self._reopened.update({row: how for row, how in before.items() if row not in self.review.decisions.last})
        self._poke()
        return self._answer(fields, undone=len(rows), candidate=self.card(rows[0]))

    def add_known(self, fields: Fields) -> Answer:
        """Label rows by their ids; with ``check``, only say what would be done."""
        label, name = int(fields.choice("label", (-1, 1))), self._name(fields)
        ids = _listed_ids(fields.text("text", LARGEST_IMPORT), self._by_id)
        request, check = fields.request(), fields.flag("check")
        kinds = self.review.kinds
        single = {one: self._by_id[one][0] for one in ids if len(self._by_id.get(one, [])) == 1}
        unknown = [one for one in ids if one not in self._by_id]
        new = [row for row in single.values() if kinds[row] == 0]
        answer = {
            "added": len(new), "labelled": sum(int(kinds[row] == label) for row in single.values()),
            "contrary": [one for one, row in single.items() if kinds[row] == -label][:_SHOWN_IDS],
            "several": [one for one in ids if len(self._by_id.get(one, [])) > 1][:_SHOWN_IDS],
            "unknown": [clean(one)[:100] for one in unknown[:_SHOWN_IDS]], "n_unknown": len(unknown),
        }  # fmt: skip
        if not check:
            entries = self.review.tell(new, [label] * len(new), by=name, how=IMPORTED, request=request)
            answer["added"] = len(entries)
            self._poke()
        return self._answer(fields, **answer)

    @cached_property
    def _by_id(self) -> dict[str, list[int]]:
        rows = defaultdict(list)
        for row, one in enumerate(self.review.ids):
            rows[one.strip()].append(row)
        return dict(rows)

    def criteria(self) -> Answer:
        """The criteria that the reviewers have agreed on."""
        return {"text": self.review.store.setting(_CRITERIA, "")}

    def set_criteria(self, fields: Fields) -> Answer:
        text = fields.text("text", requests.LONGEST_CRITERIA)
        before = fields.text("before", requests.LONGEST_CRITERIA)
        if not self.review.store.change_setting(_CRITERIA, before, text):
            raise RequestRefused(
                409, "somebody has changed the criteria meanwhile; yours are not saved", **self.criteria()
            )
        return {"text": text}

    def _name(self, fields: Fields) -> str:
        return fields.text("by", requests.LONGEST_NAME, "").strip()

    def _poke(self) -> None:
        if self.refit is not None:
            self.refit.poke()

    # the state of the review

    def _answer(self, fields: Fields, **more: Any) -> Answer:
        """An answer with what the page shows at all times."""
        model = self.review.model
        return {
            "counts": counts(self.review),
            "undo": self._last_of(self._name(fields)),
            "trouble": self.review.trouble,
            "fitting": self.refit is not None and self.refit.running,
            "version": 0 if model is None else model.version,
            **more,
        }

    def _last_of(self, name: str) -> Answer | None:
        """The decision that undo takes back: this person's last one that is still in force."""
        own = [one for one in self.review.decisions.last.values() if one.by == name]
        if not own:
            return None
        entry = max(own, key=lambda one: one.seq)
        rows = sum(one.request == entry.request for one in own)
        return {"of": entry.request, "rows": rows, "id": clean(self.review.ids[entry.row]), "label": entry.label}

    def progress(self, fields: Fields) -> Answer:
        return self._answer(fields, **progress(self.review))

    # files

    def file(self, fields: Fields) -> tuple[bytes, str, str]:
        """A subset as a file: its bytes, its name and its media type."""
        which = fields.choice("which", SUBSETS, "decided")
        format = fields.choice("format", tuple(FORMATS), "csv")
        whole = fields.choice("table", ("0", "1"), "0") == "1"
        data = self.listing.file(which, fields.text("q", requests.LONGEST_SEARCH, ""), format, whole=whole)
        return data, f"review-{which}.{format}", FORMATS[format]


def _tab(fields: Fields) -> str:
    """The name of a tab: rows that lie before one tab are not proposed to another."""
    return fields.text("tab", requests.LONGEST_NAME, "")


def _entry(entry: Entry) -> Answer:
    shown = {"seq": entry.seq, "label": entry.label, "by": clean(entry.by), "time": entry.time}
    return {**shown, "note": clean(entry.note), "how": entry.how, "undo": entry.undoes is not None}


def _listed_ids(text: str, known: Collection[str]) -> list[str]:
    """The ids of a list: the first field of each line, each once.

    Fields are separated by commas, semicolons or tabs, or lines are ids: whatever gives the most ``known`` ones.
    """
    lines = text.splitlines()
    try:
        lists = [[line[0] for line in csv.reader(lines, delimiter=mark) if line] for mark in ",;\t"]
    except csv.Error as error:
        raise RequestRefused(400, f"text must be a list of ids, one on each line ({error})") from None
    found = [list(dict.fromkeys(one.strip() for one in ids if one.strip())) for ids in (*lists, lines)]
    return max(found, key=lambda ids: sum(one in known for one in ids))

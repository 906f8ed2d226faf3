"""Rows by what is known of them and by the words they contain; files of any such subset."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usmo.core.arrays import Index
from usmo.io import write
from usmo.io.formulas import without_formulas
from usmo.io.libraries import polars
from usmo.review import Entry, Review
from usmo.review.strategies import by_score
from usmo.review_page.cards import Cards

SUBSETS = ("decided", "positive", "negative", "skipped", "open", "known", "all")
FORMATS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


class Listing:
    """Finds rows of a review."""

    def __init__(self, review: Review, cards: Cards) -> None:
        self.review, self.cards = review, cards

    def rows(self, which: str, query: str = "") -> Index:
        """The rows of a subset that contain all words: decided ones last decision first, then by score."""
        kinds, last = self.review.kinds, dict(self.review.decisions.last)
        wanted: dict[str, Callable[[], NDArray[np.bool_]]] = {
            "decided": lambda: _mask(kinds, last, lambda entry: entry.label != 0),
            "positive": lambda: kinds == 1,
            "negative": lambda: kinds == -1,
            "skipped": lambda: _mask(kinds, last, lambda entry: entry.label == 0),
            "open": lambda: kinds == 0,
            "known": lambda: self.review.decisions.known != 0,
            "all": lambda: np.ones(len(kinds), dtype=bool),
        }
        rows = np.flatnonzero(wanted[which]() & self.containing(query))
        decided = sorted((row for row in rows.tolist() if row in last), key=lambda row: -last[row].seq)
        model = self.review.model
        others = np.setdiff1d(rows, np.array(decided, dtype=np.intp))
        scores = np.zeros(len(kinds)) if model is None else model.scores
        return np.concatenate([np.array(decided, dtype=np.intp), by_score(scores, others)])

    def containing(self, query: str) -> NDArray[np.bool_]:
        """Which rows contain every word of the query, in whatever column, in whatever case."""
        words = query.split()
        if not words:
            return np.ones(self.review.n_rows, dtype=bool)
        pl = polars()
        frame = pl.DataFrame({"": self.cards.ids})
        if self.cards.sheet.frame is not None:
            flat = [name for name in self.cards.names if not self.cards.sheet.frame[name].dtype.is_nested()]
            columns = self.cards.sheet.frame.select(pl.col(flat).cast(pl.String))
            columns.columns = [f"c{k}" for k in range(len(flat))]
            frame = frame.hstack(columns)
        patterns = ["(?i)" + pl.escape_regex(word) for word in words]
        has = [pl.any_horizontal(pl.all().str.contains(one).fill_null(False)) for one in patterns]
        return np.asarray(frame.select(pl.all_horizontal(*has)).to_series().to_numpy(), dtype=bool)

    def file(self, which: str, query: str, format: str, *, whole: bool) -> bytes:
        """A subset as a file: labels and decisions, with the columns of the table beside them if ``whole``."""
        pl = polars()
        rows = self.rows(which, query)
        columns = self.review.export()
        place = {row - 1: k for k, row in enumerate(columns["row"])}
        keep = [place[row] for row in rows.tolist()]
        frame = pl.DataFrame({name: [values[k] for k in keep] for name, values in columns.items()}, _TYPES)
        if whole and self.cards.sheet.frame is not None:
            table = self.cards.sheet.frame.select(self.cards.names)[rows]
            clashing = {name: f"review_{name}" for name in frame.columns if name in table.columns}
            frame = frame.rename(clashing).hstack(table)
        if format == "csv":  # which has no lists
            nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
            frame = without_formulas(frame.drop(nested).to_dict(as_series=False))
        stream = io.BytesIO()
        write(frame, stream, format=format)
        return stream.getvalue()


_TYPES: dict[str, Any] = {
    "row": int, "id": str, "label": str, "source": str, "by": str, "time": str, "note": str, "how": str, "score": float,
}  # fmt: skip
"""The columns of a file, with their types when there are no rows."""


def _mask(kinds: NDArray[np.int8], last: dict[int, Entry], wanted: Callable[[Entry], bool]) -> NDArray[np.bool_]:
    mask = np.zeros(len(kinds), dtype=bool)
    mask[[row for row, entry in last.items() if wanted(entry)]] = True
    return mask

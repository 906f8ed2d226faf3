"""Why a row is proposed: what speaks for and against it, and the known positives nearest to it.

Neighbours and words are found as in the report (:mod:`usmo.report.explanations`). What a model says about a row is an
indication for the reader, not a part of the decision.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from usmo.core.arrays import Index
from usmo.report.explanations import nearest_positives, speaking_words
from usmo.report.formatting import clean, number, percent
from usmo.review import Review
from usmo.review_page.cards import Cards
from usmo.review_page.closeness import FEW_COLUMNS, close_columns

_SHOWN = 3
_NEAR_SAMPLE = 5000
"""Known positives among which the nearest are looked for at most, the first in the table."""


class Reasons:
    """Explains rows of a review."""

    def __init__(self, review: Review, cards: Cards) -> None:
        self.review, self.cards = review, cards

    @cached_property
    def _words(self) -> list[str] | None:
        encoder = self.review.encoder
        if encoder is None:
            return None
        return encoder.words() or [str(name) for name in encoder.get_feature_names_out()]

    def why(self, row: int, positives: Index) -> dict[str, Any]:
        """What speaks for a row and against it, each a list of (name, amount in words), and its neighbours.

        Amounts of a linear model are in standard deviations of the open rows' scores.
        """
        model, X = self.review.model, self.review.X
        others = positives[positives != row][:_NEAR_SAMPLE]
        near = nearest_positives(X, np.array([row]), others, most=_SHOWN)[0] if len(others) else None
        speaks: dict[str, Any] = {"for": [], "against": [], "kind": "", "version": model.version if model else 0}
        if model is not None and model.coef is not None and self._words is not None:
            ours, theirs = speaking_words(X, model.coef, np.array([row]), self._words)[0]
            speaks["kind"] = "words" if self.cards.text_columns else "columns"
            speaks["for"] = [[clean(word), f"+{number(value / model.spread, 2)}"] for word, value in ours]
            speaks["against"] = [[clean(word), number(value / model.spread, 2)] for word, value in theirs]
        elif near is not None and self._words is not None:
            if X.shape[1] <= FEW_COLUMNS:
                open_rows = np.flatnonzero(self.review.kinds == 0)
                close = close_columns(X, np.array([row]), near.rows[:1], open_rows)[0]
                speaks["kind"] = "close"
                speaks["for"] = [[clean(self._words[j]), percent(share)] for j, share in close]
            speaks["against"] = [[name, ""] for name in self.cards.outside(row, others)]
        speaks["nearest"] = [] if near is None else [
            {"row": int(one), "id": clean(self.review.ids[one]), "title": self.cards.title(int(one)),
             "distance": number(float(distance))}
            for one, distance in zip(near.rows.tolist(), near.distances.tolist(), strict=True)
        ]  # fmt: skip
        return speaks

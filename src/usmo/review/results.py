"""The outcome of a review as columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usmo.core.arrays import Array
from usmo.review.store import IMPORTED, Entry
from usmo.review.strategies import by_score

_WORDS = {1: "positive", 0: "", -1: "negative"}


def decision_columns(
    kinds: NDArray[np.int8], last: Mapping[int, Entry], scores: Array, ids: Sequence[str], which: str
) -> dict[str, list[Any]]:
    """Row number from 1, id, label, where the label comes from, the decision, and the score."""
    wanted: dict[str, Callable[[int], bool]] = {
        "all": lambda row: True,
        "positive": lambda row: kinds[row] == 1,
        "negative": lambda row: kinds[row] == -1,
        "reviewed": lambda row: row in last and kinds[row] != 0,
        "open": lambda row: kinds[row] == 0,
    }
    if which not in wanted:
        raise ValueError(f"which must be one of {', '.join(map(repr, wanted))}, got {which!r}")
    known = [row for row in np.flatnonzero(kinds != 0).tolist() if row not in last]
    decided = sorted((row for row in last if kinds[row]), key=lambda row: last[row].seq)
    rows = [*known, *decided, *by_score(scores, np.flatnonzero(kinds == 0)).tolist()]
    rows = [row for row in rows if wanted[which](row)]
    entries = [last.get(row) for row in rows]
    decision = ("by", "time", "note", "how")
    return {
        "row": [row + 1 for row in rows],
        "id": [ids[row] for row in rows],
        "label": [_WORDS[int(kinds[row])] for row in rows],
        "source": [_source(kinds[row], entry) for row, entry in zip(rows, entries, strict=True)],
        **{name: ["" if one is None else str(getattr(one, name)) for one in entries] for name in decision},
        "score": np.round(scores[rows], 6).tolist(),
    }


def _source(kind: int, entry: Entry | None) -> str:
    if kind == 0:
        return ""
    if entry is None:
        return "known"
    return "imported" if entry.how == IMPORTED else "review"

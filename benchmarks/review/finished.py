"""Simulated reviews on disk, so that a benchmark that was ended goes on where it stood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from usmo.review.simulation import Order


class Key(NamedTuple):
    """One simulated review. ``settings`` describes the ranker: a changed one is simulated again."""

    collection: str
    method: str
    settings: str
    seed: int


class Course(NamedTuple):
    """The true labels along the order of a review, and the model's estimate of what was left at every row."""

    along: np.ndarray
    expected: np.ndarray


class Finished:
    """The orders of finished reviews: a line of JSON for each, appended when it ends.

    A line has the places of the positives, and the estimates with the places at which they change (null: none).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: dict[Key, dict[str, Any]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            for line in path.read_text().splitlines():
                one: dict[str, Any] = json.loads(line)
                self._lines[Key(*one["key"])] = one

    def __contains__(self, key: Key) -> bool:
        return key in self._lines

    @property
    def keys(self) -> list[Key]:
        return list(self._lines)

    def add(self, key: Key, truth: np.ndarray, order: Order) -> None:
        """Keep an order."""
        estimates = [None if np.isnan(value) else round(float(value), 3) for value in order.expected]
        changes = [at for at, value in enumerate(estimates) if at == 0 or value != estimates[at - 1]]
        line = {
            "key": key, "rows": len(order.rows), "places": (np.flatnonzero(truth[order.rows]) + 1).tolist(),
            "expected": [[at, estimates[at]] for at in changes],
        }  # fmt: skip
        self._lines[key] = line
        with open(self.path, "a") as stream:
            stream.write(json.dumps(line) + "\n")

    def course(self, key: Key) -> Course:
        """The order of a finished review."""
        line = self._lines[key]
        along, expected = np.zeros(line["rows"], dtype=bool), np.full(line["rows"], np.nan)
        along[np.array(line["places"]) - 1] = True
        for at, value in line["expected"]:
            expected[at:] = np.nan if value is None else value
        return Course(along, expected)

"""Simulated reviews on disk, so that a benchmark that was ended goes on where it stood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Key(NamedTuple):
    """One simulated review. ``settings`` describes the ranker: a changed one is simulated again."""

    collection: str
    method: str
    settings: str
    seed: int


class Finished:
    """The places of the positives in the orders of finished reviews: a line of JSON for each, appended when it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.orders: dict[Key, tuple[int, list[int]]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            for line in path.read_text().splitlines():
                one: dict[str, Any] = json.loads(line)
                self.orders[Key(*one["key"])] = one["rows"], one["places"]

    def add(self, key: Key, along: np.ndarray) -> None:
        """Keep an order, given by the true labels along it."""
        places = (np.flatnonzero(along) + 1).tolist()
        self.orders[key] = len(along), places
        with open(self.path, "a") as stream:
            stream.write(json.dumps({"key": key, "rows": len(along), "places": places}) + "\n")

    def along(self, key: Key) -> np.ndarray:
        """The true labels along an order."""
        rows, places = self.orders[key]
        labels = np.zeros(rows, dtype=bool)
        labels[np.array(places) - 1] = True
        return labels

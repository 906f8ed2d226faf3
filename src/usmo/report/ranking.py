"""The order of the unlabelled rows by decision value, for the page and for ``usmo rank``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from usmo.core.arrays import Array, Index


@dataclass(frozen=True)
class Ranking:
    """Decision values of all rows of a table, and their labels: 1 known positive, 0 unlabelled, -1 known negative."""

    f: Array
    labels: np.ndarray

    @cached_property
    def positives(self) -> Index:
        return np.flatnonzero(self.labels == 1)

    @cached_property
    def unlabelled(self) -> Index:
        return np.flatnonzero(self.labels == 0)

    @cached_property
    def negatives(self) -> Index:
        return np.flatnonzero(self.labels == -1)

    def first(self, top: int | None) -> Index:
        """The ``top`` unlabelled rows with the highest f, all by default; rows of equal f keep their order."""
        return self.unlabelled[np.argsort(-self.f[self.unlabelled], kind="stable")[:top]]

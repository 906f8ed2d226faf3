"""The order of the unlabelled rows by decision value, for the page and for ``usmo rank``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from usmo.core.arrays import Array, Index


@dataclass(frozen=True)
class Ranking:
    """Decision values of all rows of a table, and the mask of its known positives."""

    f: Array
    known: np.ndarray

    @cached_property
    def unlabelled(self) -> Index:
        return np.flatnonzero(~self.known)

    @cached_property
    def n_marked(self) -> int:
        """Unlabelled rows that are marked as positive: those with f > 0."""
        return int(np.count_nonzero(self.f[self.unlabelled] > 0))

    def first(self, top: int | None) -> Index:
        """The ``top`` unlabelled rows with the highest f, all by default; rows of equal f keep their order."""
        return self.unlabelled[np.argsort(-self.f[self.unlabelled], kind="stable")[:top]]

"""The course of a review as stopping rules see it: the outcomes in their order, and which rows were drawn at random."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Course:
    """Rows reviewed so far, of those that had no label at the start and were not imported before an audit started.

    ``positive`` says for each reviewed row, in order, whether it is positive. ``n_rows`` counts these rows, reviewed or
    not. ``imported`` marks rows whose label came from elsewhere after an audit had started. ``drawn`` marks the audit:
    the first rows, among those left when it started, of a random order of the table that was fixed before the review.
    ``expected`` is the number of positives that the model expects among the rest, if known. ``control`` has an entry
    for each positive of a control sample: whether the ranking has come upon it.
    """

    n_rows: int
    positive: NDArray[np.bool_]
    drawn: NDArray[np.bool_]
    expected: float | None = None
    control: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    imported: NDArray[np.bool_] | None = None

    @property
    def reviewed(self) -> int:
        return len(self.positive)

    @cached_property
    def found(self) -> int:
        """The positives found so far."""
        return int(np.count_nonzero(self.positive))

    @property
    def left(self) -> int:
        """The rows not yet reviewed."""
        return self.n_rows - self.reviewed

    @cached_property
    def audit_start(self) -> int | None:
        """How many rows were reviewed before the first audit row; None without an audit."""
        at = np.flatnonzero(self.drawn)
        return int(at[0]) if len(at) else None

    @cached_property
    def run(self) -> int:
        """The rows reviewed since the last positive."""
        hits = np.flatnonzero(self.positive)
        return self.reviewed - (int(hits[-1]) + 1 if len(hits) else 0)

    @cached_property
    def own(self) -> Course:
        """The course without imported rows, as if these had been known at the start.

        Rules that take reviewed rows for a sample use it: nobody has drawn the imported ones.
        """
        if self.imported is None or not self.imported.any():
            return self
        own = ~self.imported
        n_rows = self.n_rows - int(np.count_nonzero(self.imported))
        return Course(n_rows, self.positive[own], self.drawn[own], self.expected, self.control)

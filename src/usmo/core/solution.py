"""What a solver returns: the dual variables and a record of the work done."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from usmo.core.arrays import Array

Status = Literal["optimal", "max_iter", "max_time", "stopped", "precision"]


class PassRecord(NamedTuple):
    """One pass of a solver: the state at its end, counted from the start of the fit."""

    kind: str
    steps: int
    objective: float
    violation: float
    beta: float
    nonbound: int
    kernel_rows: float
    seconds: float


class EvaluatedPoint(NamedTuple):
    """Some σ, feasible or not, and G = q - Kσ at it. A solver that starts from it computes only what differs.

    A point saved in the middle of a product has ``panels`` > 0: G includes that many panels of the change to the start.
    """

    sigma: Array
    G: Array
    panels: int = 0


class DualStart(NamedTuple):
    """A feasible σ and the β that goes with it, of an earlier solution on the same rows."""

    sigma: Array
    beta: float


@dataclass(frozen=True)
class Solution:
    """A point of the dual and how it was reached.

    ``G`` is q - Kσ, the decision function on U without β. ``kernel_rows`` counts the kernel values that the solver
    computed, in rows of n. ``status`` is "optimal" if the KKT violation is at most the tolerance, "max_iter",
    "max_time" or "stopped" if a limit or a callback ended the fit, and "precision" if the solver makes no more progress
    before the tolerance is met.
    """

    sigma: Array
    beta: float
    G: Array
    iterations: int
    kernel_rows: float
    history: tuple[PassRecord, ...]
    status: Status

    def continued_from(self, earlier: Solution) -> Solution:
        """This solution with the work of an earlier run added to its record."""
        shifted = tuple(
            record._replace(
                steps=record.steps + (earlier.history[-1].steps if earlier.history else 0),
                kernel_rows=record.kernel_rows + earlier.kernel_rows,
                seconds=record.seconds + (earlier.history[-1].seconds if earlier.history else 0.0),
            )
            for record in self.history
        )
        return replace(
            self,
            iterations=self.iterations + earlier.iterations,
            kernel_rows=self.kernel_rows + earlier.kernel_rows,
            history=earlier.history + shifted,
        )

"""Limits on steps and time, and the history of a run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from usmo.core.arrays import Array
from usmo.core.solution import PassRecord, Status

Save = Callable[[Array, Callable[[], Array], Array, int], None]
"""Called with σ, a function that returns G at it, the point that the solver is moving to, and the panels of that move
that G already includes (:class:`usmo.core.solution.EvaluatedPoint`)."""

Progress = Callable[[PassRecord, Array], bool | None]
"""Called after each pass with its record and the present σ (by the linear solver: w). Returning True ends the fit."""


class Limits:
    """The step limit, the time limit, the user's callback, and the history of passes.

    Where only rounding is left, or the kernel is so badly scaled that two-row steps hardly move, the violation stops
    falling. The run ends with the status "precision" after ``patience`` passes that lower it by less than 1 %, or after
    ``effort`` two-row steps.
    """

    def __init__(
        self,
        max_iter: int = -1,
        max_time: float | None = None,
        progress: Progress | None = None,
        save: Save | None = None,
        patience: int = 100,
        effort: int | None = None,
    ) -> None:
        self.began = time.perf_counter()
        self.max_iter = max_iter
        self.deadline = None if max_time is None else self.began + max_time
        self.history: list[PassRecord] = []
        self._progress, self._save = progress, save
        self._stopped = False
        self._patience, self._best, self._since = patience, math.inf, 0
        self._effort = effort

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    @property
    def seconds_left(self) -> float | None:
        return None if self.deadline is None else max(0.0, self.deadline - time.perf_counter())

    def report(self, record: PassRecord, sigma: Array) -> None:
        self.history.append(record)
        self._since += 1
        if record.violation < 0.99 * self._best:
            self._best, self._since = record.violation, 0
        if self._progress is not None and self._progress(record, sigma):
            self._stopped = True

    def save(self, sigma: Array, get_G: Callable[[], Array], target: Array, panels: int = 0) -> None:
        if self._save is not None:
            self._save(sigma, get_G, target, panels)

    def reached(self, iterations: int) -> Status | None:
        """The reason to stop, None if there is none."""
        if self._stopped:
            return "stopped"
        if 0 <= self.max_iter <= iterations:
            return "max_iter"
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            return "max_time"
        exhausted = self._effort is not None and bool(self.history) and self.history[-1].steps > self._effort
        if self._since >= self._patience or exhausted:
            return "precision"
        return None

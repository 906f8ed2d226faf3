"""The two samples of a prior estimator, and sizes that respect weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from usmo.core.arrays import Array


@dataclass(frozen=True)
class Sample:
    """Two weighted samples, P and U: rows of a table, or one-dimensional scores.

    ``sizes`` are the effective sizes of P and U; by default the weights are numbers of equal rows.
    """

    P: Any
    U: Any
    w_p: Array
    w_u: Array
    sizes: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        if not any(self.sizes):
            object.__setattr__(self, "sizes", (float(self.w_p.sum()), float(self.w_u.sum())))

    def resampled(self, rng: np.random.Generator) -> Sample:
        """A bootstrap draw of both, with weights 1."""
        draws: list[Any] = []
        for rows, weight, size in zip((self.P, self.U), (self.w_p, self.w_u), self.sizes, strict=True):
            drawn = rng.choice(len(weight), max(2, round(size)), p=weight / weight.sum())
            draws.append(rows[np.sort(drawn)])
        return Sample(*draws, *(np.ones(len(draw)) for draw in draws))


def effective_size(weight: Array, integer_weights: bool) -> float:
    """Sum of integer weights, which are numbers of equal rows; Kish's effective sample size for other weights."""
    total = float(weight.sum())
    return total if integer_weights else total**2 / float(weight @ weight)

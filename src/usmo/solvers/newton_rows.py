"""The rows of a problem with all that has one number per row: weights b and c, dual variables σ, scores, active rows.

The solver (``newton``) sees only scalars, vectors with one number per column, and copies of the few rows at kinks. Here
the rows are those of one process; ``newton_shard_rows`` has the same methods for rows in shards.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.core.arrays import Array, Index, exact_difference, exact_sum
from usmo.core.dual import ROUNDING as BOUND_ROUNDING
from usmo.solvers.newton_loss import (
    hand_out,
    inside_pieces,
    intercept,
    measure,
    near_kinks,
    spread,
)
from usmo.solvers.row_conditions import row_conditions

MARGIN = 4.0
"""Distance to a kink up to which rows are active, in units of the mean distance that the slack stands for."""

NEAR = 1e-4
"""Distance to a kink up to which a row is taken to be at it, where only w and β of a start are known."""

LARGE = 1_000_000
"""Entries of a table from which half of its rows would be a large copy."""

ROUNDING = 1e-14
"""Error of Σσ that is left alone, as a share of Σb."""


def kink_margin(slack: float, weight: float, norm: float, idle: int) -> float:
    """The distance to a kink up to which rows are chosen, four times as much after each round without progress.

    It is ``MARGIN`` times the mean distance that the slack stands for; ``weight`` is Σ c/2 of the rows that have it.
    Where few rows far from their kinks have it all, the others move less: ½‖w - w*‖² is at most the gap, so no score
    moves by more than √(2·gap)·‖x‖ while β stands.
    """
    if weight <= 0.0:
        return 0.0
    return 4.0**idle * min(MARGIN * slack / weight, float(np.sqrt(2.0 * slack * norm)))


class Duals:
    """σ and the last scores z = Xw of all rows; b, c ≥ 0 are the weights of the problem.

    Of a table with more than ``copied`` entries no more than half of the rows are copied.
    """

    def __init__(self, rows: Any, b: Array, c: Array, copied: float = LARGE) -> None:
        self.rows, self.b, self.c, self.copied = rows, b, c, copied
        self.target, total = exact_sum(b), exact_sum(c)
        self.norm = float(rows.norms.mean()) if rows.norms.size else 0.0
        self.empty = np.flatnonzero(rows.norms == 0.0)
        self.z = np.zeros_like(c)
        self.sigma = c * (self.target / total if total > 0 else 0.0)
        self.best = self.sigma
        self.chosen = self.active = np.flatnonzero(c > 0)

    def start(self, sigma: Array | None, w: Array | None, beta: float | None) -> None:
        """σ as given, or read off the scores of (w, β); made feasible. Its rows inside a piece are chosen."""
        self.set_start(sigma, w, beta)
        self._balance(np.flatnonzero(self.c > 0))
        self.chosen = self.active = inside_pieces(np.arange(self.c.size), self.sigma, self.c)

    def set_start(self, sigma: Array | None, w: Array | None, beta: float | None) -> None:
        """σ as given, or read off the scores of (w, β)."""
        if sigma is not None:
            self.sigma = np.clip(sigma, 0.0, self.c)
        elif w is not None:
            self.z = self.rows.dot(w)
            f = self.z + (intercept(self.z, self.c, self.target, 0.0) if beta is None else beta)
            ends = (-1 - NEAR, -1 + NEAR, 1 - NEAR, 1 + NEAR)
            self.sigma = 0.25 * self.c * sum((f > end).astype(np.float64) for end in ends)

    @property
    def spent(self) -> float:
        """Passes over the entries of the table so far."""
        return self.rows.products

    def shown(self, w: Array) -> Array:
        """What progress functions get: σ."""
        return self.sigma

    def point(self) -> Array:
        """w = Xᵀ(b - σ)."""
        return self.rows.sum(self.b - self.sigma)

    def missing(self) -> float:
        """Σb - Σσ."""
        return float(exact_difference(self.b, self.sigma))

    def gained(self) -> float:
        """Σ min(σ, c-σ), the dual objective without its quadratic part."""
        return float(np.minimum(self.sigma, self.c - self.sigma).sum())

    def evaluate(self, w: Array, beta: float) -> tuple[float, float, float]:
        """Scores of all rows; the best intercept for them, near ``beta``, Σ c·m(f) - b·f and the slack."""
        self.z = self.rows.dot(w)
        beta = intercept(self.z, self.c, self.target, beta)
        return beta, *measure(self.z, beta, self.sigma, self.b, self.c)

    def violation(self, beta: float) -> tuple[float, int]:
        """The violation of the optimality conditions at the last scores, and the number of rows inside a piece."""
        low, high, _, _, inside = row_conditions(self.sigma, self.z + beta, self.c, BOUND_ROUNDING)
        return max(0.0, high - low), int(inside)

    def choose(self, beta: float, slack: float, idle: int) -> None:
        """Choose the rows near a kink: those within :func:`kink_margin`."""
        point = self.z, beta, self.sigma, self.c
        weight = near_kinks(*point, 0.0)[1]
        self.chosen = self.active = near_kinks(*point, kink_margin(slack, weight, self.norm, idle))[0]

    def begin(self) -> None:
        """Before sweeps. Empty rows have equal scores and no part in w: σ in proportion to c is best for them."""
        if self.empty.size:
            part = float(self.sigma[self.empty].sum()) / (float(self.c[self.empty].sum()) or 1.0)
            self.sigma[self.empty] = min(1.0, part) * self.c[self.empty]
        self.active = self.chosen

    def sweep(
        self, seed: int, w: Array, beta: float, tau: float, missing: float, margin: float
    ) -> tuple[float, float, float]:
        """Coordinate steps over the active rows; those settled by more than ``margin`` are active no longer.

        Changes w in place; returns Σb - Σσ, the slack met and Σ c/2 of the rows that moved.
        """
        missing, slack, weight, kept = self.rows.sweep(
            self.active, seed, w, self.sigma, self.c, beta, tau, missing, margin, self.z
        )
        self.active = self.active[kept]
        return missing, slack, weight

    def recall(self) -> None:
        """Make all chosen rows active again."""
        self.active = self.chosen

    def make_feasible(self) -> Array:
        """Σσ = Σb again; returns the change of w."""
        old = self.sigma.copy()
        self._balance(self.chosen)
        return self.rows.sum(old - self.sigma)

    def _balance(self, chosen: Index) -> None:
        """By σ of chosen rows inside a piece, or else of rows whose σ a change of β would change first."""
        sigma, c = self.sigma[chosen], self.c[chosen]
        left = spread(sigma, c, self.missing())
        if left != 0.0:
            hand_out(sigma, c, self.z[chosen], left)
        self.sigma[chosen] = sigma
        left = self.missing()
        if abs(left) > ROUNDING * self.target:
            hand_out(self.sigma, self.c, self.z, left)

    def inside(self) -> tuple[Array, Any, Array, Array, Array] | None:
        """The active rows inside a piece: their places, a copy of them, its columns, and their σ and c.

        Nothing where there are too few of them for a joint step, or so many that the copy would be large.
        """
        places = inside_pieces(self.active, self.sigma, self.c)
        if places.size < 2 or (self.rows.entries > self.copied and 2 * places.size > self.c.size):
            return None
        return places, *self.rows.subset(places), self.sigma[places], self.c[places]

    def move(self, places: Index, sigma: Array) -> None:
        """Set σ of rows got from ``inside``."""
        self.sigma[places] = sigma

    def keep(self) -> None:
        """Remember σ as the best so far."""
        self.best = self.sigma.copy()

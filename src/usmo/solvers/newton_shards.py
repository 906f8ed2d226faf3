"""One shard of the Newton solver: its rows with their b, c, σ and scores, and what the driver asks about them.

Methods return sums and maxima over the rows (:class:`usmo.core.shards.Partial`), or the few rows near a kink.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.core.arrays import Array, exact_difference
from usmo.core.dual import ROUNDING as BOUND_ROUNDING
from usmo.core.dual import repaired
from usmo.core.problem import Problem
from usmo.core.shards import Partial
from usmo.solvers.newton_loss import fill, inside_pieces, measure, near_kinks, room, room_ahead
from usmo.solvers.newton_rows import Duals
from usmo.solvers.row_conditions import row_conditions
from usmo.solvers.shard_totals import SigmaTotals


class NewtonShard(Duals):
    """The rows of one shard. ``before`` is σ at the start of passes whose length is not decided yet."""

    def __init__(self, rows: Any, problem: Problem) -> None:
        super().__init__(rows, *problem.dense(rows.shape[0]))
        self.before = self.sigma

    def totals(self) -> Partial:
        """Σb, Σc, Σ‖x‖², the numbers of rows and of entries; the largest ‖x‖²."""
        norms = self.rows.norms
        sums = exact_difference(self.b, np.empty(0)), float(self.c.sum()), float(norms.sum())
        return Partial((*sums, norms.size, self.rows.entries), (float(norms.max(initial=0.0)),))

    def products(self) -> Partial:
        """Entries read so far."""
        return Partial((self.rows.products * self.rows.entries,))

    def begin_at(self, share: float) -> None:
        """σ = share·c."""
        self.sigma = share * self.c
        self.chosen = np.flatnonzero(self.c > 0)

    def begin_from(self, sigma: Array | None, w: Array | None, beta: float | None) -> None:
        """σ as given, or read off the scores of (w, β); its rows inside a piece are chosen."""
        self.set_start(sigma, w, beta)
        self.choose_inside()

    def choose_inside(self) -> None:
        """Choose the rows inside a piece."""
        self.chosen = inside_pieces(np.arange(self.c.size), self.sigma, self.c)

    def chosen_entries(self) -> Partial:
        """Entries of the chosen rows, as many as their share of all rows."""
        return Partial((self.rows.entries * self.chosen.size / max(1, self.c.size),))

    def image(self) -> Partial:
        """Xᵀ(b - σ)."""
        return Partial((self.point(),))

    def balance(self) -> Partial:
        """Σb - Σσ and Σ min(σ, c-σ)."""
        return Partial((exact_difference(self.b, self.sigma), self.gained()))

    def score(self, w: Array) -> None:
        """z = Xw."""
        self.z = self.rows.dot(w)

    def kinks(self) -> tuple[Array, Array]:
        """The values of β at which a row reaches a kink, and the weights of these."""
        used = self.c > 0
        z, half = self.z[used], 0.5 * self.c[used]
        return np.concatenate([-1.0 - z, 1.0 - z]), np.concatenate([half, half])

    def conditions(self, beta: float) -> Partial:
        """Σ c·m(f) - b·f, the slack and the number of rows inside a piece; max dn and -min up."""
        low, high, _, _, inside = row_conditions(self.sigma, self.z + beta, self.c, BOUND_ROUNDING)
        return Partial((*measure(self.z, beta, self.sigma, self.b, self.c), int(inside)), (high, -low))

    def choose_near(self, beta: float, margin: float) -> Partial:
        """Choose the rows within ``margin`` of a kink; returns Σ c/2 of those that are not settled."""
        self.chosen, weight = near_kinks(self.z, beta, self.sigma, self.c, margin)
        return Partial((weight,))

    def empty_rows(self) -> Partial:
        """Σσ and Σc of the empty rows."""
        return Partial((float(self.sigma[self.empty].sum()), float(self.c[self.empty].sum())))

    def level_empty(self, share: float) -> None:
        """σ = share·c on the empty rows."""
        self.sigma[self.empty] = share * self.c[self.empty]

    def hand_over(self) -> tuple[Any, Array, Array, Array]:
        """The chosen rows, and their σ, c and scores."""
        return self.rows.take(self.chosen), self.sigma[self.chosen], self.c[self.chosen], self.z[self.chosen]

    def take_back(self, sigma: Array) -> None:
        """σ of the chosen rows."""
        self.sigma[self.chosen] = sigma

    def sweep_alone(self, seed: int, w: Array, beta: float, tau: float, missing: float, passes: int) -> Partial:
        """Passes over the chosen rows as if all other shards stood still; returns the changes of w and of Σσ."""
        rows, own, left = self.rows.opened(), np.array(w), missing
        self.before, active = self.sigma.copy(), self.chosen
        for k in range(passes):
            state = own, self.sigma, self.c, beta, tau, left
            left, _, _, kept = rows.sweep(active, seed + k, *state, np.inf, self.z)
            active = active[kept]
        return Partial((own - w, missing - left))

    def gained_along(self, steps: Array) -> Partial:
        """Σ min(σ, c-σ) at each of these steps from σ before the passes to σ after them."""
        change = self.sigma - self.before
        points = (self.before + step * change for step in steps)
        return Partial((np.array([float(np.minimum(s, self.c - s).sum()) for s in points]),))

    def step_back(self, step: float) -> None:
        """Keep this share of the change."""
        self.sigma = np.clip(self.before + step * (self.sigma - self.before), 0.0, self.c)

    def inner_room(self, sign: float) -> Partial:
        """By how much Σσ of rows inside a piece can rise (sign 1) or fall (-1) until all reach its end."""
        self.before = self.sigma.copy()
        return Partial((room(self.sigma, self.c, sign),))

    def fill_inner(self, sign: float, share: float) -> None:
        """Move the rows inside a piece by this share of their room."""
        fill(self.sigma, self.c, sign, share)

    def ahead_to_raise(self) -> tuple[Array, Array]:
        """For each row that can rise: by how much β must change before it would, and its room."""
        return self._ahead(1.0)

    def ahead_to_lower(self) -> tuple[Array, Array]:
        """For each row that can fall: by how much β must change before it would, and its room."""
        return self._ahead(-1.0)

    def _ahead(self, sign: float) -> tuple[Array, Array]:
        ahead, distance = room_ahead(self.sigma, self.c, self.z, sign)
        return distance[ahead > 0.0], ahead[ahead > 0.0]

    def fill_ahead(self, sign: float, upto: float, share: float) -> None:
        """Move the rows before the distance ``upto`` to the end of their piece, those at it by ``share``."""
        ahead, distance = room_ahead(self.sigma, self.c, self.z, sign)
        step = np.where(distance < upto, ahead, np.where(distance == upto, share * ahead, 0.0))
        self.sigma = np.clip(self.sigma + sign * step, 0.0, self.c)

    def moved(self) -> Partial:
        """Xᵀ(σ before - σ)."""
        return Partial((self.rows.sum(self.before - self.sigma),))

    def best_totals(self) -> SigmaTotals:
        """What :func:`split_total` needs of the best σ."""
        return SigmaTotals.of(self.best, self.c)

    def repair_best(self, total: float) -> None:
        """Bring Σσ of the best σ to ``total``."""
        used = np.flatnonzero(self.c > 0)
        if used.size:
            self.best[used] = repaired(self.best[used], self.c[used], np.array([total]))

"""All shards of the Newton solver as one object, with the methods of the rows of one process (``newton_rows.Duals``).

Passes over all rows run on the shards, which return vectors of one number per column, sums and maxima. In a round:

1. The shards compute their scores. β is a weighted quantile of their kinks (``shard_quantile``).
2. The rows near a kink are counted. If their entries are few, they are gathered: the driver makes the sweeps and the
   Newton steps of the round on them, as in one process, and sends their σ back.
3. If they are many, as in the first round, every shard makes sweeps over its own rows as if the other shards stood
   still, all at once. A line search shortens the sum of their steps, so that the dual objective never falls. β is
   the best for all rows, so the shards do not all move Σσ in one direction.

Step 3 is the scheme of CoCoA (Smith et al., JMLR 2018) with a line search in place of its fixed damping.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.core.shards import PerShard, Shards
from usmo.kernels.tables import rows_together
from usmo.solvers.newton_loss import inner
from usmo.solvers.newton_products import rows_of
from usmo.solvers.newton_rows import ROUNDING, Duals, kink_margin
from usmo.solvers.newton_shards import NewtonShard
from usmo.solvers.shard_quantile import next_above, quantile
from usmo.solvers.shard_totals import split_total

GATHERED = 2**23
"""Entries up to which the rows near a kink are gathered: 100 MB as a CSR matrix of float64."""

MORE = 16.0
"""Most times that this number is exceeded after rounds without progress."""

PASSES = 3
"""Sweeps of a shard over its own rows before it hears of the others."""

STEPS = 2.0 ** np.arange(0.0, -12.0, -0.5)
"""Shares of the sum of all steps that the line search compares."""

SUM_ROUNDING = 1e-13
"""Share of Σc that counts as rounding in a weighted quantile."""


class ShardedDuals:
    """σ and the scores of rows in shards of :class:`NewtonShard`. ``hand`` are the gathered rows of a round."""

    def __init__(self, shards: Shards, centre: Array | None, gathered: float | None = None) -> None:
        self.shards, self.centre = shards, centre
        self.gathered = GATHERED if gathered is None else gathered
        part = shards.merge(NewtonShard.totals)
        target, mass, norms, n, entries = part.sums
        self.target, self.mass, self.largest = float(target), float(mass), part.maxima[0]
        self.n, self.entries, self.norm = int(n), int(entries), float(norms) / max(1, n)
        self.hand: Duals | None = None
        self.places: PerShard = PerShard()
        self.driver_entries = 0.0
        self.measured = 0.0, 0
        self.best = np.empty(0)
        shards.gather(NewtonShard.begin_at, self.target / self.mass)

    @property
    def spent(self) -> float:
        """Passes over the entries of the table so far, those of gathered rows by their share."""
        read = float(self.shards.merge(NewtonShard.products).sums[0]) + self.driver_entries
        return read / max(1, self.entries)

    def shown(self, w: Array) -> Array:
        """What progress functions get: w."""
        return w

    def start(self, sigma: Any, w: Array | None, beta: float | None) -> None:
        """σ as given for each shard, or read off the scores of (w, β); made feasible."""
        if sigma is None and beta is None:
            self.shards.gather(NewtonShard.score, w)
            beta = self._intercept(0.0)
        self.shards.gather(NewtonShard.begin_from, sigma, w, beta)
        self._balance()
        self.shards.gather(NewtonShard.choose_inside)
        self._gather(self.gathered)

    def point(self) -> Array:
        """w = Xᵀ(b - σ)."""
        return self.shards.merge(NewtonShard.image).sums[0]

    def missing(self) -> float:
        """Σb - Σσ."""
        if self.hand is not None:
            return self.hand.missing()
        return float(self.shards.merge(NewtonShard.balance).sums[0])

    def gained(self) -> float:
        """Σ min(σ, c-σ)."""
        return float(self.shards.merge(NewtonShard.balance).sums[1])

    def evaluate(self, w: Array, beta: float) -> tuple[float, float, float]:
        """Scores of all rows; the best intercept for them, near ``beta``, Σ c·m(f) - b·f and the slack."""
        self.shards.gather(NewtonShard.score, w)
        beta = self._intercept(beta)
        part = self.shards.merge(NewtonShard.conditions, beta)
        loss, slack, inside = part.sums
        self.measured = max(0.0, part.maxima[0] + part.maxima[1]), int(inside)
        return beta, float(loss), float(slack)

    def _intercept(self, guess: float) -> float:
        """The β that minimises Σ c·m(z+β) - β·Σb: a weighted quantile of the kinks, the middle where it is flat."""
        rounding = SUM_ROUNDING * self.mass
        found = quantile(self.shards, NewtonShard.kinks, self.target, guess, rounding)
        if found is None:
            return guess
        if abs(found.below + found.at - self.target) <= rounding:
            above = next_above(self.shards, NewtonShard.kinks, found.value)
            if np.isfinite(above):
                return 0.5 * (found.value + above)
        return found.value

    def violation(self, beta: float) -> tuple[float, int]:
        """The violation of the optimality conditions at the last scores, and the number of rows inside a piece."""
        return self.measured

    def choose(self, beta: float, slack: float, idle: int) -> None:
        """Choose the rows near a kink, as in one process, and gather them if they are few.

        After rounds without progress more are gathered: Newton steps are then worth their memory.
        """
        self._return_hand()  # while the shards still know which rows they gave
        weight = float(self.shards.merge(NewtonShard.choose_near, beta, 0.0).sums[0])
        self.shards.merge(NewtonShard.choose_near, beta, kink_margin(slack, weight, self.norm, max(0, idle - 1)))
        self._gather(self.gathered * min(MORE, 4.0**idle))

    def _gather(self, most: float) -> None:
        if float(self.shards.merge(NewtonShard.chosen_entries).sums[0]) > most:
            return
        missing = self.missing()
        parts = self.shards.gather(NewtonShard.hand_over)
        ends = np.cumsum([0] + [len(part[1]) for part in parts])
        if not ends[-1]:
            return
        self.places = PerShard(slice(int(first), int(last)) for first, last in pairwise(ends))
        sigma, c, z = (np.concatenate([part[k] for part in parts]) for k in (1, 2, 3))
        rows = rows_of(rows_together([part[0] for part in parts]), self.centre)
        self.hand = Duals(rows, np.array([missing + float(np.sum(sigma, dtype=np.longdouble))]), c, np.inf)
        self.hand.sigma, self.hand.z = sigma, z

    def _return_hand(self) -> None:
        """Send σ of the gathered rows back to their shards."""
        if self.hand is not None:
            sigma = PerShard(self.hand.sigma[place] for place in self.places)
            self.shards.gather(NewtonShard.take_back, sigma)
            self.driver_entries += self.hand.rows.products * self.hand.rows.entries
            self.hand = None

    def begin(self) -> None:
        """Before sweeps. Empty rows have equal scores and no part in w: σ in proportion to c is best for them."""
        if self.hand is not None:
            self.hand.begin()
            return
        sigma, mass = self.shards.merge(NewtonShard.empty_rows).sums
        if mass > 0.0:
            self.shards.gather(NewtonShard.level_empty, min(1.0, sigma / mass))

    def sweep(
        self, seed: int, w: Array, beta: float, tau: float, missing: float, margin: float
    ) -> tuple[float, float, float]:
        """As in one process on gathered rows. Otherwise some passes of every shard over its own rows, all at once.

        The slack is then 0: the round ends, since an evaluation, which sets β, costs less than what it saves.
        """
        if self.hand is not None:
            return self.hand.sweep(seed, w, beta, tau, missing, margin)
        own = missing / self.shards.size
        change, total = self.shards.merge(NewtonShard.sweep_alone, seed, w, beta, tau, own, PASSES).sums
        gains = self.shards.merge(NewtonShard.gained_along, STEPS).sums[0]
        both, square = inner(w, change), inner(change, change)
        values = gains - STEPS * both - 0.5 * STEPS**2 * square + STEPS * beta * total
        values -= 0.5 * tau * (missing - STEPS * total) ** 2
        step = float(STEPS[int(np.argmax(values))])
        if step < 1.0:
            self.shards.gather(NewtonShard.step_back, step)
        w += step * change
        return missing - step * total, 0.0, 0.0

    def recall(self) -> None:
        """Make all chosen rows active again."""
        if self.hand is not None:
            self.hand.recall()

    def make_feasible(self) -> Array:
        """Σσ = Σb again; returns the change of w."""
        change: Any = 0.0
        if self.hand is not None:
            change = self.hand.make_feasible()
            self._return_hand()
        return change + self._balance()

    def _balance(self) -> Any:
        """By σ of rows inside a piece, or else of rows whose σ a change of β would change first."""
        left = self.missing()
        if abs(left) <= ROUNDING * self.target:
            return 0.0
        sign = 1.0 if left > 0.0 else -1.0
        room = float(self.shards.merge(NewtonShard.inner_room, sign).sums[0])
        if room > 0.0:
            self.shards.gather(NewtonShard.fill_inner, sign, min(1.0, abs(left) / room))
        levels = NewtonShard.ahead_to_raise if sign > 0.0 else NewtonShard.ahead_to_lower
        for _ in range(2):  # a row may go from one piece to the next
            left = abs(self.missing())
            found = quantile(self.shards, levels, left) if left > ROUNDING * self.target else None
            if found is None:
                break
            share = min(1.0, max(0.0, (left - found.below) / found.at))
            self.shards.gather(NewtonShard.fill_ahead, sign, found.value, share)
        return self.shards.merge(NewtonShard.moved).sums[0]

    def inside(self) -> Any:
        """The active rows inside a piece among those gathered, as in one process."""
        return None if self.hand is None else self.hand.inside()

    def move(self, places: Index, sigma: Array) -> None:
        """Set σ of rows got from ``inside``."""
        assert self.hand is not None
        self.hand.move(places, sigma)

    def keep(self) -> None:
        """Remember σ as the best so far."""
        self.shards.gather(NewtonShard.keep)

    def settle(self) -> None:
        """Remove the rounding of Σσ from the best σ."""
        totals = split_total(self.shards.gather(NewtonShard.best_totals), self.target)
        self.shards.gather(NewtonShard.repair_best, totals)

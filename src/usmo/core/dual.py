"""A point of the dual, row by row: slopes, optimality conditions, β and the terms of the duality gap.

A row has a dual variable 0 ≤ σ ≤ c with a kink at h = c/2. With G = f - β its optimality conditions are

    σ=0: G+β ≤ -1 | 0<σ<h: G+β = -1 | σ=h: -1 ≤ G+β ≤ 1 | h<σ<c: G+β = 1 | σ=c: G+β ≥ 1

Sums and maxima over rows are returned as :class:`Partial`, so that the results of several shards can be merged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usmo.core.arrays import Array, Index, Mask, exact_difference, exact_sum
from usmo.core.shards import Partial

ROUNDING = 1e-12
"""A σ closer to 0, h or c than this share of c counts as being there. :func:`repaired` can leave σ this close to a
bound; the slope towards that bound is then not counted as a violation."""

ROW_ROUNDING = 1e-9
"""Share of |f - β| of a row that counts as rounding of its evaluation."""

SUM_ROUNDING = 4.0 * float(np.finfo(float).eps)
"""Relative error of Σσ that counts as rounding."""


def loss(f: Array) -> Array:
    """The double hinge loss of calling a row negative, m(f) = ℓ(-f) = max(0, f, (1+f)/2)."""
    return np.maximum(0.0, np.maximum(f, 0.5 * (1.0 + f)))


@dataclass(frozen=True)
class DualPoint:
    """Dual variables σ of some rows, with their upper bounds c."""

    sigma: Array
    c: Array

    @property
    def nonbound(self) -> Mask:
        """Rows with 0 < σ < h or h < σ < c, where f must be -1 or 1."""
        return (self.sigma > 0.0) & (self.sigma < self.c) & (self.sigma != 0.5 * self.c)

    def slopes(self, G: Array) -> tuple[Array, Array]:
        """Slopes of the dual objective: for raising σ (inf where σ = c) and for lowering it (-inf where σ = 0)."""
        h = 0.5 * self.c
        up = np.where(self.sigma < self.c, np.where(self.sigma < h, -1.0, 1.0) - G, np.inf)
        dn = np.where(self.sigma > 0.0, np.where(self.sigma > h, 1.0, -1.0) - G, -np.inf)
        return up, dn

    def snapped(self, share: float = ROUNDING) -> DualPoint:
        """The point with every σ within ``share``·c of 0, h or c put exactly there."""
        sigma, near = self.sigma.copy(), share * self.c
        for value in (np.zeros(1), 0.5 * self.c, self.c):
            np.copyto(sigma, value, where=np.abs(self.sigma - value) <= near)
        return DualPoint(sigma, self.c)

    def optimality(self, G: Array) -> Partial:
        """The optimality conditions of these rows: what :func:`bias` and :func:`violations` need.

        Directions in which only rounding is left to move do not count. ``sums`` are Σ(f - G) over the non-bound rows,
        whose f must be -1 or 1, and their number. ``maxima`` are max dn, -min up, the same with each row's slopes less
        the rounding of its own G, and max |G|.
        """
        point, size = self.snapped(), np.abs(G)
        up, dn = point.slopes(G)
        inner = point.nonbound
        side = np.where(point.sigma[inner] < 0.5 * self.c[inner], -1.0, 1.0)
        highest, lowest = float(dn.max(initial=-np.inf)), float(up.min(initial=np.inf))
        largest = float(size.max(initial=0.0))
        size *= ROW_ROUNDING
        up += size
        dn -= size
        net = float(dn.max(initial=-np.inf)), -float(up.min(initial=np.inf))
        return Partial((float(np.sum(side - G[inner])), len(side)), (highest, -lowest, *net, largest))

    def violation(self, G: Array) -> float:
        """max dn - min up: the most that moving weight from one row to another gains per unit.

        τ-optimal means that this is at most τ. It covers all four kinds of pairs. The compact conditions printed in
        the paper leave out a pair of rows that both lie at σ = h.
        """
        return violations(self.optimality(G))[0]

    def concave_part(self) -> float:
        """Σ min(σ, c-σ), which is ½Σδ in the paper's variables (Lemma 1)."""
        return float(np.minimum(self.sigma, self.c - self.sigma).sum())

    def slack(self, f: Array, losses: Array | None = None) -> float:
        """Σ c·m(f) - σ·f - min(σ, c-σ). Each term is ≥ 0 by Fenchel's inequality, so nothing cancels.

        ``losses`` are the values of c·m(f), if they are known.
        """
        return float(self._slacks(f, losses).sum())

    def most_slack(self, f: Array, error: Array) -> Array:
        """The largest term of :meth:`slack` for each row if its f may be off by ``error``.

        A term is convex in f, so it is largest at one end. Far from the kinks of a row at a bound it is 0 on both.
        """
        return np.maximum(self._slacks(f - error), self._slacks(f + error))

    def _slacks(self, f: Array, losses: Array | None = None) -> Array:
        losses = self.c * loss(f) if losses is None else losses
        terms = losses - self.sigma * f - np.minimum(self.sigma, self.c - self.sigma)
        return np.maximum(0.0, terms)


def bias(parts: Partial) -> float:
    """β from the merged :meth:`DualPoint.optimality`: the average over the non-bound rows.

    If there are none, it is the midpoint of its interval. Rows within ``ROUNDING`` of 0, h or c count as bound.
    Otherwise the single row that absorbs the rounding of Σσ could determine β.
    """
    total, inner = parts.sums
    low, high = parts.maxima[:2]
    return float(total / inner) if inner else 0.5 * (low - high)


def violations(parts: Partial) -> tuple[float, float]:
    """The violation from the merged :meth:`DualPoint.optimality`, and that beyond the rounding of each row's f."""
    return max(0.0, sum(parts.maxima[:2])), max(0.0, sum(parts.maxima[2:4]))


def repaired(sigma: Array, c: Array, b: Array, order: Index | None = None) -> Array:
    """σ clipped to its box [0, c] and changed so that Σσ = Σb up to rounding.

    A small remainder goes to the non-bound row with the most room. A large one is given to rows from the end of
    ``order`` (most positive last) or taken from rows at its beginning. Each row is moved to its bound before the
    next is touched, so that at most one row becomes non-bound.
    """
    sigma = np.clip(sigma, 0.0, c)
    order = np.arange(len(c)) if order is None else order
    h, total = 0.5 * c, exact_sum(b)
    for _ in range(6):
        missing = float(exact_difference(b, sigma))
        if abs(missing) <= SUM_ROUNDING * total:
            break
        room = np.minimum(np.minimum(sigma, np.abs(sigma - h)), c - sigma)
        widest = int(np.argmax(room))
        if abs(missing) < 0.5 * room[widest]:
            sigma[widest] += missing
            continue
        rows, bound = (order[::-1], c) if missing > 0 else (order, np.zeros(len(c)))
        room = np.abs(bound - sigma)[rows]
        moved = np.clip(abs(missing) - (np.cumsum(room) - room), 0.0, room)
        sigma[rows] = np.where(moved >= room, bound[rows], sigma[rows] + np.copysign(moved, missing))
    return sigma

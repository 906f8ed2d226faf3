"""The Newton step of the rows inside a piece: σ that puts their scores onto f = -1 or f = 1, inside their pieces.

    (XXᵀ + ridge)·v - η = excess,  Σv = Σ of the change asked for

X are a copy of these rows and η is the change of β. The system is solved by Cholesky where rows or columns are few
and by conjugate gradients where both are many. Rows that reach the end of their piece leave it, and the step continues.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from usmo.core.arrays import Array
from usmo.solvers.newton_loss import inner

CG_STEPS = 60
"""Most steps of conjugate gradients for a Newton step."""

CG_SHARE = 0.05
"""Residual at which conjugate gradients stop, as a share of the first."""

FEW = 256
"""Rows up to which the Newton matrix is formed and factored: then that is faster than conjugate gradients."""

SOME = 1500
"""Rows up to which it is formed and factored where conjugate gradients have not finished."""

NARROW = 1000
"""Columns up to which XᵀX is formed and factored instead, where rows are more."""

RIDGE = 1e-6
"""Added to the diagonal of the Newton matrix, in units of the mean ‖x‖², so that equal rows do not make it singular."""

FACES = 12
"""Times that a Newton step is continued after rows have reached the end of their piece."""

GAIN = 0.15
"""Share of the gain promised by a Newton step that it must keep when it is cut off at the ends of pieces."""


def newton_direction(part: Any, sigma: Array, excess: Array, ends: tuple[Array, Array]) -> tuple[Array, float]:
    """σ moved so that f - ``excess`` is met on the rows that stay inside their piece, and the change of β."""
    system = _System(part)
    free, moved = np.ones(sigma.size, bool), sigma.copy()
    left, v = excess, np.zeros(sigma.size)
    for _ in range(FACES):
        v, shift = system.solve(left, free, v, float((sigma - moved).sum()))
        t, change, image = _cut_step(part, moved, v, left + shift, ends)
        moved = np.clip(moved + change, *ends)
        stopped = free & ((moved == ends[0]) | (moved == ends[1]))
        free &= ~stopped
        if not stopped.any() or np.count_nonzero(free) < 2:
            break
        left, v = left - part.dot(image), (1.0 - t) * v
    return moved, shift


def _cut_step(
    part: Any, moved: Array, v: Array, left: Array, ends: tuple[Array, Array]
) -> tuple[float, Array, Array]:
    """t·v cut off at the ends, with t ≤ 1 such that it still gains: at worst up to where the first row stops."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(v > 0, (ends[1] - moved) / v, np.where(v < 0, (ends[0] - moved) / v, np.inf))
    first, slope, t = float(room[room > 0].min(initial=np.inf)), inner(v, left), 1.0
    while True:
        change = np.where(room <= t, np.where(v > 0, ends[1], ends[0]), moved + t * v) - moved
        image = part.sum(change)
        if t <= first or inner(change, left) - 0.5 * inner(image, image) >= GAIN * t * slope:
            return t, change, image
        t = max(t / 3.0, first)


class _System:
    """(XXᵀ + ridge)·v - η = right on the free rows, with Σv given; by Cholesky or by conjugate gradients."""

    def __init__(self, part: Any) -> None:
        self.part = part
        self.ridge = RIDGE * float(part.norms.mean()) or 1.0
        rows, columns = part.shape
        self.narrow = columns < min(rows, NARROW)
        self.gram: Any = part.gram() if rows <= FEW and not self.narrow else None
        self.end: float | None = None

    def solve(self, right: Array, free: Array, start: Array, total: float) -> tuple[Array, float]:
        """v and η. ``start`` is a guess of v."""
        if self.gram is None and not self.narrow:
            v, shift, finished = self._by_gradients(right, free, start, total)
            if finished or right.size > SOME:
                return v, shift
            self.gram = self.part.gram()
        both = np.stack([right * free, free.astype(np.float64)], axis=1)
        try:
            both = self._over_columns(both, free) if self.narrow else self._over_rows(both, free)
        except LinAlgError:
            return self._by_gradients(right, free, start, total)[:2]
        shift = (total - float(both[:, 0].sum())) / float(both[:, 1].sum())
        return both[:, 0] + shift * both[:, 1], shift

    def _over_rows(self, right: Array, free: Array) -> Array:
        """By the Gram matrix of the free rows."""
        chosen = np.flatnonzero(free)
        matrix = self.gram[np.ix_(chosen, chosen)]
        matrix.flat[:: chosen.size + 1] += self.ridge
        result = np.zeros_like(right)
        result[chosen] = cho_solve(cho_factor(matrix, lower=True, check_finite=False), right[chosen])
        return result

    def _over_columns(self, right: Array, free: Array) -> Array:
        """By XᵀX of the free rows (Woodbury's formula), where there are fewer columns than rows."""
        matrix = self.part.moments(free)
        matrix.flat[:: matrix.shape[0] + 1] += self.ridge
        factor = cho_factor(matrix, lower=True, check_finite=False)
        fits = [self.part.dot(cho_solve(factor, self.part.sum(column))) for column in right.T]
        return (right - free[:, None] * np.stack(fits, axis=1)) / self.ridge

    def _by_gradients(self, right: Array, free: Array, start: Array, total: float) -> tuple[Array, float, bool]:
        """Preconditioned by the diagonal; the first call sets the residual that all calls stop at."""
        part, inverse = self.part, free / (self.part.norms + self.ridge)
        whole = float(inverse.sum())
        v = start * free
        v += inverse * ((total - float(v.sum())) / whole)
        r = right - (self.ridge * v + part.dot(part.sum(v))) if v.any() else right.copy()
        y = inverse * (r - inner(inverse, r) / whole)
        p, now, k = y.copy(), inner(r, y), 0
        self.end = CG_SHARE**2 * now if self.end is None else self.end
        while k < CG_STEPS and now > self.end:
            image = self.ridge * p + part.dot(part.sum(p))
            step = now / inner(p, image)
            v += step * p
            r -= step * image
            y = inverse * (r - inner(inverse, r) / whole)
            now, last = inner(r, y), now
            p = y + (now / last) * p
            k += 1
        return v, -inner(inverse, r) / whole, k < CG_STEPS

"""The loss c·m(f), m(f) = max(0, f, (1+f)/2), row by row: what the solver asks about it, as sums over rows.

c·m(f) is the sum of two hinges, c/2·max(0, f+1) + c/2·max(0, f-1), so σ is the sum of two numbers in [0, c/2], and
the second leaves 0 only where the first is c/2. Every function here reads or writes arrays with one number per
row and returns scalars: over a cluster each shard runs it on its rows and the scalars are added.
"""

from __future__ import annotations

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.system.compilation import compiled

FAST = {"reassoc", "contract", "nsz"}
"""Lets the compiler vectorise sums. The order of additions is fixed at compile time, so results repeat."""


SORTED, BINS = 4096, 256
"""Kinks that are sorted without narrowing their window first, and parts of a window."""

rows_kernel = compiled(fastmath=FAST)
"""Compiles a loop over rows."""


@rows_kernel
def coordinate(f: float, sigma: float, c: float, step: float) -> float:
    """σ after a proximal step of length ``step`` at score f."""
    half = 0.5 * c
    low = min(sigma, half)
    high = sigma - low
    return min(max(low + step * (f + 1), 0.0), half) + min(max(high + step * (f - 1), 0.0), half)


@rows_kernel
def row_slack(f: float, sigma: float, c: float) -> float:
    """c·m(f) - σ·f - min(σ, c-σ) ≥ 0, hinge by hinge so that nothing cancels."""
    half = 0.5 * c
    low = min(sigma, half)
    high = sigma - low
    first = (half - low) * (f + 1) if f > -1 else -low * (f + 1)
    second = (half - high) * (f - 1) if f > 1 else -high * (f - 1)
    return first + second


@rows_kernel
def settled(f: float, sigma: float, c: float, margin: float) -> bool:
    """Whether σ is at the end of a piece and f is on the right side of its kinks, by more than ``margin``."""
    return (
        (sigma == 0.0 and f < -1 - margin)
        or (sigma == 0.5 * c and -1 + margin < f < 1 - margin)
        or (sigma == c and f > 1 + margin)
    )


@rows_kernel
def inner(a: Array, b: Array) -> float:
    """a·b. BLAS would share it between threads, which costs more than it saves."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@rows_kernel
def measure(z: Array, beta: float, sigma: Array, b: Array, c: Array) -> tuple[float, float]:
    """Σ c·m(f) - b·f and the slack Σ c·m(f) - σ·f - min(σ, c-σ), at f = z + β."""
    loss, slack = 0.0, 0.0
    for i in range(z.size):
        f = z[i] + beta
        loss += c[i] * max(0.0, f, 0.5 * (1 + f)) - b[i] * f
        slack += row_slack(f, sigma[i], c[i])
    return loss, slack


@rows_kernel
def _window(z: Array, c: Array, low: float, high: float, kinks: Array, sizes: Array) -> tuple[float, int]:
    """The weight of the kinks of β below ``low``, and the kinks of [low, high) with their weights."""
    below, count = 0.0, 0
    for i in range(z.size):
        if c[i] > 0.0:
            for side in (-1.0, 1.0):
                kink = side - z[i]
                if kink < low:
                    below += 0.5 * c[i]
                elif kink < high:
                    kinks[count] = kink
                    sizes[count] = 0.5 * c[i]
                    count += 1
    return below, count


@rows_kernel
def _narrowed(kinks: Array, sizes: Array, low: float, high: float, rest: float) -> tuple[float, float]:
    """The part of [low, high) where the weight of its kinks reaches ``rest``, with the parts next to it."""
    weight, width = np.zeros(BINS), (high - low) / BINS
    for i in range(kinks.size):
        weight[min(int((kinks[i] - low) / width), BINS - 1)] += sizes[i]
    total, k = weight[0], 0
    while total < rest and k + 1 < BINS:
        k += 1
        total += weight[k]
    return low + (k - 1) * width, low + (k + 2) * width


def intercept(z: Array, c: Array, target: float, guess: float) -> float:
    """The β that minimises Σ c·m(z+β) - β·target: a weighted quantile of the kinks, the middle where it is flat.

    Sorting all kinks would cost more than a product with the table, so only those of a window around the guess are
    sorted. The window is widened until it holds the quantile. If it then has many kinks, it is narrowed to the part
    that holds the quantile.
    """
    kinks, sizes = np.empty(2 * z.size), np.empty(2 * z.size)
    width, most = 2.0**-12, SORTED
    rounding = 1e-13 * float(c.sum())
    while True:
        whole = width > 2.0**60
        low, high = (-np.inf, np.inf) if whole else (guess - width, guess + width)
        below, count = _window(z, c, low, high, kinks, sizes)
        if not whole and not below < target - rounding <= below + float(sizes[:count].sum()):
            width *= 16.0
            continue
        if count > most and not whole:
            low, high = _narrowed(kinks[:count], sizes[:count], low, high, target - rounding - below)
            below, count = _window(z, c, low, high, kinks, sizes)
            most = 2 * z.size  # if a gap between kinks ends outside, the next window is not narrowed
        order = np.argsort(kinks[:count], kind="stable")
        weight = below + np.cumsum(sizes[order])
        k = int(np.searchsorted(weight, target - rounding))
        if whole and count == 0:
            return guess
        if whole or (below < target - rounding and k + 1 < count):
            k = min(k, count - 1)
            flat = abs(weight[k] - target) <= rounding and k + 1 < count
            return float(0.5 * (kinks[order[k]] + kinks[order[k + 1]]) if flat else kinks[order[k]])
        width *= 16.0


@rows_kernel
def near_kinks(z: Array, beta: float, sigma: Array, c: Array, margin: float) -> tuple[Index, float]:
    """The rows whose σ may still move, ascending, and Σ c/2 of those that are not settled even without margin."""
    rows = np.empty(z.size, np.int64)
    count, weight = 0, 0.0
    for i in range(z.size):
        if c[i] > 0.0 and not settled(z[i] + beta, sigma[i], c[i], margin):
            rows[count] = i
            count += 1
            if not settled(z[i] + beta, sigma[i], c[i], 0.0):
                weight += 0.5 * c[i]
    return rows[:count].copy(), weight


@rows_kernel
def inside_pieces(rows: Index, sigma: Array, c: Array) -> Index:
    """Those of the rows with 0 < σ < c/2 or c/2 < σ < c: at the solution they have f = -1 or f = 1."""
    chosen = np.empty(rows.size, np.int64)
    count = 0
    for i in rows:
        if 0.0 < sigma[i] < c[i] and sigma[i] != 0.5 * c[i]:
            chosen[count] = i
            count += 1
    return chosen[:count].copy()


@rows_kernel
def room(sigma: Array, c: Array, sign: float) -> float:
    """By how much Σσ of rows inside a piece can rise (sign 1) or fall (-1) until all reach the end of the piece."""
    total = 0.0
    for i in range(sigma.size):
        s, half = sigma[i], 0.5 * c[i]
        if 0.0 < s < c[i] and s != half:
            low, high = (0.0, half) if s < half else (half, c[i])
            total += high - s if sign > 0.0 else s - low
    return total


@rows_kernel
def fill(sigma: Array, c: Array, sign: float, share: float) -> None:
    """Moves σ of rows inside a piece by this share of their room."""
    for i in range(sigma.size):
        s, half = sigma[i], 0.5 * c[i]
        if 0.0 < s < c[i] and s != half:
            low, high = (0.0, half) if s < half else (half, c[i])
            mine = high - s if sign > 0.0 else s - low
            sigma[i] = min(max(s + sign * share * mine, low), high)


def spread(sigma: Array, c: Array, missing: float) -> float:
    """Adds ``missing`` to Σσ over rows inside a piece, in proportion to their room; returns what found no room."""
    sign = 1.0 if missing > 0.0 else -1.0
    free = room(sigma, c, sign)
    if free > 0.0:
        fill(sigma, c, sign, min(1.0, abs(missing) / free))
    return sign * max(0.0, abs(missing) - free)


def room_ahead(sigma: Array, c: Array, f: Array, sign: float) -> tuple[Array, Array]:
    """By how much each σ can rise (sign 1) or fall (-1) in its piece, and how far f is from the kink for that."""
    half = 0.5 * c
    if sign > 0.0:
        return np.where(sigma < half, half, c) - sigma, np.where(sigma < half, -1.0, 1.0) - f
    return sigma - np.where(sigma > half, half, 0.0), f - np.where(sigma > half, 1.0, -1.0)


def hand_out(sigma: Array, c: Array, f: Array, missing: float) -> None:
    """Adds ``missing`` to Σσ row by row, first where a change of the intercept would make σ change first."""
    for _ in range(2):  # a row may go from one piece to the next
        ahead, distance = room_ahead(sigma, c, f, missing)
        order = np.argsort(np.where(ahead > 0.0, distance, np.inf), kind="stable")
        before = np.concatenate([[0.0], np.cumsum(ahead[order])[:-1]])
        step = np.clip(abs(missing) - before, 0.0, ahead[order])
        sigma[order] += step if missing > 0.0 else -step
        np.clip(sigma, 0.0, c, out=sigma)
        missing -= float(step.sum()) if missing > 0.0 else -float(step.sum())
        if abs(missing) <= 1e-15 * abs(float(sigma.sum())):
            return

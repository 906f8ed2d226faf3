"""The two-variable step (the paper's Table 2), as an exact line search.

Raise σ_i by t and lower σ_j by t. Along t the dual objective is piecewise quadratic with one curvature

    φ'(t) = (up_i - dn_j) + η·t + 2·[t > h_i-σ_i ≥ 0] + 2·[t > σ_j-h_j ≥ 0],     η = k_ii + k_jj - 2k_ij

The pieces between the kinks are the paper's four cases (which of σ_i, σ_j lies above its h); minimising on
each piece, clipping and keeping the lowest, as Table 2 does, is the same as walking along the pieces until
the slope changes sign. Case 1 of the printed table must be divided by η like the other three.
"""

from __future__ import annotations

import numpy as np

from usmo.system.compilation import compiled

SNAP = 2.0**-50
"""Share of c within which a value counts as 0, h or c: four units in the last place. A coarser value would undo steps
that matter where k(x,x)·c is large, and the steps would never end."""


@compiled
def slope_up(sigma: float, c: float, G: float) -> float:
    """Slope of the dual objective for raising σ."""
    if sigma >= c:
        return np.inf
    return (-1.0 if sigma < 0.5 * c else 1.0) - G


@compiled
def slope_dn(sigma: float, c: float, G: float) -> float:
    """Slope of the dual objective for lowering σ, which is what lowering it gains per unit."""
    if sigma <= 0.0:
        return -np.inf
    return (1.0 if sigma > 0.5 * c else -1.0) - G


@compiled
def line_search(slope: float, eta: float, si: float, sj: float, ci: float, cj: float) -> tuple[float, float]:
    """The t ≥ 0 that minimises φ for σ_i + t, σ_j - t, and φ(0) - φ(t).

    ``slope`` is φ'(0+) = up_i - dn_j. The step is exact for η > 0, for η = 0 (equal rows) and, by comparing the ends
    of the pieces, for η < 0 (an indefinite kernel).
    """
    end = min(ci - si, sj)
    kink_i = 0.5 * ci - si if si < 0.5 * ci else end
    kink_j = sj - 0.5 * cj if sj > 0.5 * cj else end
    first, second = min(kink_i, kink_j, end), min(max(kink_i, kink_j), end)
    t, value = 0.0, 0.0
    best_t, best = 0.0, 0.0
    for piece in range(3):
        stop = first if piece == 0 else (second if piece == 1 else end)
        length = stop - t
        inside = eta > 0.0 and slope + eta * length > 0.0
        if eta >= 0.0 and slope >= 0.0:
            break
        if inside:
            length = -slope / eta
        value += length * (slope + 0.5 * eta * length)
        t = t + length if inside else stop
        if value < best:
            best_t, best = t, value
        if inside:
            break
        slope += eta * length + 2.0
    return best_t, -best


@compiled
def snapped(sigma: float, c: float) -> float:
    """σ, or 0, h or c where it is within rounding of one of them."""
    eps = SNAP * c
    if sigma <= eps:
        return 0.0
    if sigma >= c - eps:
        return c
    if abs(sigma - 0.5 * c) <= eps:
        return 0.5 * c
    return sigma


@compiled
def pair_step(slope: float, eta: float, si: float, sj: float, ci: float, cj: float) -> tuple[float, float, float]:
    """New σ_i, σ_j after the exact step, snapped, and by how much the objective falls."""
    t, decrease = line_search(slope, eta, si, sj, ci, cj)
    return snapped(si + t, ci), snapped(sj - t, cj), decrease

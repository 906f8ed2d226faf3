"""From an interior point to the vertex that its active set describes."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.core.arrays import Array

_SNAP = 1e-4
"""Largest distance, as a share of c2, of an interior σ from the value that it is put to."""


def active_set(sigma: Array, f: Array, c2: Array, clearly: float = 1.0) -> tuple[Array, Any]:
    """σ with rows put to 0, h or c2 where their f says so, and a mask of the other rows, which are free.

    By complementarity the distance of σ (in units of c2) from its value is far below the distance of f from the
    threshold where that value ends: less than ``clearly`` times it. Free rows have f = -1 or 1.
    """
    vertex, free = sigma.copy(), np.ones(len(sigma), dtype=bool)
    for value, inside in ((0.0, -1.0 - f), (0.5, 1.0 - np.abs(f)), (1.0, f - 1.0)):
        near = np.abs(sigma / c2 - value) < np.minimum(_SNAP, clearly * inside)
        vertex[near] = value * c2[near]
        free &= ~near
    return vertex, free


def snapped(sigma: Array, f: Array, c: Array, near: float) -> Array:
    """σ with every row whose f is farther than ``near`` from both thresholds put to its bound."""
    sigma = np.clip(sigma, 0.0, c)
    sigma[f < -1.0 - near] = 0.0
    middle = (f > -1.0 + near) & (f < 1.0 - near)
    sigma[middle] = 0.5 * c[middle]
    above = f > 1.0 + near
    sigma[above] = c[above]
    return sigma


def free_step(K: Array, f: Array, below: Any, residual: float) -> tuple[Array, float]:
    """Changes of σ and β that put f to -1 (``below``) or 1 on the free rows and make Σσ right.

    ``K`` and ``f`` are those of the free rows, ``residual`` is what Σσ lacks.
    """
    m = len(f)
    target = np.where(below, -1.0, 1.0)
    scale = max(1.0, float(np.abs(np.diagonal(K)).max(initial=0.0))) ** 0.5
    border = np.full((m, 1), scale)
    system = np.block([[K, -border], [border.T, np.zeros((1, 1))]])
    change = np.linalg.lstsq(system, np.append(f - target, scale * residual), rcond=1e-14)[0]
    return change[:-1], scale * float(change[-1])

"""From an interior point to the vertex that its active set describes."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.core.arrays import Array

_SNAP = 1e-4
"""Largest distance, as a share of c, of an interior σ from the value that it is put to."""


_UNEVEN = 1e6
"""Ratio of the largest to the smallest k(x, x) of the free rows from which their system is scaled."""


def active_set(sigma: Array, f: Array, c: Array, k: Array, clearly: float = 1.0) -> tuple[Array, Any]:
    """σ with all but the free rows put to 0, h or c, and a mask of the free rows; ``k`` is k(x, x).

    A row is put to 0, h or c if |σ/c - value| < min(_SNAP, clearly·d), with d the distance of f inside that value's
    interval, and if the move changes its own f by less than d. By complementarity this holds for all but the free rows,
    where f = ±1.
    """
    vertex, free = sigma.copy(), np.ones(len(sigma), dtype=bool)
    for value, inside in ((0.0, -1.0 - f), (0.5, 1.0 - np.abs(f)), (1.0, f - 1.0)):
        near = np.abs(sigma / c - value) < np.minimum(_SNAP, clearly * inside)
        near &= k * np.abs(sigma - value * c) < inside
        vertex[near] = value * c[near]
        free &= ~near
    return vertex, free


def snap_by_decision(sigma: Array, f: Array, c: Array, k: Array, near: float) -> Array:
    """σ with rows whose f is farther than ``near`` from both thresholds put to their bound or kink.

    A row stays where it is if the move would change its own f, by ``k`` times the move, by more than that distance.
    """
    sigma = np.clip(sigma, 0.0, c)
    for value, inside in ((0.0, -1.0 - f), (0.5, 1.0 - np.abs(f)), (1.0, f - 1.0)):
        belongs = (inside > near) & (k * np.abs(sigma - value * c) < inside)
        sigma[belongs] = value * c[belongs]
    return sigma


def free_step(K: Array, f: Array, below: Any, residual: float) -> tuple[Array, float]:
    """Changes of σ and β that put f to -1 (``below``) or 1 on the free rows and make Σσ right.

    ``K`` and ``f`` are those of the free rows, ``residual`` is what Σσ lacks.
    """
    right = np.append(f - np.where(below, -1.0, 1.0), residual)
    diagonal = np.abs(np.diagonal(K))
    # rows of very different size are scaled to one, or the least squares would drop the small ones
    uneven = len(f) > 0 and diagonal.max() > _UNEVEN * diagonal.min()
    size = np.sqrt(np.maximum(diagonal, np.finfo(float).tiny)) if uneven else np.ones(len(f))
    scale = 1.0 if uneven else max(1.0, float(diagonal.max(initial=0.0))) ** 0.5
    border = (scale / size)[:, None]
    system = np.block([[K / size / size[:, None], -border], [border.T, np.zeros((1, 1))]])
    change = np.linalg.lstsq(system, right * np.append(1.0 / size, scale), rcond=1e-14)[0]
    return change[:-1] / size, scale * float(change[-1])

"""From an interior point to the optimum that its active set describes."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.core.arrays import Array

_SNAP = 1e-4
"""Largest share of c2 by which an interior point may fall short of the value its row is put to."""


def active_set(sigma: Array, f: Array, c2: Array) -> tuple[Array, Any]:
    """σ with every row put to the value 0, h or c2 it belongs to, and which rows belong to none.

    By complementarity the distance of σ (in units of c2) to its value is then far below the distance of f to the
    threshold where that value ends. The other rows have f = -1 or 1.
    """
    vertex, free = sigma.copy(), np.ones(len(sigma), dtype=bool)
    for value, inside in ((0.0, -1.0 - f), (0.5, 1.0 - np.abs(f)), (1.0, f - 1.0)):
        near = np.abs(sigma / c2 - value) < np.minimum(_SNAP, inside)
        vertex[near] = value * c2[near]
        free &= ~near
    return vertex, free


def free_step(K: Array, f: Array, below: Any, residual: float) -> tuple[Array, float]:
    """How σ of the free rows and β must change so that f is -1 (``below``) or 1 there and σ sums up.

    ``K`` and ``f`` are those of the free rows, ``residual`` is what is missing in the sum.
    """
    m = len(f)
    target = np.where(below, -1.0, 1.0)
    scale = max(1.0, float(np.abs(np.diagonal(K)).max(initial=0.0))) ** 0.5
    border = np.full((m, 1), scale)
    system = np.block([[K, -border], [border.T, np.zeros((1, 1))]])
    change = np.linalg.lstsq(system, np.append(f - target, scale * residual), rcond=1e-14)[0]
    return change[:-1], scale * float(change[-1])

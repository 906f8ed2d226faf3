"""Two-row steps on a fixed set of rows until they are τ-optimal among themselves (compiled).

Kernel values are read from a buffer, row ``slot[i]``, column ``column[u]``. A negative slot means that the row is
missing; the loop then returns so that it can be computed. The paper's non-bound passes and the block solver's work on a
block are both this loop.
"""

from __future__ import annotations

import numpy as np

from usmo.solvers.pair import pair_step, slope_dn, slope_up
from usmo.system.compilation import compiled

DONE, NEED_ROW, PAUSED, STALLED = 0, 1, 2, 3

WORK_PER_CALL = 20_000_000
"""Row entries touched before a compiled loop returns, so that Ctrl-C takes effect within some 20 ms."""


@compiled
def critical(members, count, sigma, G, c):  # type: ignore[no-untyped-def]
    """The most critical rows: smallest slope up, largest slope down."""
    best_up, best_dn, i, j = np.inf, -np.inf, -1, -1
    for k in range(count):
        u = members[k]
        up = slope_up(sigma[u], c[u], G[u])
        dn = slope_dn(sigma[u], c[u], G[u])
        if up < best_up:
            best_up, i = up, u
        if dn > best_dn:
            best_dn, j = dn, u
    return i, best_up, j, best_dn


@compiled
def steps_on_set(sigma, G, c, diag, tau, max_steps, buffer, slot, column, stamp, clock):  # type: ignore[no-untyped-def]
    """Step on these rows until they are τ-optimal among themselves.

    Returns (code, row wanted, steps done, decrease of F).
    """
    m = len(sigma)
    steps, work, decrease = 0, 0, 0.0
    everyone = np.arange(m)
    while True:
        # 1) the row to raise is the most critical one
        i, up, j_top, dn_top = critical(everyone, m, sigma, G, c)
        if dn_top - up <= tau:
            return DONE, -1, steps, decrease
        if steps >= max_steps or work > WORK_PER_CALL:
            return PAUSED, -1, steps, decrease
        if slot[i] < 0:
            return NEED_ROW, i, steps, decrease
        row_i = buffer[slot[i]]
        clock[0] += 1
        stamp[slot[i]] = clock[0]
        # 2) the row to lower is the violating one with the largest gain if there were no bounds
        j, best = j_top, -1.0
        for u in range(m):
            gain = slope_dn(sigma[u], c[u], G[u]) - up
            if gain > 0.0 and u != i:
                eta = max(diag[i] + diag[u] - 2.0 * row_i[column[u]], 1e-12 * (diag[i] + diag[u]))
                if gain * gain > best * eta:
                    best, j = gain * gain / eta, u
        if slot[j] < 0:
            return NEED_ROW, j, steps, decrease
        row_j = buffer[slot[j]]
        clock[0] += 1
        stamp[slot[j]] = clock[0]
        # 3) the analytic step, 4) the function cache
        slope = up - slope_dn(sigma[j], c[j], G[j])
        eta = diag[i] + diag[j] - 2.0 * row_i[column[j]]
        si, sj, gained = pair_step(slope, eta, sigma[i], sigma[j], c[i], c[j])
        di, dj = si - sigma[i], sj - sigma[j]
        if di == 0.0 and dj == 0.0:
            return STALLED, -1, steps, decrease
        sigma[i], sigma[j] = si, sj
        for u in range(m):
            G[u] -= di * row_i[column[u]] + dj * row_j[column[u]]
        decrease += gained
        steps += 1
        work += 4 * m

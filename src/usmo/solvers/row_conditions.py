"""The optimality conditions of many rows in one compiled pass, for solvers that keep σ and f of all rows."""

from __future__ import annotations

import numpy as np

from usmo.system.compilation import compiled


@compiled
def row_conditions(sigma, f, c, rounding):  # type: ignore[no-untyped-def]
    """min up, max dn, Σ of slacks, Σ min(σ, c-σ), number of non-bound rows (see ``core/dual.py``).

    Rows with c = 0 count for nothing.
    """
    low, high, slack, concave, nonbound = np.inf, -np.inf, 0.0, 0.0, 0
    for i in range(len(f)):
        s, top = sigma[i], c[i]
        h, r = 0.5 * top, rounding * top
        if s < top - r:
            low = min(low, (-1.0 if s < h - r else 1.0) - f[i])
        if s > r:
            high = max(high, (1.0 if s > h + r else -1.0) - f[i])
        least = min(s, top - s)
        loss = top * max(0.0, max(f[i], 0.5 * (1.0 + f[i])))
        slack += max(0.0, loss - s * f[i] - least)
        concave += least
        nonbound += 0.0 < s < top and s != h
    return low, high, slack, concave, nonbound

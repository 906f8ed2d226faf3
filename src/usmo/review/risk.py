"""How reviewed rows enter the training problem.

With P the positives known at the start or confirmed (p rows), N the rejected rows (m), U the rows not yet reviewed (n)
and v the weight of a rejected row in units of an unreviewed one, the risk is

    ½·Σ_P ℓ(f)/p  +  ½·(Σ_U ℓ(-f) + v·Σ_N ℓ(-f)) / (n + v·m)  +  λ‖f‖²

in b and c of :mod:`usmo.core.problem`, times 1/2λ:

    row   c                      b
    P     ½/p                    ½/p
    U     ½/(n + v·m)            0
    N     ½·v/(n + v·m)          0

Both classes have the weight ½, so Σb = ½·Σc, and no class prior is needed: the share of the positives that are left is
what a review wants to find out, and with one known positive no estimator can tell it. Confirmed positives are certain,
and so have the whole loss ℓ(f), not the linear term of the PU risk, which would correct U for positives that are no
longer in it. They are not a random sample of the positives, so f is a ranking and its values are no probabilities.
Rejected rows are certain too, and come from the top of the ranking: each says more about where the boundary lies than
one of many unreviewed rows, which are negative only for the most part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from usmo.core.problem import Problem


@dataclass(frozen=True)
class ReviewRisk:
    """The risk above: λ, and the weight of a rejected row in units of an unreviewed one."""

    lam: float = 0.1
    rejected: float = 20.0

    def problem(self, kinds: NDArray[np.int8]) -> Problem:
        """b and c of rows of these kinds: 1 positive, 0 not reviewed, -1 rejected."""
        positives, others = np.flatnonzero(kinds == 1), np.flatnonzero(kinds != 1)
        mass = np.where(kinds[others] == -1, self.rejected, 1.0)
        scale = 0.5 / (2.0 * self.lam)
        c = np.zeros(len(kinds))
        c[positives] = scale / len(positives)
        c[others] = scale * mass / mass.sum()
        return Problem(positives, np.arange(len(kinds)), c[positives], c)

"""How reviewed rows enter the training problem.

With P the positives known at the start or confirmed (p rows), N the rejected rows (m), U the rows not yet reviewed (n)
and v the weight of a rejected row in units of an unreviewed one, the risk is

    ½·Σ_P ℓ(f)/p  +  ½·(Σ_U ℓ(-f) + v·Σ_N ℓ(-f)) / (n + v·m)  +  λ‖f‖²

in b and c of :mod:`usmo.core.problem`, times 1/2λ:

    row   c                      b
    P     ½/p                    ½/p
    U     ½/(n + v·m)            0
    N     ½·v/(n + v·m)          0

Both classes have the weight ½, so Σb = ½·Σc, and no prior is needed: the share of the positives that are left is
what a review wants to find out, and with one known positive no estimator can tell it. Confirmed positives are certain,
and so have the whole loss ℓ(f), not the linear term of the PU risk, which would correct U for positives that are no
longer in it. They are not a random sample of the positives, so f is a ranking and its values are no probabilities.
Rejected rows are certain too, and come from the top of the ranking: each says more about where the boundary lies than
one of many unreviewed rows, which are negative only for the most part.

With all rows reviewed this is the risk of known labels, ½·mean over the positives + ½·mean over the negatives, for
every v. Over random reviews its expectation exceeds that by ½·ε·(mean of ℓ(-f) over the positives - mean over the
negatives), ε = (positives left) / (n + v·m). To subtract it needs the number of positives left, and changes no ranking
(``python -m benchmarks.review risk``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from usmo.core.arrays import Array
from usmo.core.problem import Problem


@dataclass(frozen=True)
class ReviewRisk:
    """The risk above: λ, and the weight of a rejected row in units of an unreviewed one."""

    lam: float = 0.1
    rejected: float = 20.0

    def problem(self, kinds: NDArray[np.int8]) -> Problem:
        """b and c of rows of these kinds: 1 positive, 0 not reviewed, -1 rejected."""
        c = self.weights(kinds, int(np.count_nonzero(kinds == 0))) / (2.0 * self.lam)
        positives = np.flatnonzero(kinds == 1)
        return Problem(positives, np.arange(len(kinds)), c[positives], c)

    def weights(self, kinds: NDArray[np.int8], n_open: int) -> Array:
        """The weight of each row, with the sum 1; rows not reviewed that are a sample stand for ``n_open`` rows."""
        positive, is_open = kinds == 1, kinds == 0
        weight = np.where(positive, 0.0, np.where(is_open, n_open / max(1, int(is_open.sum())), self.rejected))
        weight *= 0.5 / max(weight.sum(), 1e-300)  # 0 if every row is positive
        weight[positive] = 0.5 / int(positive.sum())
        return weight

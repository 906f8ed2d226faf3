"""λ if lam="auto": a constant for linear functions and for learned kernels, and 2/n for other kernels.

2/n lets f follow the rows as C = 1/4 does in a support vector machine, whose λ is 1/(2·C·n). n is the number of
different unlabelled rows, at most 2,000. Where their weights differ, n is their effective number (Σm)²/Σm²; equal rows
are one row of greater weight.
"""

from __future__ import annotations

from usmo.core.table import Table
from usmo.core.weights import effective_rows
from usmo.fitting.specification import Specification
from usmo.kernels.kernel import FORESTS
from usmo.kernels.row_sampling import distinct_rows

LINEAR_LAM = 1e-2
"""Default λ of a linear function of the columns."""

_FOREST_LAM = 5e-2
"""Default λ of kernels of learned trees. A kernel that is learned from the labels fits them by itself: over 20 tables,
λ from 0.02 to 1 gives the same mean AUC within 0.001, and 0.005 one that is 0.005 to 0.008 lower (``python -m
benchmarks.forest trees``)."""

_ROWS_LAM = 2.0
"""λ times the number of rows, for other kernels. Against λ = 0.005 it gains 0.0004 of AUC and 0.005 of F1 over 20
tables and three draws, 0.002 and 0.026 over ten digits (``python -m benchmarks.quality --methods "PUSVC rbf" "PUSVC
rbf, λ = 0.005"``)."""

_MOST_ROWS = 2000
"""More rows than that do not lower λ: with 4,000 rows, noisy tables lose by a smaller one."""


def default_lam(table: Table, spec: Specification) -> float:
    """λ of a table if lam="auto"."""
    if spec.kernel is None or spec.kernel.name == "linear":
        return LINEAR_LAM
    if spec.kernel.name in FORESTS:
        return _FOREST_LAM
    _, mass = distinct_rows(table.X, table.sample(spec.scenario), table.weight, spec.seed, _MOST_ROWS)
    return _ROWS_LAM / effective_rows(mass)

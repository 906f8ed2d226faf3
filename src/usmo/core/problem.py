"""The training problem, one convex program for every kind of label, and its two objectives.

With ``m(f) = max(0, f, (1+f)/2)`` the double hinge loss of calling a row negative is m(f), and that of calling it
positive is m(f) - f. So every row contributes ``c·m(f) - b·f``. Which b and c a label, a weight or a cost gives is in
:mod:`usmo.core.labels`.

    primal   P(α,β) = Σ c·m(f) - Σ b·f + ½ αᵀKα,      f = Kα + β
    dual     D(σ)   = -½ αᵀKα + Σ min(σ, c-σ),   0 ≤ σ ≤ c,  Σσ = Σb,   α = b - σ

The paper's problem has b = c1 on the labelled positives and c = c2 on the unlabelled rows. The duality gap, primal
minus dual, is ≥ 0 for every β and every feasible σ, and 0 only at the optimum. The primal is bounded if 0 ≤ Σb ≤ Σc.
It is the regularised empirical risk, divided by 2λ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from usmo.core.arrays import Array, Index, exact_difference, exact_sum, union_of_rows
from usmo.core.dual import DualPoint, bias, loss, repaired
from usmo.core.shards import Partial


@dataclass(frozen=True)
class Problem:
    """One training problem: b and c of the rows where they are not zero.

    ``b_rows`` and ``c_rows`` index rows of the training table; a row may be in both. ``b`` and ``c`` are aligned with
    them. A row with c > 0 has a dual variable σ, a row with c = 0 costs none.
    """

    b_rows: Index
    c_rows: Index
    b: Array
    c: Array

    @property
    def p(self) -> int:
        """The number of rows with b ≠ 0."""
        return len(self.b)

    @property
    def n(self) -> int:
        """The number of rows with c > 0, and so of dual variables."""
        return len(self.c)

    @property
    def total(self) -> float:
        """Σb, which Σσ must equal."""
        return exact_sum(self.b)

    @property
    def share(self) -> float:
        """Σb / Σc; the prior in the paper's problem."""
        return self.total / exact_sum(self.c)

    @cached_property
    def rows(self) -> Index:
        """Rows of the table that the problem uses."""
        return union_of_rows(self.b_rows, self.c_rows)

    def at(self, sigma: Array) -> DualPoint:
        """The point σ of the dual."""
        return DualPoint(sigma, self.c)

    def table_coefficients(self, sigma: Array, n_rows: int) -> Array:
        """α = b - σ for every row of the table."""
        alpha = np.zeros(n_rows)
        alpha[self.b_rows] += self.b
        alpha[self.c_rows] -= sigma
        return alpha

    def part(self, first: int, last: int) -> Problem:
        """The problem of the rows first … last - 1, numbered from 0."""
        b, c = ((rows >= first) & (rows < last) for rows in (self.b_rows, self.c_rows))
        return Problem(self.b_rows[b] - first, self.c_rows[c] - first, self.b[b], self.c[c])

    def dense(self, n_rows: int) -> tuple[Array, Array]:
        """b and c for every row of the table."""
        b, c = np.zeros(n_rows), np.zeros(n_rows)
        b[self.b_rows], c[self.c_rows] = self.b, self.c
        return b, c

    def dual_objective(self, sigma: Array, q: Array, G: Array) -> float:
        """F(σ) = ½σᵀKσ - qᵀσ - Σmin(σ, c-σ), to be minimised, from G = q - Kσ with q = Kb."""
        return float(-0.5 * (sigma @ (q + G))) - self.at(sigma).concave_part()

    def kkt_violation(self, sigma: Array, G: Array) -> float:
        """The violation of the optimality conditions at σ; see :meth:`DualPoint.violation`."""
        return self.at(sigma).violation(G)

    def resolution(self, sigma: Array, diag: Array) -> float:
        """The smallest violation that float64 can tell from zero: rounding of the terms that may cancel in G.

        They are at most √k(x,x)·Σσ√k(u,u), from σ and about as much from b.
        """
        root = np.sqrt(np.abs(diag))
        return 32.0 * float(np.finfo(float).eps) * 2.0 * float(root.max() * (sigma @ root))

    def bias(self, sigma: Array, G: Array) -> float:
        """β at σ; see :func:`usmo.core.dual.bias`."""
        return bias(self.at(sigma).optimality(G))

    def imbalance(self, sigma: Array) -> np.longdouble:
        """Σb - Σσ. Shards merge by sum."""
        return exact_difference(self.b, sigma)

    def repair(self, sigma: Array, order: Index | None = None) -> Array:
        """σ made feasible; see :func:`usmo.core.dual.repaired`."""
        return repaired(sigma, self.c, self.b, order)

    def snap(self, sigma: Array, share: float) -> Array:
        """σ with values within ``share``·c of 0, h or c put exactly there, then made feasible."""
        return self.repair(self.at(sigma).snapped(share).sigma)

    def gap(self, sigma: Array, beta: float, g_c: Array) -> float:
        """P - D from f - β on the rows with c > 0."""
        return self.at(sigma).slack(g_c + beta) - beta * float(self.imbalance(sigma))

    def objective_parts(
        self, sigma: Array, beta: float, g_b: Array, g_c: Array, error: Array | None = None
    ) -> Partial:
        """What a certificate needs from these rows for one β, from Kα on ``b_rows`` and on ``c_rows``.

        ``error`` bounds the error of ``g_c``. The last sum is what it may add to the gap.
        """
        point, f = self.at(sigma), g_c + beta
        quad = float(self.b @ g_b - sigma @ g_c)
        losses = self.c * loss(f)
        risk = float(losses.sum() - self.b @ (g_b + beta))
        slack = point.slack(f, losses)
        rounding = 0.0 if error is None else float(point.most_slack(f, error).sum()) - slack
        return Partial((quad, risk, slack, point.concave_part(), self.imbalance(sigma), rounding))

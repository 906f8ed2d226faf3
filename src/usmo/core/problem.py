"""The PU learning problem and its two objectives.

With P the labelled positives, U the unlabelled rows, class prior π and regularisation λ, a row of P carries
``c1 = π·w/(2λ·Σ_P w)`` and a row of U carries ``c2 = w/(2λ·Σ_U w)``. w are the sample weights; if all are equal,
these are the paper's ``c1 = π/(2λp)`` and ``c2 = 1/(2λn)``. ``h = c2/2``.

    primal   P(α,β) = -Σ_P c1·f + Σ_U c2·max(0, f, (1+f)/2) + ½ αᵀKα,      f = Kα + β
    dual     D(σ)   = -½ αᵀKα + Σ_U min(σ, c2-σ),   0 ≤ σ ≤ c2,  Σσ = Σc1,   α = c1 on P, -σ on U

The duality gap, primal minus dual, is ≥ 0 for every β and every feasible σ, and 0 only at the optimum. The primal is
the regularised empirical PU risk with the double hinge loss, divided by 2λ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from usmo.core.arrays import Array, Index, exact_difference, exact_sum
from usmo.core.certificate import Certificate
from usmo.core.dual import DualPoint, bias, loss, repaired
from usmo.core.shards import Partial

ROW_ROUNDING = 1e-9
"""Share of |f - β| of a row that counts as rounding of its evaluation."""


@dataclass(frozen=True)
class PUProblem:
    """One training problem: indices of P and U in the table, and their bounds c1 and c2.

    ``positives`` and ``unlabelled`` index rows of the training table. In the censored scenario the labelled positives
    are in both. ``c1`` and ``c2`` are aligned with them.
    """

    positives: Index
    unlabelled: Index
    c1: Array
    c2: Array

    @classmethod
    def from_prior(
        cls, prior: float, lam: float, positives: Index, unlabelled: Index, weight: Array | None = None
    ) -> PUProblem:
        """The problem for a class prior, a regularisation and a weight per row of the table."""
        w_p = np.ones(len(positives)) if weight is None else weight[positives]
        w_u = np.ones(len(unlabelled)) if weight is None else weight[unlabelled]
        w_p, w_u = w_p / w_p.max(), w_u / w_u.max()
        return cls.of_masses(prior, lam, positives, unlabelled, (w_p, exact_sum(w_p)), (w_u, exact_sum(w_u)))

    @classmethod
    def of_masses(
        cls, prior: float, lam: float, positives: Index, unlabelled: Index, mass_p: tuple[Array, float],
        mass_u: tuple[Array, float],
    ) -> PUProblem:  # fmt: skip
        """The problem of one shard: weights of its rows, and total weights over all shards."""
        c1 = mass_p[0] * (prior / (2.0 * lam) / mass_p[1])
        c2 = mass_u[0] * (1.0 / (2.0 * lam) / mass_u[1])
        return cls(positives, unlabelled, c1, c2)

    @property
    def p(self) -> int:
        return len(self.c1)

    @property
    def n(self) -> int:
        return len(self.c2)

    @property
    def total(self) -> float:
        """Σc1, which Σσ must equal."""
        return exact_sum(self.c1)

    @property
    def prior(self) -> float:
        return self.total / exact_sum(self.c2)

    @property
    def rows(self) -> Index:
        """Rows of the table that the problem uses."""
        return np.union1d(self.positives, self.unlabelled)

    def at(self, sigma: Array) -> DualPoint:
        """The point σ of the dual."""
        return DualPoint(sigma, self.c2)

    def table_coefficients(self, sigma: Array, n_rows: int) -> Array:
        """α for every row of the table: c1 on P, minus σ on U, their sum where a row is in both."""
        alpha = np.zeros(n_rows)
        alpha[self.positives] += self.c1
        alpha[self.unlabelled] -= sigma
        return alpha

    def dual_objective(self, sigma: Array, q: Array, G: Array) -> float:
        """F(σ) = ½σᵀKσ - qᵀσ - Σmin(σ, c2-σ), to be minimised, from G = q - Kσ."""
        return float(-0.5 * (sigma @ (q + G))) - self.at(sigma).concave_part()

    def kkt_violation(self, sigma: Array, G: Array) -> float:
        """The violation of the optimality conditions at σ; see :meth:`DualPoint.violation`."""
        return self.at(sigma).violation(G)

    def resolution(self, sigma: Array, diag: Array) -> float:
        """The smallest violation that float64 can tell from zero: rounding of the terms that may cancel in G.

        They are at most √k(x,x)·Σσ√k(u,u), from U and about as much from P.
        """
        root = np.sqrt(np.abs(diag))
        return 32.0 * float(np.finfo(float).eps) * 2.0 * float(root.max() * (sigma @ root))

    def bias(self, sigma: Array, G: Array) -> float:
        """β at σ; see :func:`usmo.core.dual.bias`."""
        return bias(self.at(sigma).bias_parts(G))

    def imbalance(self, sigma: Array) -> np.longdouble:
        """Σc1 - Σσ. Shards merge by sum."""
        return exact_difference(self.c1, sigma)

    def repair(self, sigma: Array, order: Index | None = None) -> Array:
        """σ made feasible; see :func:`usmo.core.dual.repaired`."""
        return repaired(sigma, self.c2, self.c1, order)

    def snap(self, sigma: Array, share: float) -> Array:
        """σ with values within ``share``·c2 of 0, h or c2 put exactly there, then made feasible."""
        return self.repair(self.at(sigma).snapped(share).sigma)

    def gap(self, sigma: Array, beta: float, g_u: Array) -> float:
        """P - D from f - β on U."""
        return self.at(sigma).slack(g_u + beta) - beta * float(self.imbalance(sigma))

    def certificate_parts(self, sigma: Array, beta: float, g_p: Array, g_u: Array) -> Partial:
        """What a certificate needs from these rows, from Kα on P and on U (f without β).

        ``maxima`` are the two terms of the violation, and the same beyond the rounding of each row's own f.
        """
        point = self.at(sigma)
        quad = float(self.c1 @ g_p - sigma @ g_u)
        risk = float(-(self.c1 @ (g_p + beta)) + (self.c2 * loss(g_u + beta)).sum())
        sums = quad, risk, point.slack(g_u + beta), point.concave_part(), self.imbalance(sigma)
        return Partial(sums, (*point.extremes(g_u), *point.extremes(g_u, ROW_ROUNDING * np.abs(g_u))))

    def certificate(
        self, sigma: Array, beta: float, g_p: Array, g_u: Array, *, convex: bool = True
    ) -> Certificate:
        """The certificate of (σ, β) from Kα on P and on U, which the caller computes anew."""
        return Certificate.of(self.certificate_parts(sigma, beta, g_p, g_u), beta, self.total, convex)

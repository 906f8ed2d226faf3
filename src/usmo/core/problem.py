"""The PU learning problem: its two objectives, its optimality conditions and the certificate.

With P the labelled positives, U the unlabelled rows, class prior π and regularisation λ, a row of P carries
``c1 = π·w/(2λ·Σ_P w)`` and a row of U carries ``c2 = w/(2λ·Σ_U w)`` (w are the sample weights; all equal they
give the paper's ``c1 = π/(2λp)``, ``c2 = 1/(2λn)``); ``h = c2/2``. Nothing here knows a kernel or a solver.

    primal   P(α,β) = -Σ_P c1·f + Σ_U c2·max(0, f, (1+f)/2) + ½ αᵀKα,      f = Kα + β
    dual     D(σ)   = -½ αᵀKα + Σ_U min(σ, c2-σ),   0 ≤ σ ≤ c2,  Σσ = Σc1,   α = c1 on P, -σ on U

P - D ≥ 0 for every β and every feasible σ, with equality only at the optimum: the duality gap. P is the
regularised empirical PU risk with the double hinge loss divided by 2λ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from usmo.core.arrays import Array, Index, exact_sum
from usmo.core.shards import Found

_FEW = 10_000


def unlabelled_loss(f: Array) -> Array:
    """The double hinge loss of calling a row negative, ℓ(-f) = max(0, f, (1+f)/2)."""
    return np.maximum(0.0, np.maximum(f, 0.5 * (1.0 + f)))


_CRUMB = 1e-12
"""Share of c2 that is rounding."""


@dataclass(frozen=True)
class Certificate:
    """How good a solution is, from decision values computed afresh in float64.

    Attributes
    ----------
    primal, dual : float
        The two objectives in the scale of the module docstring.
    gap : float
        ``primal - dual``; the primal value is at most this far above the optimum.
    relative_gap : float
        ``gap / max(1, |primal|)``.
    kkt_violation : float
        Largest violation of the optimality conditions, in units of the decision function.
    equality_residual : float
        ``|Σσ - Σc1| / Σc1``.
    convex : bool
        False when the kernel matrix was seen to have negative curvature. The gap then measures how far the
        solution is from a stationary point; it is not a bound on the distance to the global optimum.
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    kkt_violation: float
    equality_residual: float
    convex: bool = True

    @classmethod
    def of(cls, found: Found, beta: float, total: float, convex: bool) -> Certificate:
        """The certificate of β from the ``certificate_parts`` of all rows; ``total`` is their Σc1."""
        quad, loss, slack, concave, imbalance = found.sums
        primal, gap = float(loss + 0.5 * quad), float(slack - beta * imbalance)
        return cls(
            primal=primal,
            dual=float(concave - 0.5 * quad),
            gap=gap,
            relative_gap=gap / max(1.0, abs(primal)),
            kkt_violation=max(0.0, sum(found.highs)),
            equality_residual=abs(float(imbalance)) / total,
            convex=convex,
        )


@dataclass(frozen=True)
class PUProblem:
    """One PU training problem: which rows of the table play which part, and with what weight.

    ``positives`` and ``unlabelled`` index rows of the training table; in the censored scenario the labelled
    positives are in both. ``c1`` and ``c2`` are aligned with them.
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
        """The problem of some rows, from their weights and the sum of the weights of all rows of their kind."""
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
        """Σc1: what the σ must sum to."""
        return exact_sum(self.c1)

    @property
    def prior(self) -> float:
        return self.total / exact_sum(self.c2)

    def table_coefficients(self, sigma: Array, n_rows: int) -> Array:
        """α for every row of the table: c1 on P, minus σ on U, their sum where a row is in both."""
        alpha = np.zeros(n_rows)
        alpha[self.positives] += self.c1
        alpha[self.unlabelled] -= sigma
        return alpha

    def concave_part(self, sigma: Array) -> float:
        """Σ min(σ, c2-σ), which is ½Σδ in the paper's variables (Lemma 1)."""
        return float(np.minimum(sigma, self.c2 - sigma).sum())

    def dual_objective(self, sigma: Array, q: Array, G: Array) -> float:
        """F(σ) = ½σᵀKσ - qᵀσ - Σmin(σ, c2-σ), to be minimised, from G = q - Kσ."""
        return float(-0.5 * (sigma @ (q + G))) - self.concave_part(sigma)

    def slopes(self, sigma: Array, G: Array) -> tuple[Array, Array]:
        """Slope of F for raising each σ (inf where σ = c2) and for lowering it (-inf where σ = 0)."""
        h = 0.5 * self.c2
        up = np.where(sigma < self.c2, np.where(sigma < h, -1.0, 1.0) - G, np.inf)
        dn = np.where(sigma > 0.0, np.where(sigma > h, 1.0, -1.0) - G, -np.inf)
        return up, dn

    def kkt_violation(self, sigma: Array, G: Array) -> float:
        """max dn - min up: the most that moving weight from one row to another could gain per unit.

        τ-optimal means that this is at most τ. It covers all four kinds of pairs; the compact conditions
        printed in the paper leave out a pair of rows that both lie at σ = h.
        """
        return max(0.0, sum(self.extremes(sigma, G)))

    def extremes(self, sigma: Array, G: Array) -> tuple[float, float]:
        """max dn and -min up: what rows in several places have the highest of, and whose sum is the violation."""
        up, dn = self.slopes(sigma, G)
        return float(dn.max(initial=-np.inf)), -float(up.min(initial=np.inf))

    def resolution(self, sigma: Array, diag: Array) -> float:
        """The smallest violation that float64 can tell from zero: rounding of the terms that may cancel in G.

        They are at most √k(x,x)·Σσ√k(u,u), from U and about as much from P.
        """
        root = np.sqrt(np.abs(diag))
        return 32.0 * float(np.finfo(float).eps) * 2.0 * float(root.max() * (sigma @ root))

    def nonbound(self, sigma: Array) -> NDArray[np.bool_]:
        """Rows with 0 < σ < h or h < σ < c2, where f must be -1 or 1."""
        return (sigma > 0.0) & (sigma < self.c2) & (sigma != 0.5 * self.c2)

    def bias(self, sigma: Array, G: Array) -> float:
        """β: averaged over the non-bound rows, else the midpoint of the interval the conditions allow.

        Rows that only rounding keeps from their bound count as bound: where σ = h everywhere, for example, the row
        that takes the crumbs of Σσ would otherwise decide alone.
        """
        return bias_of(self.bias_parts(sigma, G))

    def bias_parts(self, sigma: Array, G: Array) -> Found:
        """What :func:`bias_of` needs to know of these rows."""
        for value in (np.zeros(self.n), 0.5 * self.c2, self.c2):
            sigma = np.where(np.abs(sigma - value) <= _CRUMB * self.c2, value, sigma)
        inner = self.nonbound(sigma)
        side = np.where(sigma[inner] < 0.5 * self.c2[inner], -1.0, 1.0)
        return Found((float(np.sum(side - G[inner])), len(side)), self.extremes(sigma, G))

    def residual(self, sigma: Array) -> float:
        """Σc1 - Σσ, summed exactly."""
        return float(self.imbalance(sigma))

    def imbalance(self, sigma: Array) -> np.longdouble:
        """Σc1 - Σσ, to be added up with that of other rows."""
        if self.p + self.n <= _FEW:
            return np.longdouble(math.fsum(np.concatenate([self.c1, -sigma])))
        return np.sum(self.c1, dtype=np.longdouble) - np.sum(sigma, dtype=np.longdouble)

    def repair(self, sigma: Array, order: Index | None = None) -> Array:
        """The same σ clipped to its box and with Σσ = Σc1 to rounding.

        A small remainder goes to the non-bound row with the most room. A large one is given to rows from the
        end of ``order`` (most positive last) or taken from rows at its beginning, finishing one row before
        touching the next, so that at most one row becomes non-bound.
        """
        sigma = np.clip(sigma, 0.0, self.c2)
        order = np.arange(self.n) if order is None else order
        h = 0.5 * self.c2
        for _ in range(6):
            missing = self.residual(sigma)
            if abs(missing) <= 4.0 * np.finfo(float).eps * self.total:
                break
            room = np.minimum(np.minimum(sigma, np.abs(sigma - h)), self.c2 - sigma)
            widest = int(np.argmax(room))
            if abs(missing) < 0.5 * room[widest]:
                sigma[widest] += missing
                continue
            rows, bound = (order[::-1], self.c2) if missing > 0 else (order, np.zeros(self.n))
            room = np.abs(bound - sigma)[rows]
            moved = np.clip(abs(missing) - (np.cumsum(room) - room), 0.0, room)
            sigma[rows] = np.where(moved >= room, bound[rows], sigma[rows] + np.copysign(moved, missing))
        return sigma

    def snap(self, sigma: Array, share: float) -> Array:
        """σ with every value within ``share``·c2 of 0, h or c2 put exactly there, then repaired."""
        sigma = sigma.copy()
        for value in (np.zeros(self.n), 0.5 * self.c2, self.c2):
            near = np.abs(sigma - value) <= share * self.c2
            sigma[near] = value[near]
        return self.repair(sigma)

    def _loss(self, f: Array) -> Array:
        return self.c2 * unlabelled_loss(f)

    def gap(self, sigma: Array, beta: float, g_u: Array) -> float:
        """P - D from f - β on U, row by row: each term is ≥ 0 by Fenchel's inequality, so nothing cancels."""
        return self.slack(sigma, beta, g_u) - beta * self.residual(sigma)

    def slack(self, sigma: Array, beta: float, g_u: Array) -> float:
        """The sum of these terms, without what is missing in Σσ = Σc1."""
        f = g_u + beta
        slack = self._loss(f) - sigma * f - np.minimum(sigma, self.c2 - sigma)
        return float(np.maximum(0.0, slack).sum())

    def certificate(
        self, sigma: Array, beta: float, g_p: Array, g_u: Array, *, convex: bool = True
    ) -> Certificate:
        """The certificate of (σ, β) from Kα on P and on U (f without β), computed by the caller afresh."""
        return Certificate.of(self.certificate_parts(sigma, beta, g_p, g_u), beta, self.total, convex)

    def certificate_parts(self, sigma: Array, beta: float, g_p: Array, g_u: Array) -> Found:
        """What a certificate needs to know of these rows."""
        quad = float(self.c1 @ g_p - sigma @ g_u)
        loss = float(-(self.c1 @ (g_p + beta)) + self._loss(g_u + beta).sum())
        sums = quad, loss, self.slack(sigma, beta, g_u), self.concave_part(sigma), self.imbalance(sigma)
        return Found(sums, self.extremes(sigma, g_u))


def bias_of(found: Found) -> float:
    """β from the parts of all rows."""
    total, inner = found.sums
    low, high = found.highs
    return float(total / inner) if inner else 0.5 * (low - high)

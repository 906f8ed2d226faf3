"""One shard of the linear solver: rows of a table, and σ and f on those with c > 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array, Index, Mask
from usmo.core.dual import ROUNDING, DualPoint, repaired
from usmo.core.problem import Problem
from usmo.core.shards import Partial
from usmo.kernels.row_blocks import Blocks, Features, OrderedSum
from usmo.solvers.crossover import active_set, snap_by_decision
from usmo.solvers.interior_shards import InteriorShard
from usmo.solvers.newton_shards import NewtonShard
from usmo.solvers.row_conditions import row_conditions
from usmo.solvers.shard_totals import SigmaTotals
from usmo.solvers.starts import sample_bounds

_NO_ROWS: Index = np.arange(0)


class LinearShard:
    """Rows of a table, their part of the problem, and σ and f of those with c > 0.

    During a round ``chosen`` are the rows that the interior point solves, ``interior`` is their shard of it,
    and ``candidates`` are two values for their σ: the interior point snapped by its f, and the vertex of its active
    set, whose rows ``free`` are neither at a bound nor at the kink. ``newton`` is the shard of the Newton solver while
    that runs.
    """

    newton: NewtonShard
    error = None
    """Its values are float64 throughout; see :class:`usmo.fitting.certify.CertificateShard`."""

    def __init__(self, features: Features, problem: Problem, centre: Array | None) -> None:
        self.features, self.problem, self.centre = features, problem, centre
        self.table = Blocks(features, centre=centre)
        self.sigma, self.f = np.zeros(problem.n), np.zeros(problem.n)
        self.best: tuple[Array, Array] = self.sigma, self.f
        self.distance, self.g_b, self.g_c = (np.empty(0) for _ in range(3))
        self.chosen, self.free = _NO_ROWS, _NO_ROWS
        self.interior = InteriorShard(self.table, problem.c)
        self.candidates: list[Array] = []
        self.interior_sigma = np.empty(0)

    def totals(self) -> Partial:
        """Number of rows with c > 0, Σb, Σc."""
        return Partial((self.problem.n, np.longdouble(self.problem.total), float(self.problem.c.sum())))

    def b_sum(self) -> Partial:
        """Σb·x."""
        blocks = Blocks(self.features, self.problem.b_rows, self.centre)
        return Partial((blocks.weighted_sum(self.problem.b),))

    def sample(self, size: int, seed: int) -> tuple[Any, Array]:
        """Random rows and those with a large c, not centred, and bounds with which they represent all rows."""
        rows = np.sort(np.random.default_rng(seed).choice(self.problem.n, size, replace=False))
        rows, c = sample_bounds(self.problem.c, rows)
        return self.features.take(self.problem.c_rows[rows]), c

    def weights(self, sigma: Array) -> Partial:
        """Φᵀα for a given σ."""
        return Partial((self.table.weighted_sum(self.problem.table_coefficients(sigma, self.table.n)),))

    def threshold(self, w: Array, beta: float) -> Partial:
        """Set σ by thresholds of f = x·w + β, whatever its sum; returns the conditions, then Φᵀα."""
        f = self.table.dot(w)[self.problem.c_rows] + beta
        self.f, self.sigma = f, np.where(f > 1.0, 1.0, np.where(f > -1.0, 0.5, 0.0)) * self.problem.c
        conditions = self.conditions()
        return Partial((*conditions.sums, *self.weights(self.sigma).sums), conditions.maxima)

    def conditions(self) -> Partial:
        """Σ of slacks, Σ min(σ, c-σ), non-bound rows, Σb - Σσ, Σf, Σf²; max dn and -min up."""
        low, high, slack, concave, nonbound = row_conditions(self.sigma, self.f, self.problem.c, ROUNDING)
        f, imbalance = self.f, self.problem.imbalance(self.sigma)
        return Partial((slack, concave, nonbound, imbalance, float(f.sum()), float(f @ f)), (high, -low))

    def measure_distances(self, tol: float, crossing: float, most: int) -> tuple[Array, float, int, int]:
        """Compute the distance of each f from its nearest threshold.

        Rows that are non-bound or violate a condition by more than tol/2 get -1. Returns about ``most`` distances, the
        number of rows that each represents, the number of rows at -1, and the number within ``crossing``.
        """
        point = self.problem.at(self.sigma)
        up, dn = point.slopes(self.f)
        wrong = (up < -0.5 * tol) | (dn > 0.5 * tol) | point.nonbound
        distance = np.minimum(np.abs(self.f + 1.0), np.abs(self.f - 1.0))
        distance[wrong] = -1.0
        self.distance = distance
        some = distance[:: max(1, len(distance) // most)]
        k = len(distance) / max(1, len(some))
        return some, k, int(np.count_nonzero(wrong)), int(np.count_nonzero(distance <= crossing))

    def near_totals(self, nearest: float) -> Partial:
        """Number, Σc and Σσ of the rows at most this far from a threshold."""
        near = self.distance <= nearest
        sigma = np.sum(self.sigma[near], dtype=np.longdouble)
        return Partial((int(np.count_nonzero(near)), float(self.problem.c[near].sum()), sigma))

    def choose(self, nearest: float) -> Partial:
        """Choose these rows for the interior point; returns their Φᵀσ, Σσ, Σc and number."""
        self.chosen = np.arange(self.problem.n) if nearest == np.inf else np.flatnonzero(self.distance <= nearest)
        self.distance = np.empty(0)
        blocks = self.table
        if len(self.chosen) < self.table.n:
            blocks = Blocks(self.features, self.problem.c_rows[self.chosen], self.centre)
        sigma = self.sigma[self.chosen]
        self.interior = InteriorShard(blocks, self.problem.c[self.chosen])
        sums = np.sum(sigma, dtype=np.longdouble), float(self.interior.c.sum()), len(sigma)
        return Partial((blocks.weighted_sum(sigma), *sums))

    def make_candidates(self, w: Array, beta: float, near: float, cautious: bool) -> Partial:
        """Make the two candidates; returns the number of free rows, Φᵀσ and Σσ of the vertex.

        If ``cautious``, rows whose own f the move to a bound would change too much stay free.
        """
        blocks, c = self.interior.blocks, self.interior.c
        if self.interior.begun:
            self.interior_sigma = self.interior.sigma
            self.interior.release()
        f = blocks.dot(w) + beta
        k = blocks.squared_norms() if cautious else np.zeros(blocks.n)
        vertex, free = active_set(self.interior_sigma, f, c, k)
        self.candidates = [snap_by_decision(self.interior_sigma, f, c, k, near), vertex]
        self.free = np.flatnonzero(free)
        return Partial((len(self.free), blocks.weighted_sum(vertex), np.sum(vertex, dtype=np.longdouble)))

    def free_rows(self) -> tuple[Array, Mask]:
        """The free rows, and a mask of those whose target is f = -1."""
        blocks = self._free_blocks()
        Z = blocks.block(slice(0, blocks.n))
        below = self.candidates[1][self.free] < 0.5 * self.interior.c[self.free]
        return Z.toarray() if sparse.issparse(Z) else np.array(Z), below

    def change_free(self, change: Array) -> None:
        """Add to σ of the free rows."""
        self.candidates[1][self.free] += change

    def free_products(self) -> Partial:
        """ΦᵀΦ of the free rows, bordered by ones."""
        blocks = self._free_blocks()
        total = OrderedSum(blocks.step)

        def work(part: slice) -> None:
            X = blocks.block(part)
            Z = np.hstack([X.toarray() if sparse.issparse(X) else X, np.ones((X.shape[0], 1))])
            total.add(part, Z.T @ Z)

        blocks.each(work)
        return Partial((np.zeros((blocks.r + 1, blocks.r + 1)) + total.total,))

    def shift_free(self, x: Array) -> None:
        """Add Φx, with the last entry of x for β, to σ of the free rows."""
        self.change_free(self._free_blocks().dot(x[:-1]) + x[-1])

    def clip(self, which: int) -> SigmaTotals:
        """Clip a candidate to its box; returns what :func:`split_total` needs of it."""
        c = self.interior.c
        self.candidates[which] = np.clip(self.candidates[which], 0.0, c)
        return SigmaTotals.of(self.candidates[which], c)

    def repair(self, which: int, total: float) -> Partial:
        """Bring Σσ of a candidate to ``total``; returns its Φᵀσ."""
        if len(self.chosen):
            self.candidates[which] = repaired(self.candidates[which], self.interior.c, np.array([total]))
        return Partial((self.interior.blocks.weighted_sum(self.candidates[which]),))

    def judge(self, which: int, w: Array, beta: float) -> Partial:
        """Σ of slacks and Σσ of a candidate; its max dn and -min up."""
        f, sigma = self.interior.blocks.dot(w), self.candidates[which]
        point = DualPoint(sigma, self.interior.c)
        return Partial((point.slack(f + beta), np.sum(sigma, dtype=np.longdouble)), point.optimality(f).maxima[:2])

    def accept(self, which: int, w: Array, beta: float) -> Partial:
        """Take a candidate for σ and compute f on all rows; returns the conditions."""
        self.sigma[self.chosen] = self.candidates[which]
        self.candidates, self.free, self.interior_sigma = [], _NO_ROWS, np.empty(0)
        self.interior = InteriorShard(self.table, self.problem.c)
        self.f = self.table.dot(w)[self.problem.c_rows] + beta
        return self.conditions()

    def keep_best(self) -> None:
        """Remember σ and f: they are the best so far."""
        self.best = self.sigma.copy(), self.f

    def restore_best(self) -> Partial:
        """Go back to the best σ; returns its Φᵀα."""
        self.sigma, self.f = self.best
        return self.weights(self.sigma)

    def end_newton(self) -> None:
        """Take over the best σ of the Newton solver."""
        self.best = self.newton.best[self.problem.c_rows], self.f
        del self.newton

    def evaluate(self, coef: Array) -> None:
        """Compute f - β on all rows anew."""
        values = self.table.dot(coef)
        self.g_b, self.g_c = values[self.problem.b_rows], values[self.problem.c_rows]

    def _free_blocks(self) -> Blocks:
        return self.interior.blocks.part(self.free)

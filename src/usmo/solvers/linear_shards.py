"""What the linear solver keeps for its rows, and does with it where the rows are: the shards of ``linear.py``."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array, Index
from usmo.core.problem import PUProblem
from usmo.core.shards import Found
from usmo.kernels.row_blocks import Blocks, Features, Sums
from usmo.solvers.crossover import active_set
from usmo.solvers.interior_shards import Part
from usmo.system.compilation import compiled


@compiled
def _standing(sigma, f, c2):  # type: ignore[no-untyped-def]
    """In one pass: min up, max dn, Σ of slacks, Σ min(σ, c2-σ), rows at no bound (see ``problem.py``)."""
    low, high, slack, concave, nonbound = np.inf, -np.inf, 0.0, 0.0, 0
    for i in range(len(f)):
        s, c = sigma[i], c2[i]
        h = 0.5 * c
        if s < c:
            low = min(low, (-1.0 if s < h else 1.0) - f[i])
        if s > 0.0:
            high = max(high, (1.0 if s > h else -1.0) - f[i])
        least = min(s, c - s)
        loss = c * max(0.0, max(f[i], 0.5 * (1.0 + f[i])))
        slack += max(0.0, loss - s * f[i] - least)
        concave += least
        nonbound += 0.0 < s < c and s != h
    return low, high, slack, concave, nonbound


class Rows:
    """A shard: rows of a table, the part of the problem that they are, σ and f on those that are unlabelled."""

    def __init__(self, features: Features, problem: PUProblem, centre: Array | None) -> None:
        self.features, self.problem, self.centre = features, problem, centre
        self.table = Blocks(features, centre=centre)
        self.sigma, self.f = np.zeros(problem.n), np.zeros(problem.n)
        self.distance, self.g_p, self.g_u = (np.empty(0) for _ in range(3))
        self.rows: Index = np.arange(0)
        self.part = Part(self.table, problem.c2)
        self.ends: list[Array] = []
        self.best: tuple[Array, Array] = self.sigma, self.f

    def free_blocks(self) -> Blocks:
        return self.part.blocks.part(self.free)

    free: Index = np.arange(0)


def measure(shard: Rows) -> Found:
    """Rows of U, Σc1, Σc2."""
    return Found((shard.problem.n, np.longdouble(shard.problem.total), float(shard.problem.c2.sum())))


def from_positives(shard: Rows) -> Found:
    """Σc1·x over P."""
    return Found((Blocks(shard.features, shard.problem.positives, shard.centre).weighted_sum(shard.problem.c1),))


def sample(shard: Rows, size: int, seed: int) -> tuple[Any, Array]:
    """Some rows of U, not centred, and their c2."""
    rows = np.sort(np.random.default_rng(seed).choice(shard.problem.n, size, replace=False))
    return shard.features.take(shard.problem.unlabelled[rows]), shard.problem.c2[rows]


def threshold(shard: Rows, w: Array, beta: float) -> Found:
    """σ by thresholds of f = x·w + β, whatever its sum; Φᵀα for it, and then as :func:`look`."""
    f = shard.table.dot(w)[shard.problem.unlabelled] + beta
    shard.f, shard.sigma = f, np.where(f > 1.0, 1.0, np.where(f > -1.0, 0.5, 0.0)) * shard.problem.c2
    alpha = shard.problem.table_coefficients(shard.sigma, shard.table.n)
    found = look(shard)
    return Found((*found.sums, shard.table.weighted_sum(alpha)), found.highs)


def look(shard: Rows) -> Found:
    """Σ of slacks, Σ min(σ, c2-σ), non-bound rows, Σc1 - Σσ, Σf and Σf²; max dn and -min up."""
    low, high, slack, concave, nonbound = _standing(shard.sigma, shard.f, shard.problem.c2)
    f, imbalance = shard.f, shard.problem.imbalance(shard.sigma)
    return Found((slack, concave, nonbound, imbalance, float(f.sum()), float(f @ f)), (high, -low))


def distances(shard: Rows, tol: float, crossing: float, most: int) -> tuple[Array, float, int, int]:
    """How near each f is to a threshold, -1 for rows that are not where their f wants them.

    Returns about ``most`` of the distances, the number of rows each stands for, the number of the latter rows, and
    of those that are nearer than ``crossing``.
    """
    up, dn = shard.problem.slopes(shard.sigma, shard.f)
    must = (up < -0.5 * tol) | (dn > 0.5 * tol) | shard.problem.nonbound(shard.sigma)
    distance = np.minimum(np.abs(shard.f + 1.0), np.abs(shard.f - 1.0))
    distance[must] = -1.0
    shard.distance = distance
    some = distance[:: max(1, len(distance) // most)]
    stands = len(distance) / max(1, len(some))
    return some, stands, int(np.count_nonzero(must)), int(np.count_nonzero(distance <= crossing))


def room(shard: Rows, nearest: float) -> Found:
    """Of the rows that are as near as this: their number, Σc2 and Σσ."""
    near = shard.distance <= nearest
    sigma = np.sum(shard.sigma[near], dtype=np.longdouble)
    return Found((int(np.count_nonzero(near)), float(shard.problem.c2[near].sum()), sigma))


def choose(shard: Rows, nearest: float) -> Found:
    """Take the rows that are as near as this for the interior point: Φᵀσ of them, Σσ, Σc2 and their number."""
    if nearest == np.inf:
        shard.rows = np.arange(shard.problem.n)
    else:
        shard.rows = np.flatnonzero(shard.distance <= nearest)
    shard.distance = np.empty(0)
    blocks = shard.table
    if len(shard.rows) < shard.table.n:
        blocks = Blocks(shard.features, shard.problem.unlabelled[shard.rows], shard.centre)
    sigma = shard.sigma[shard.rows]
    shard.part = Part(blocks, shard.problem.c2[shard.rows])
    sums = np.sum(sigma, dtype=np.longdouble), float(shard.part.c2.sum()), len(sigma)
    return Found((blocks.weighted_sum(sigma), *sums))


def end(shard: Rows, w: Array, beta: float, near: float) -> Found:
    """Two ends of the interior point: σ snapped to bounds, and the vertex of its active set.

    Returns how many rows are free at the vertex, its Φᵀσ and its Σσ.
    """
    part = shard.part
    f = part.blocks.dot(w) + beta
    vertex, free = active_set(part.sigma, f, part.c2)
    shard.ends, shard.free = [_snapped(part.sigma, f, part.c2, near), vertex], np.flatnonzero(free)
    part.S = part.D = np.empty((6, 0))
    return Found((len(shard.free), part.blocks.weighted_sum(vertex), np.sum(vertex, dtype=np.longdouble)))


def free_rows(shard: Rows) -> tuple[Array, Any]:
    """The free rows, and which of them belong to f = -1."""
    mine = shard.free_blocks()
    Z = mine.block(slice(0, mine.n))
    below = shard.ends[1][shard.free] < 0.5 * shard.part.c2[shard.free]
    return Z.toarray() if sparse.issparse(Z) else np.array(Z), below


def free_change(shard: Rows, change: Array) -> None:
    shard.ends[1][shard.free] += change


def free_products(shard: Rows) -> Found:
    """ΦᵀΦ of the free rows, bordered by ones."""
    mine = shard.free_blocks()
    total = Sums(mine.step)

    def work(which: slice) -> None:
        X = mine.block(which)
        Z = np.hstack([X.toarray() if sparse.issparse(X) else X, np.ones((X.shape[0], 1))])
        total.add(which, Z.T @ Z)

    mine.each(work)
    return Found((np.zeros((mine.r + 1, mine.r + 1)) + total.total,))


def free_shift(shard: Rows, x: Array) -> None:
    shard.ends[1][shard.free] += shard.free_blocks().dot(x[:-1]) + x[-1]


def clip(shard: Rows, which: int) -> tuple[Any, float, float]:
    """Put an end into its box: Σσ, the widest room that a non-bound row has on both sides, and Σ(c2-σ)."""
    c2 = shard.part.c2
    sigma = shard.ends[which] = np.clip(shard.ends[which], 0.0, c2)
    widest = np.minimum(np.minimum(sigma, np.abs(sigma - 0.5 * c2)), c2 - sigma).max(initial=0.0)
    return np.sum(sigma, dtype=np.longdouble), float(widest), float((c2 - sigma).sum())


def settle(shard: Rows, which: int, total: float) -> Found:
    """Bring Σσ of an end to ``total``; its Φᵀσ."""
    if len(shard.rows):
        shard.ends[which] = _own(shard, total).repair(shard.ends[which])
    return Found((shard.part.blocks.weighted_sum(shard.ends[which]),))


def _own(shard: Rows, total: float) -> PUProblem:
    """The rows of this round as a problem of their own: the same conditions, another sum."""
    unlabelled = shard.problem.unlabelled[shard.rows]
    return PUProblem(unlabelled[:1], unlabelled, np.array([total]), shard.part.c2)


def judge(shard: Rows, which: int, w: Array, beta: float) -> Found:
    """Σ of slacks and Σσ of an end, and its max dn and -min up."""
    f, sigma, own = shard.part.blocks.dot(w), shard.ends[which], _own(shard, 0.0)
    return Found((own.slack(sigma, beta, f), np.sum(sigma, dtype=np.longdouble)), own.extremes(sigma, f))


def accept(shard: Rows, which: int, w: Array, beta: float) -> Found:
    """Take an end for σ, and f on all rows for it; then as :func:`look`."""
    shard.sigma[shard.rows] = shard.ends[which]
    shard.ends, shard.free = [], np.arange(0)
    shard.part = Part(shard.table, shard.problem.c2)
    shard.f = shard.table.dot(w)[shard.problem.unlabelled] + beta
    return look(shard)


def keep(shard: Rows) -> None:
    """Remember σ and f: they are the best so far."""
    shard.best = shard.sigma.copy(), shard.f


def finish(shard: Rows) -> Found:
    """Go back to the best: Φᵀα of it."""
    shard.sigma, shard.f = shard.best
    return weights(shard, shard.sigma)


def weights(shard: Rows, sigma: Array) -> Found:
    """Φᵀα for a given σ."""
    return Found((shard.table.weighted_sum(shard.problem.table_coefficients(sigma, shard.table.n)),))


def evaluate(shard: Rows, coef: Array) -> Found:
    """f without β on all rows, afresh; the largest of U."""
    values = shard.table.dot(coef)
    shard.g_p, shard.g_u = values[shard.problem.positives], values[shard.problem.unlabelled]
    return Found((), (float(np.abs(shard.g_u).max(initial=0.0)),))


def _snapped(sigma: Array, f: Array, c2: Array, near: float) -> Array:
    """σ with every row that is farther than ``near`` from both thresholds put to its bound."""
    sigma = np.clip(sigma, 0.0, c2)
    sigma[f < -1.0 - near] = 0.0
    middle = (f > -1.0 + near) & (f < 1.0 - near)
    sigma[middle] = 0.5 * c2[middle]
    above = f > 1.0 + near
    sigma[above] = c2[above]
    return sigma

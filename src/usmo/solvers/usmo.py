"""USMO, the paper's Algorithm 1: sequential minimal optimisation for PU learning.

    minimise  F(σ) = ½σᵀKσ - qᵀσ - Σ min(σ, c-σ)     over 0 ≤ σ ≤ c,  Σσ = Σb,      G = q - Kσ = f - β
    by steps on two rows (pair.py), until  max dn - min up ≤ τ  over all rows (τ-optimality)

Passes over the whole set (section 4.3, examine every row once) alternate with passes over the non-bound rows
(step until these are τ-optimal). During the latter only G on the rows of the pass is kept up to date: the
function cache of section 4.4. β is computed at the end.

The stopping test. With up_u, dn_u the slopes of F for raising and lowering σ_u, the paper's critical values
are m1max = -1 - min up over σ < h, m2min = 1 - max dn over σ > h, and so on; its three conditions bound
dn_j - up_i for three of the four ways to pair rows below, above and at h. The fourth, raising one row with
σ ≥ h and lowering one with σ ≤ h (m3max - m3min - 2 ≤ τ), is not printed in the paper; two rows at σ = h
with f ten apart satisfy the other three. Using up and dn directly covers all four.

Memory is linear in n: a handful of vectors and a row cache of fixed size.
"""

from __future__ import annotations

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.core.problem import Problem
from usmo.core.solution import PassRecord, Solution, Status
from usmo.kernels.matrix import KernelMatrix
from usmo.solvers.pair import pair_step, slope_dn, slope_up
from usmo.solvers.pair_steps import DONE, NEED_ROW, PAUSED, STALLED, WORK_PER_CALL, critical, steps_on_set
from usmo.solvers.row_cache import RowCache
from usmo.solvers.stopping import Limits, Progress
from usmo.system.compilation import compiled

_NONBOUND_SHARE = 0.25
"""Non-bound passes go to this share of τ. They are cheap, and the final gap is a quarter of what it would be otherwise
(at worst 4e-6 instead of 1.7e-5 over 32 problems at τ = 1e-4) for a tenth more steps."""

_PATIENCE = 30
"""Passes without a smaller violation after which the run ends. Whole fits take 4 to 50 passes."""

_STEPS_PER_PASS = 200_000
"""Two-row steps after which a non-bound pass ends."""


@compiled
def _place(u, sigma, c, members, position, count):  # type: ignore[no-untyped-def]
    """Add row u to the list of non-bound rows or remove it; returns the new length."""
    inside = 0.0 < sigma[u] < c[u] and sigma[u] != 0.5 * c[u]
    if inside and position[u] < 0:
        members[count], position[u] = u, count
        return count + 1
    if not inside and position[u] >= 0:
        last = members[count - 1]
        members[position[u]], position[last] = last, position[u]
        position[u] = -1
        return count - 1
    return count


@compiled
def _step(a, b, sigma, G, c, diag, row_a, row_b):  # type: ignore[no-untyped-def]
    """Raise row a and lower row b by the exact step, and update G; returns whether they moved and the gain."""
    slope = slope_up(sigma[a], c[a], G[a]) - slope_dn(sigma[b], c[b], G[b])
    eta = diag[a] + diag[b] - 2.0 * row_a[b]
    sa, sb, gained = pair_step(slope, eta, sigma[a], sigma[b], c[a], c[b])
    da, db = sa - sigma[a], sb - sigma[b]
    if da == 0.0 and db == 0.0:
        return False, 0.0
    sigma[a], sigma[b] = sa, sb
    for v in range(len(G)):
        G[v] -= da * row_a[v] + db * row_b[v]
    return True, gained


@compiled
def _whole_pass(  # type: ignore[no-untyped-def]
    first, sigma, G, c, diag, tau, max_steps, members, position, extremes, buffer, slot, stamp, clock
):
    """Examine the rows from ``first`` on, each against the non-bound rows and the most critical rows so far.

    G is updated on all rows. Returns (code, row to fetch, row to continue with, steps done, decrease of F).
    """
    n = len(sigma)
    count = 0
    for u in range(n):
        count = count if position[u] < 0 else count + 1
    steps, work, decrease = 0, 0, 0.0
    candidates = np.empty(n + 3, dtype=np.int64)
    fresh = False
    i, j, up, dn = -1, -1, np.inf, -np.inf
    u = first
    while u < n:
        if not fresh:
            candidates[:count] = members[:count]
            size = count
            for e in extremes:
                if e >= 0:
                    candidates[size] = e
                    size += 1
            i, up, j, dn = critical(candidates, size, sigma, G, c)
            work += size
            fresh = True
        if work > WORK_PER_CALL:
            return PAUSED, -1, u, steps, decrease
        up_u, dn_u = slope_up(sigma[u], c[u], G[u]), slope_dn(sigma[u], c[u], G[u])
        gain_raise, gain_lower = dn - up_u, dn_u - up
        work += 4
        if max(gain_raise, gain_lower) > tau:
            if steps >= max_steps:
                return PAUSED, -1, u, steps, decrease
            a, b = (u, j) if gain_raise >= gain_lower else (i, u)
            for row in (a, b):
                if slot[row] < 0:
                    return NEED_ROW, row, u, steps, decrease
                clock[0] += 1
                stamp[slot[row]] = clock[0]
            moved, gained = _step(a, b, sigma, G, c, diag, buffer[slot[a]], buffer[slot[b]])
            if moved:
                count = _place(a, sigma, c, members, position, count)
                count = _place(b, sigma, c, members, position, count)
                decrease += gained
                steps += 1
                work += 4 * n
                fresh = False
        else:
            if up_u < up:
                up, i = up_u, u
            if dn_u > dn:
                dn, j = dn_u, u
        if fresh:
            extremes[0], extremes[1] = i, j
        else:
            extremes[2] = u
        u += 1
    return DONE, -1, n, steps, decrease


class _Run:
    """The state of one run: vectors over U, the row cache, the work done."""

    def __init__(
        self, problem: Problem, kernel: KernelMatrix, sigma: Array, tau: float, budget: float, limits: Limits
    ) -> None:
        self.problem, self.kernel, self.rows = problem, kernel, problem.c_rows
        self.first_entry, self.limits = kernel.entries, limits
        self.tau, self.budget = tau, budget
        self.steps = 0
        self.diag = kernel.diag(self.rows)
        self.q = kernel.product(self.rows, problem.b_rows, problem.b)
        self.sigma = sigma.copy()
        support = np.flatnonzero(self.sigma)
        self.G = self.q - kernel.product(self.rows, self.rows[support], self.sigma[support])
        self.resolution = problem.resolution(self.sigma, self.diag)
        self.objective = problem.dual_objective(self.sigma, self.q, self.G)
        self.cache = RowCache(self._rows_over_all, problem.n, problem.n, budget)

    @property
    def kernel_rows(self) -> float:
        return (self.kernel.entries - self.first_entry) / self.problem.n

    @property
    def steps_left(self) -> int:
        limit = self.limits.max_iter
        return np.iinfo(np.int64).max if limit < 0 else limit - self.steps

    def _rows_over_all(self, which: Index, out: Array, slots: Index) -> None:
        out[slots] = self.kernel.rows(self.rows[which], self.rows)

    def _count(self, steps: int, decrease: float) -> bool:
        """Record the work of a call; True if a limit ends the pass."""
        self.steps += steps
        self.objective -= decrease
        return self.limits.reached(self.steps) is not None

    def report(self, kind: str) -> None:
        record = PassRecord(
            kind=kind,
            steps=self.steps,
            objective=self.objective,
            violation=self.problem.kkt_violation(self.sigma, self.G),
            beta=self.problem.bias(self.sigma, self.G),
            nonbound=int(self.problem.at(self.sigma).nonbound.sum()),
            kernel_rows=self.kernel_rows,
            seconds=self.limits.seconds,
        )
        self.limits.report(record, self.sigma)

    def whole_pass(self) -> int:
        """Examine every row once; returns the number of steps taken."""
        tau = max(self.tau, self.resolution)
        inside = np.flatnonzero(self.problem.at(self.sigma).nonbound)
        members = np.empty(self.problem.n, dtype=np.int64)
        members[: len(inside)] = inside
        position = np.full(self.problem.n, -1, dtype=np.int64)
        position[inside] = np.arange(len(inside))
        extremes = np.full(3, -1, dtype=np.int64)
        cache, before, u = self.cache, self.steps, 0
        while True:
            code, wanted, u, steps, decrease = _whole_pass(
                u, self.sigma, self.G, self.problem.c, self.diag, tau, self.steps_left,
                members, position, extremes, cache.buffer, cache.slot, cache.stamp, cache.clock,
            )  # fmt: skip
            ended = self._count(steps, decrease)
            if code == DONE or ended:
                return self.steps - before
            if code == NEED_ROW:
                cache.fetch(np.array([wanted]))

    def nonbound_pass(self) -> None:
        """Make the present non-bound rows τ-optimal among themselves, then update G on all rows."""
        inside = np.flatnonzero(self.problem.at(self.sigma).nonbound)
        if len(inside) < 2:
            return
        tau = max(_NONBOUND_SHARE * self.tau, self.resolution)
        rows, c, diag = self.rows[inside], self.problem.c[inside], self.diag[inside]
        sigma, G = self.sigma[inside], self.G[inside]
        if len(inside) <= self.cache.capacity:
            cache, members, column = self.cache, inside, inside
        else:  # kernel rows over all of U do not fit: cache their non-bound columns only

            def among_themselves(which: Index, out: Array, slots: Index) -> None:
                out[slots] = self.kernel.rows(rows[which], rows)

            cache = RowCache(among_themselves, len(inside), len(inside), self.budget)
            members = column = np.arange(len(inside))
        slot = cache.slot[members]
        last = self.steps + _STEPS_PER_PASS
        while True:
            code, wanted, steps, decrease = steps_on_set(
                sigma, G, c, diag, tau, self.steps_left,
                cache.buffer, slot, column, cache.stamp, cache.clock,
            )  # fmt: skip
            ended = self._count(steps, decrease)
            if code in (DONE, STALLED) or ended or self.steps > last:
                break
            if code == NEED_ROW:
                cache.fetch(members[wanted : wanted + 1])
                slot = cache.slot[members]
        self._move(inside, sigma)
        self.G[inside] = G

    def _move(self, inside: Index, sigma: Array) -> None:
        """Set σ on these rows and update G everywhere."""
        change = sigma - self.sigma[inside]
        self.sigma[inside] = sigma
        moved = np.flatnonzero(change)
        slots = self.cache.slot[inside[moved]]
        cached, missing = moved[slots >= 0], moved[slots < 0]
        # 2^20 entries at a time, because indexing the buffer copies
        step = max(1, 2**20 // self.problem.n)
        for k in range(0, len(cached), step):
            part = cached[k : k + step]
            self.G -= change[part] @ self.cache.buffer[self.cache.slot[inside[part]]]
        if len(missing):
            self.G -= self.kernel.product(self.rows, self.rows[inside[missing]], change[missing])

    def result(self, status: Status) -> Solution:
        sigma = self.problem.repair(self.sigma)
        return Solution(
            sigma=sigma,
            beta=self.problem.bias(sigma, self.G),
            G=self.G,
            iterations=self.steps,
            kernel_rows=self.kernel_rows,
            history=tuple(self.limits.history),
            status=status,
        )


def solve(
    problem: Problem,
    kernel: KernelMatrix,
    start: Array,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    max_time: float | None = None,
    cache_size: float = 200.0,
    effort: int | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Run USMO from the feasible point ``start``.

    Parameters
    ----------
    tol : float
        τ: the KKT violation at which to stop.
    max_iter : int
        Limit on two-row steps, -1 for none.
    max_time : float
        Limit on seconds, None for none.
    cache_size : float
        Megabytes for kernel rows.
    effort : int, optional
        Two-row steps after which the run ends with the status "precision".
    progress : callable, optional
        Called with the record of each pass and the present σ. Returning True ends the fit.

    References
    ----------
    E. Sansone, F. G. B. De Natale, Z.-H. Zhou. Efficient training for positive unlabeled learning. IEEE
    TPAMI, 2019. Sections 4.1 to 4.5.
    S. S. Keerthi et al. Improvements to Platt's SMO algorithm. Neural Computation, 2001 (the two kinds of pass).
    R.-E. Fan, P.-H. Chen, C.-J. Lin. Working set selection using second order information. JMLR, 2005 (the
    choice of the second row).
    """
    limits = Limits(max_iter, max_time, progress, patience=_PATIENCE, effort=effort)
    run = _Run(problem, kernel, start, tol, cache_size * 2**20, limits)
    run.report("start")
    while True:
        steps = run.whole_pass()
        run.report("whole")
        if steps == 0 or limits.reached(run.steps):
            break
        run.nonbound_pass()
        run.report("nonbound")
        if limits.reached(run.steps):
            break
    if limits.history[-1].violation <= tol:
        return run.result("optimal")
    return run.result(limits.reached(run.steps) or "precision")

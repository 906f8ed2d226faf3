"""The block solver with its shards on the workers of a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.core.certificate import Certificate
from usmo.core.problem import Problem
from usmo.core.shards import PerShard, SubShards
from usmo.core.solution import EvaluatedPoint, Solution
from usmo.core.table import Table
from usmo.dask.cluster import ClusterShards
from usmo.dask.collections import Block
from usmo.dask.driver import retry_on_loss
from usmo.dask.partitions import Partitions, Recipe, SampleRows, problem_of, sample_rows
from usmo.fitting.certify import CertificateShard, Certified, certify_shards, refuse_overflow
from usmo.fitting.checkpoint import Checkpoint, text_digest
from usmo.fitting.kernel import Attempt, solve_and_refine
from usmo.fitting.specification import Specification
from usmo.fitting.warm_up import compile_kernel_solvers
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix, row_sums
from usmo.kernels.tables import rows_together
from usmo.solvers import blocks
from usmo.solvers.block_rows import BlockRows
from usmo.solvers.block_shards import BlockShard
from usmo.solvers.stopping import Progress, Save


@dataclass
class SampledCertificate(CertificateShard):
    """With the rows that the threshold is chosen on."""

    sample_rows: SampleRows


class TableShard:
    """A block, its part of the problem, and the shards that the solver and the certificate keep for its rows."""

    rows: BlockShard
    certificate: CertificateShard

    def __init__(self, block: Block, recipe: Recipe, kernel: Kernel, first: int) -> None:
        compile_kernel_solvers()
        self.X, self.weight, self.kernel, self.first = block.X, block.weight, kernel, first
        self.problem = problem_of(block, recipe)
        self.sample_rows = sample_rows(block, self.problem, recipe)


@dataclass(frozen=True)
class BlockFit:
    """A certified solution with its support, and the shards (:class:`TableShard`), whose certificates have f - β."""

    solution: Solution
    certificate: Certificate
    support: Index
    vectors: Any
    alpha: Array
    shards: ClusterShards


class BlockProblem:
    """The problem over all rows, as the driver keeps it: bounds, labelled rows, float type of kernel rows."""

    def __init__(self, table: Partitions, spec: Specification, sample: Table, prior: float, lam: float) -> None:
        assert spec.kernel is not None
        self.table, self.spec, self.kernel = table, spec, spec.kernel
        self.recipe = table.recipe(spec.risk, prior, lam)
        parts = table.gather(_describe, self.kernel, self.recipe)
        self.sizes = [part.problem.n for part in parts]
        problems = [
            replace(part.problem, b_rows=part.problem.b_rows + first, c_rows=part.problem.c_rows + first)
            for part, first in zip(parts, table.firsts, strict=True)
        ]
        self.problem = Problem(
            *(np.concatenate([getattr(one, name) for one in problems]) for name in ("b_rows", "c_rows", "b", "c"))
        )
        self.P_rows = rows_together([part.P_rows for part in parts])
        largest = max(part.largest for part in parts)
        refuse_overflow(largest, self.problem.total, table.rows)
        small = KernelMatrix(sample.X, self.kernel)
        self.psd = small.is_psd(sample.rows)
        c_max = float(self.problem.c.max())
        self.dtype = blocks.float_type(small, sample.rows, c_max, self.problem.total, spec.tol)
        sums = table.gather(_row_sums, self.recipe, self.kernel, self.problem.n)
        self.centre = None if sums[0] is None else np.sum(sums, axis=0) / self.problem.n

    def digest(self) -> str:
        """A digest of the table, the problem and the kernel, which a checkpoint depends on."""
        return text_digest((self.table.digest(), self.kernel.describe(), self.recipe))

    def fit(self, cache_size: float, progress: Progress | None, use: Callable[[BlockFit], None]) -> BlockFit:
        """Solve and certify; ``use`` is called with the fit while the shards still have f - β."""
        compile_kernel_solvers()
        spec, began = self.spec, time.perf_counter()
        file, resume = None, _Resume()
        if spec.checkpoint is not None:
            file = Checkpoint(spec.checkpoint, spec.checkpoint_seconds, self.digest(), self.problem.n)
            resume.point, resume.start = file.load() or (None, None)

        def save(sigma: Array, get_G: Callable[[], Array], target: Array, panels: int) -> None:
            resume.start, resume.point = target.copy(), None
            if file is not None:
                file.save(sigma, get_G, target, panels)

        def attempt(shards: ClusterShards) -> BlockFit:
            left = None if spec.max_time is None else max(1e-3, spec.max_time - (time.perf_counter() - began))
            certified = solve_and_refine(
                lambda attempt: self._solve(shards, attempt, cache_size, progress, save),
                lambda solution: self._certify(shards, solution, resume),
                replace(spec, max_time=left), resume.start, resume.point,
            )  # fmt: skip
            assert resume.support is not None
            fit = BlockFit(certified.solution, certified.certificate, *resume.support, shards)
            use(fit)
            return fit

        firsts = PerShard(np.cumsum([0, *self.sizes[:-1]]).tolist())
        with nullcontext() if file is None else file.file:
            return retry_on_loss(self.table, TableShard, (self.recipe, self.kernel, firsts), attempt)

    def _solve(
        self, shards: ClusterShards, attempt: Attempt, cache_size: float, progress: Progress | None, save: Save
    ) -> Solution:
        problem = self.problem
        dtype = np.dtype(np.float64 if attempt.number > 1 else self.dtype)
        shards.gather(_open_rows, dtype, problem.n, self.centre, self.P_rows, problem.b / problem.total)
        rows = BlockRows(
            SubShards(shards, "rows"), self.sizes, dtype, cache_size, problem.n * problem.p, least=blocks.BLOCK
        )
        return blocks.solve(
            problem, rows, attempt.start, point=attempt.point, tol=attempt.tol, max_iter=attempt.max_iter,
            max_time=attempt.max_time, progress=progress, save=save,
        )  # fmt: skip

    def _certify(self, shards: ClusterShards, solution: Solution, resume: _Resume) -> Certified:
        resume.support = self._support(shards, solution.sigma)
        sigma = PerShard(np.split(solution.sigma, np.cumsum(self.sizes)[:-1]))
        shards.gather(_evaluate, *resume.support[1:], sigma)
        parts = SubShards(shards, "certificate")
        beta, certificate, net_violation = certify_shards(parts, solution.beta, self.problem.total, self.psd)
        G = np.concatenate(parts.gather(_get_values))
        return Certified(replace(solution, beta=beta, G=G), certificate, net_violation)

    def _support(self, shards: ClusterShards, sigma: Array) -> tuple[Index, Any, Array]:
        """Rows with non-zero coefficients: their numbers, the rows gathered here, and the coefficients."""
        alpha = self.problem.table_coefficients(sigma, self.table.rows)
        support = np.flatnonzero(alpha)
        ends = np.searchsorted(support, [*self.table.firsts, self.table.rows])
        own = [support[ends[k] : ends[k + 1]] - first for k, first in enumerate(self.table.firsts)]
        return support, rows_together(shards.gather(_rows_at, PerShard(own))), alpha[support]


@dataclass
class _Resume:
    """Where the next attempt starts after a loss: the target of the solver, and the support of the last certificate."""

    start: Array | None = None
    point: EvaluatedPoint | None = None
    support: tuple[Index, Any, Array] | None = None


@dataclass(frozen=True)
class _Description:
    """What the driver needs to know of a block."""

    problem: Problem
    P_rows: Any
    largest: float


def _describe(block: Block, kernel: Kernel, recipe: Recipe) -> _Description:
    problem = problem_of(block, recipe)
    used = problem.rows
    largest = float(np.abs(KernelMatrix(block.X, kernel).diag(used)).max(initial=0.0)) if len(used) else 0.0
    return _Description(problem, block.X[problem.b_rows], largest)


def _row_sums(block: Block, recipe: Recipe, kernel: Kernel, n: int) -> Array | None:
    return row_sums(block.X[problem_of(block, recipe).c_rows], kernel, n)


def _open_rows(shard: TableShard, dtype: Any, n: int, centre: Array | None, P_rows: Any, share: Array) -> None:
    """Make the shard of the block solver."""
    own = shard.X[shard.problem.c_rows]
    shard.rows = BlockShard.of_rows(own, shard.kernel, dtype, n, centre, shard.first, P_rows, share)


def _rows_at(shard: TableShard, rows: Index) -> Any:
    return shard.X[rows]


def _evaluate(shard: TableShard, vectors: Any, alpha: Array, sigma: Array) -> None:
    """Compute f - β on all rows in use anew, in float64."""
    matrix = KernelMatrix(vectors, shard.kernel)
    rows = shard.problem.b_rows, shard.problem.c_rows
    g_b, g_c = (matrix.cross_product(shard.X[part], alpha) for part in rows)
    shard.certificate = SampledCertificate(shard.problem, np.array(sigma), g_b, g_c, shard.sample_rows)


def _get_values(shard: CertificateShard) -> Array:
    return shard.g_c

"""The block solver on a cluster: its problem on the driver, its rows on the workers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.core.problem import Certificate, PUProblem
from usmo.core.shards import Each, Inside
from usmo.core.solution import Solution
from usmo.core.table import Table
from usmo.dask.cluster import Cluster
from usmo.dask.driver import through_losses
from usmo.dask.partitions import Masses, Partitions, parts_of, problem_of
from usmo.dask.parts import Block
from usmo.fitting.certify import Judged, refuse_overflow, verdict
from usmo.fitting.checkpoint import Checkpoint, digest_of, kernel_words
from usmo.fitting.kernel import Known, compile_once, refined
from usmo.kernels.matrix import Kernel, KernelMatrix, row_sums, rows_together
from usmo.solvers import blocks
from usmo.solvers.block_shards import Columns, columns_of
from usmo.solvers.stopping import Progress


class Piece:
    """A shard: a block, its part of the problem, and what the solver and the certificate keep for its rows."""

    columns: Columns
    judged: Judged

    def __init__(
        self, block: Block, classes: np.ndarray, scenario: str, prior: float, lam: float, masses: Masses,
        kernel: Kernel, first: int,
    ) -> None:  # fmt: skip
        compile_once()
        self.X, self.kernel, self.first = block.X, kernel, first
        self.problem = problem_of(block, classes, scenario, prior, lam, masses)


@dataclass(frozen=True)
class Fitted:
    """A certified solution with its support, and the team that has f - β."""

    solution: Solution
    certificate: Certificate
    support: Index
    vectors: Any
    alpha: Array
    team: Inside


class Task:
    """What the driver knows: the problem over all rows, the labelled rows, the float type of kernel rows."""

    def __init__(
        self, table: Partitions, kernel: Kernel, sample: Table, prior: float, lam: float, scenario: str, tol: float
    ) -> None:
        self.table, self.kernel = table, kernel
        masses = table.masses(scenario)
        self.recipe = table.classes, scenario, prior, lam, masses
        found = table.gather(_described, kernel, *self.recipe)
        self.sizes = [len(part.unlabelled) for part in found]
        offsets = zip(found, table.firsts, strict=True)
        both = [(part.labelled + first, part.unlabelled + first) for part, first in offsets]
        positives, unlabelled = (np.concatenate([rows[k] for rows in both]) for k in (0, 1))
        c1, c2 = (np.concatenate([part.weights[k] for part in found]) for k in (0, 1))
        self.problem = PUProblem(positives, unlabelled, c1, c2)
        self.P_rows = rows_together([part.P_rows for part in found])
        largest = max(part.largest for part in found)
        refuse_overflow(largest, self.problem.total, table.rows)
        some = KernelMatrix(sample.X, kernel)
        self.psd = some.is_psd(sample.rows)
        spread = some.spread(sample.rows) if kernel.name == "rbf" else 0.0
        c2_max = float(self.problem.c2.max())
        self.dtype = blocks.float_type(kernel.name, largest, spread, c2_max, self.problem.total, tol)
        sums = table.gather(_unlabelled_sums, table.classes, scenario, kernel, self.problem.n)
        self.centre = None if sums[0] is None else np.sum(sums, axis=0) / self.problem.n

    def mark(self) -> str:
        """A digest of what a checkpoint depends on: the table, the problem, the kernel."""
        return digest_of((self.table.digest(), kernel_words(self.kernel), self.recipe))

    def parts(self, values: Array) -> Each:
        """An array over U, to each shard its own."""
        return Each(np.split(values, np.cumsum(self.sizes)[:-1]))

    def fit(
        self,
        *,
        tol: float,
        max_iter: int,
        max_time: float | None,
        megabytes: float,
        progress: Progress | None,
        checkpoint: tuple[str | os.PathLike[str], float] | None,
        settle: Callable[[Fitted], None],
    ) -> Fitted:
        """Solve and certify; ``settle`` is called while the shards still have f - β."""
        compile_once()
        problem, began = self.problem, time.perf_counter()
        file = None if checkpoint is None else Checkpoint(*checkpoint, self.mark(), problem.n)
        stored = None if file is None else file.load()
        # from where a fit goes on if a worker is lost: the point that it was on its way to
        start, known = (None, None) if stored is None else (stored[2], (stored[0], stored[1]))
        at: dict[str, Any] = {"start": start, "known": known}

        def save(sigma: Array, get_G: Callable[[], Array], target: Array) -> None:
            at.update(start=target.copy(), known=None)
            if file is not None:
                file.save(sigma, get_G, target)

        def attempt(team: Cluster) -> Fitted:
            def run(
                start: Array | None, known: Known | None, again: int, steps: int, left: float | None
            ) -> Solution:
                dtype = np.dtype(np.float64 if again > 1 else self.dtype)
                team.gather(_begun, dtype, problem.n, self.centre, self.P_rows, problem.c1 / problem.total)
                columns = Inside(team, "columns")
                space = blocks.Workspace.over(columns, self.sizes, dtype, megabytes, problem.n * problem.p)
                return blocks.solve(
                    problem, None, start, known=known, workspace=space, tol=tol, max_iter=steps, max_time=left,
                    progress=progress, save=save,
                )  # fmt: skip

            judge = Inside(team, "judged")

            def judged(solution: Solution) -> tuple[Solution, Certificate]:
                support = at["support"] = self._support(team, solution.sigma)
                team.gather(_evaluated, *support[1:], self.parts(solution.sigma))
                beta, certificate = verdict(judge, solution.beta, problem.total, self.psd)
                G = np.concatenate(judge.gather(_values))
                return replace(solution, beta=beta, G=G), certificate

            left = None if max_time is None else max(1e-3, max_time - (time.perf_counter() - began))
            solution, certificate = refined(run, judged, at["start"], at["known"], tol, max_iter, left)
            support, vectors, alpha = at["support"]
            found = Fitted(solution, certificate, support, vectors, alpha, judge)
            settle(found)
            return found

        firsts = Each(np.cumsum([0, *self.sizes[:-1]]).tolist())
        found = through_losses(self.table, Piece, (*self.recipe, self.kernel, firsts), attempt)
        if file is not None:
            file.done()
        return found

    def _support(self, team: Cluster, sigma: Array) -> tuple[Index, Any, Array]:
        """The rows whose coefficients are not zero, here, and these."""
        alpha = self.problem.table_coefficients(sigma, self.table.rows)
        support = np.flatnonzero(alpha)
        ends = np.searchsorted(support, [*self.table.firsts, self.table.rows])
        own = [support[ends[k] : ends[k + 1]] - first for k, first in enumerate(self.table.firsts)]
        return support, rows_together(team.gather(_rows_at, Each(own))), alpha[support]


@dataclass(frozen=True)
class _Described:
    labelled: Index
    unlabelled: Index
    weights: tuple[Array, Array]
    P_rows: Any
    largest: float


def _described(
    block: Block, kernel: Kernel, classes: np.ndarray, scenario: str, prior: float, lam: float, masses: Masses
) -> _Described:
    problem = problem_of(block, classes, scenario, prior, lam, masses)
    labelled, unlabelled, weights = problem.positives, problem.unlabelled, (problem.c1, problem.c2)
    used = np.union1d(labelled, unlabelled)
    largest = float(np.abs(KernelMatrix(block.X, kernel).diag(used)).max(initial=0.0)) if len(used) else 0.0
    return _Described(labelled, unlabelled, weights, block.X[labelled], largest)


def _unlabelled_sums(block: Block, classes: np.ndarray, scenario: str, kernel: Kernel, n: int) -> Array | None:
    return row_sums(block.X[parts_of(block, classes, scenario)[1]], kernel, n)


def _begun(piece: Piece, dtype: Any, n: int, centre: Array | None, P_rows: Any, share: Array) -> None:
    """Make what the block solver keeps for the rows."""
    own = piece.X[piece.problem.unlabelled]
    piece.columns = columns_of(own, piece.kernel, dtype, n, centre, piece.first, P_rows, share)


def _rows_at(piece: Piece, rows: Index) -> Any:
    return piece.X[rows]


def _evaluated(piece: Piece, vectors: Any, alpha: Array, sigma: Array) -> None:
    """f - β on all rows in use, afresh, in float64."""
    matrix = KernelMatrix(vectors, piece.kernel)
    rows = piece.problem.positives, piece.problem.unlabelled
    g_p, g_u = (matrix.cross_product(piece.X[part], alpha) for part in rows)
    piece.judged = Judged(piece.problem, np.array(sigma), g_p, g_u)


def _values(judged: Judged) -> Array:
    return judged.g_u

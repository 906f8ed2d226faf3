"""Leave-one-out decision values of a fit on a cluster, by :mod:`usmo.fitting.leave_one_out` on the driver.

The driver has σ, f - β, the labelled rows and the support, which holds the rows strictly between kinks. Only the
unlabelled rows in question are gathered: the rows that a fit on one machine takes, 3000 at most.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.core.shards import PerShard
from usmo.dask.block_fit import BlockFit, BlockProblem, TableShard
from usmo.dask.partitions import KINDS
from usmo.estimators.decision import Values, corrected, corrected_part
from usmo.fitting.leave_one_out import GatheredRows, leave_one_out
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.tables import rows_together


class _Part(NamedTuple):
    """Some rows of a shard or of the table: their numbers, f - β and weights."""

    rows: Index
    g: Array
    weight: Array


def held_out(problem: BlockProblem, fit: BlockFit) -> tuple[Values, Values]:
    """Held-out values and weights of labelled positives and of unlabelled rows."""
    table, solution = problem.table, fit.solution
    counts = np.array([summary.counts for summary in table.summaries])
    is_censored = problem.spec.scenario == "censored"
    sizes = counts[:, KINDS.index(1)], counts.sum(axis=1) if is_censored else counts[:, KINDS.index(0)]
    answers = fit.shards.gather(_some_rows, *(PerShard(_places(size)) for size in sizes))
    on_p, on_u = (_joined([answer[k] for answer in answers], table.firsts) for k in (0, 1))
    numbers, first = np.unique(np.concatenate([problem.problem.b_rows, fit.support, on_u.rows]), return_index=True)
    X = rows_together([problem.P_rows, fit.vectors, *(answer[2] for answer in answers)])[first]
    gathered = GatheredRows(numbers, KernelMatrix(X, problem.kernel))
    correct = partial(leave_one_out, problem.problem, solution, gathered)
    f_p, f_u = corrected(correct, *((part.rows, part.g + solution.beta, part.weight) for part in (on_p, on_u)))
    return (f_p, on_p.weight), (f_u, on_u.weight)


def _places(sizes: Array) -> list[Index]:
    """For each shard the places, among its rows of a kind, of those that are taken; ``sizes`` are their numbers."""
    ends = np.cumsum(sizes)
    taken = np.arange(ends[-1])[corrected_part(int(ends[-1]))]
    parts = np.split(taken, np.searchsorted(taken, ends[:-1]))
    return [part - first for part, first in zip(parts, ends - sizes, strict=True)]


def _joined(parts: list[_Part], firsts: list[int]) -> _Part:
    """The rows of all shards, numbered as in the table."""
    rows = [part.rows + first for part, first in zip(parts, firsts, strict=True)]
    g, weight = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
    return _Part(np.concatenate(rows), g, weight)


def _some_rows(shard: TableShard, labelled: Index, sampled: Index) -> tuple[_Part, _Part, Any]:
    """Labelled rows and rows of the sample at these places, and the columns of the latter."""
    certificate, problem = shard.certificate, shard.problem
    place = shard.sample_rows.place[sampled]
    rows_p, rows_u = problem.b_rows[labelled], problem.c_rows[place]
    w_p, w_u = (np.ones(len(rows)) if shard.weight is None else shard.weight[rows] for rows in (rows_p, rows_u))
    return (
        _Part(rows_p, certificate.g_b[labelled], w_p),
        _Part(rows_u, certificate.g_c[place], w_u),
        shard.X[rows_u],
    )

"""A training table in blocks on the workers: checked, counted, sampled.

A block is one future: a chunk of a ``dask.array`` or a partition of a ``dask.dataframe``, dense or CSR, its labels
and its weights. Dask keeps it in the memory of a worker, and computes it again if that worker is lost.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import dask
import numpy as np
from dask.base import is_dask_collection
from distributed import Client, Future
from scipy import sparse

from usmo.core.arrays import Array, Index, exact_sum
from usmo.core.problem import PUProblem
from usmo.core.table import Table, warn_of_text
from usmo.dask.cluster import awaited, sent_once
from usmo.dask.collections import (
    Block,
    aligned,
    checked_block,
    delayed_lengths,
    row_counts,
    row_parts,
    width_of,
)
from usmo.fitting.checkpoint import text_digest
from usmo.kernels.tables import rows_together


class BlockSummary(NamedTuple):
    """What the driver knows of a block: for each value of y the rows of positive weight, and their largest weight."""

    rows: int
    values: np.ndarray
    counts: list[int]
    tops: list[float]
    is_sparse: bool


class Masses(NamedTuple):
    """For P and for U: the largest weight, and the sum of weights divided by it."""

    top_p: float
    p: float
    top_u: float
    u: float


@dataclass(frozen=True)
class Partitions:
    """The blocks of a training table, with a summary of each."""

    client: Client
    blocks: list[Future]
    summaries: list[BlockSummary]
    columns: int
    names: list[str] | None
    classes: np.ndarray
    weighted: bool

    def gather(self, work: Any, *args: Any) -> list[Any]:
        """``work(block, *args)`` of every block."""
        sent = sent_once(self.client, list(args))
        return self._results([self.client.submit(_on, block, work, sent, pure=False) for block in self.blocks])

    def _results(self, futures: list[Future]) -> list[Any]:
        awaited(self.client, futures)
        return self.client.gather(futures)

    @property
    def rows(self) -> int:
        return sum(summary.rows for summary in self.summaries)

    @property
    def firsts(self) -> list[int]:
        """The number of each block's first row."""
        return np.cumsum([0] + [summary.rows for summary in self.summaries[:-1]]).tolist()

    def _of_class(self, field: str, value: Any) -> list[Any]:
        """A field of the summaries for one value of y, 0 for blocks without that value."""
        return [
            next((x for x, v in zip(getattr(s, field), s.values, strict=True) if v == value), 0)
            for s in self.summaries
        ]

    def sample(self, most: int, scenario: str, seed: int) -> tuple[Table, Index]:
        """At most ``most`` labelled and as many unlabelled rows, drawn at random, and their row numbers.

        In the censored scenario the ratio of the two matters, so both are sampled at one rate, at least one row each.
        """
        counts = np.array([self._of_class("counts", value) for value in self.classes]).T
        unlabelled, labelled = counts.sum(axis=0)
        rates = [min(1.0, most / unlabelled), min(1.0, most / labelled)]
        if scenario == "censored":
            rates = [min(1.0, 2 * most / (unlabelled + labelled))] * 2
        rates = [max(rate, 1.0 / count) for rate, count in zip(rates, (unlabelled, labelled), strict=True)]
        # 1e-9 more than the share, so that a single row is not lost to rounding
        wanted = np.diff(np.floor(np.cumsum(counts, axis=0) * rates + 1e-9), axis=0, prepend=0).astype(int)
        parts = self._results(
            [
                self.client.submit(_sampled, block, self.classes, wanted[k].tolist(), seed + k, pure=False)
                for k, block in enumerate(self.blocks)
            ]
        )
        X = rows_together([part.X for part, _ in parts])
        y = np.concatenate([part.y for part, _ in parts])
        weight = np.concatenate([part.weight for part, _ in parts]) if self.weighted else None
        rows = np.concatenate([rows + first for (_, rows), first in zip(parts, self.firsts, strict=True)])
        return Table.of(X, y, weight, square=False), rows

    def masses(self, scenario: str) -> Masses:
        """The weights of P and of the unlabelled sample."""
        tops = [float(max(self._of_class("tops", value))) for value in self.classes]
        top_p, top_u = tops[1], max(tops) if scenario == "censored" else tops[0]
        p, u = np.sum(self.gather(_masses, self.classes, scenario, top_p, top_u), axis=0)
        return Masses(top_p, float(p), top_u, float(u))

    def digest(self) -> str:
        """A digest of all blocks, computed on the workers."""
        return text_digest(self.gather(_digest))


def partitions(client: Client, X: Any, y: Any, sample_weight: Any = None) -> Partitions:
    """Load the table into the memory of the workers and check it."""
    columns, names = width_of(X)
    rows, sizes = row_parts(X), row_counts(X)
    here = not is_dask_collection(y) or not (sample_weight is None or is_dask_collection(sample_weight))
    if here and sizes is None:
        rows = list(dask.persist(*rows))
        sizes = [int(size) for size in client.gather(_computed(client, delayed_lengths(rows)))]
    labels = aligned(y, "y", len(rows), sizes)
    weights: list[Any] = [None] * len(rows)
    if sample_weight is not None:
        weights = aligned(sample_weight, "sample_weight", len(rows), sizes)
    blocks = _computed(
        client,
        [
            dask.delayed(checked_block, pure=False)(k, columns, part, label, weight)
            for k, (part, label, weight) in enumerate(zip(rows, labels, weights, strict=True))
        ],
    )
    summaries = client.gather([client.submit(_summary, block, pure=False) for block in blocks])
    for k, summary in enumerate(summaries):
        if summary.is_sparse != summaries[0].is_sparse:
            first, other = ("CSR", "dense") if summaries[0].is_sparse else ("dense", "CSR")
            raise ValueError(
                f"X must be dense or CSR throughout: partition 0 is {first}, partition {k} is {other}"
            )
    classes = np.unique(np.concatenate([summary.values for summary in summaries]))
    if len(classes) != 2:
        raise ValueError(
            "y must hold two values, the greater marking labelled positives and the other unlabelled rows; got "
            f"{len(classes)}: {classes[:5].tolist()}"
        )
    warn_of_text(classes)
    table = Partitions(client, blocks, summaries, columns, names, classes, sample_weight is not None)
    for value, name in zip(classes, ("unlabelled", "labelled positive"), strict=True):
        if not sum(table._of_class("counts", value)):
            raise ValueError(f"sample_weight leaves only one class: no {name} row has a positive weight")
    return table


def _computed(client: Client, values: list[Any]) -> list[Future]:
    futures = client.compute(values)
    awaited(client, futures)
    return futures


def parts_of(block: Block, classes: np.ndarray, scenario: str) -> tuple[Index, Index]:
    """The labelled rows of a block, and its rows of the unlabelled sample. Rows of weight zero are in neither."""
    counted = _counted(block)
    labelled = np.flatnonzero((block.y == classes[1]) & counted)
    return labelled, np.flatnonzero(counted if scenario == "censored" else (block.y == classes[0]) & counted)


def problem_of(
    block: Block, classes: np.ndarray, scenario: str, prior: float, lam: float, masses: Masses
) -> PUProblem:
    """The part of the problem that a block contributes."""
    labelled, unlabelled = parts_of(block, classes, scenario)
    of_p = weights_of(block, labelled, masses.top_p), masses.p
    of_u = weights_of(block, unlabelled, masses.top_u), masses.u
    return PUProblem.of_masses(prior, lam, labelled, unlabelled, of_p, of_u)


def weights_of(block: Block, rows: Index, top: float) -> Array:
    return np.ones(len(rows)) if block.weight is None else block.weight[rows] / top


def _counted(block: Block) -> Any:
    return np.ones(len(block.y), bool) if block.weight is None else block.weight > 0


def _on(block: Block, work: Any, args: list[Any]) -> Any:
    return work(block, *args)


def _masses(block: Block, classes: np.ndarray, scenario: str, top_p: float, top_u: float) -> list[float]:
    tops = zip(parts_of(block, classes, scenario), (top_p, top_u), strict=True)
    return [exact_sum(weights_of(block, rows, top)) for rows, top in tops]


def _sampled(block: Block, classes: np.ndarray, sizes: list[int], seed: int) -> tuple[Block, Index]:
    rng = np.random.default_rng(seed)
    kinds = [np.flatnonzero((block.y == value) & _counted(block)) for value in classes]
    parts = zip(kinds, sizes, strict=True)
    rows = np.sort(np.concatenate([rng.choice(rows, min(size, len(rows)), replace=False) for rows, size in parts]))
    return Block(block.X[rows], block.y[rows], None if block.weight is None else block.weight[rows]), rows


def _summary(block: Block) -> BlockSummary:
    values, counted = np.unique(block.y), _counted(block)
    kinds = [(block.y == value) & counted for value in values]
    weight = np.ones(len(block.y)) if block.weight is None else block.weight
    counts = [int(np.count_nonzero(kind)) for kind in kinds]
    tops = [float(weight[kind].max(initial=0.0)) for kind in kinds]
    return BlockSummary(len(block.y), values, counts, tops, bool(sparse.issparse(block.X)))


def _digest(block: Block) -> str:
    X = block.X
    parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    digest = hashlib.blake2b(digest_size=16)
    for part in (*parts, block.y, *([] if block.weight is None else [block.weight])):
        digest.update(np.ascontiguousarray(part).view(np.uint8).data)
    return digest.hexdigest()

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
from usmo.core.labels import Part, Risk, label_problem
from usmo.core.problem import Problem
from usmo.core.table import Table
from usmo.core.targets import LabelRule, known_values, label_rule
from usmo.core.weights import MOST_COUNTED, are_counts, shares_of
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

KINDS = (1, 0, -1)
"""Labelled positive, unlabelled, known negative: the values of y in a block."""


class BlockSummary(NamedTuple):
    """What the driver knows of a block: for each kind the rows of positive weight, their largest and total weight.

    ``counted`` says whether the weights are numbers of rows.
    """

    rows: int
    counts: list[int]
    tops: list[float]
    sums: list[float]
    counted: bool
    is_sparse: bool


class Recipe(NamedTuple):
    """What turns a block into its part of the problem. For P, the sample and N: the largest weight over all blocks, and
    the sum of weights divided by it."""

    risk: Risk
    prior: float
    lam: float
    tops: list[float]
    totals: list[float]


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

    def sample(self, most: int, scenario: str, seed: int) -> tuple[Table, Index]:
        """At most ``most`` labelled and as many unlabelled rows, drawn at random, and their row numbers.

        In the censored scenario the ratio of the two matters, so both are sampled at one rate, at least one row each.
        """
        counts = np.array([summary.counts for summary in self.summaries])
        total = counts.sum(axis=0)
        rates = [min(1.0, most / max(1, count)) for count in total]
        if scenario == "censored":
            rates = [min(1.0, 2 * most / total.sum())] * len(KINDS)
        rates = [max(rate, 1.0 / max(1, count)) for rate, count in zip(rates, total, strict=True)]
        # 1e-9 more than the share, so that a single row is not lost to rounding
        wanted = np.diff(np.floor(np.cumsum(counts, axis=0) * rates + 1e-9), axis=0, prepend=0).astype(int)
        parts = self._results(
            [
                self.client.submit(_sampled, block, wanted[k].tolist(), seed + k, pure=False)
                for k, block in enumerate(self.blocks)
            ]
        )
        X = rows_together([part.X for part, _ in parts])
        y = np.concatenate([part.y for part, _ in parts])
        weight = np.concatenate([part.weight for part, _ in parts]) if self.weighted else None
        rows = np.concatenate([rows + first for (_, rows), first in zip(parts, self.firsts, strict=True)])
        return Table.of(X, y, LabelRule(self.classes, 1, -1), weight, square=False), rows

    def recipe(self, risk: Risk, prior: float, lam: float) -> Recipe:
        """What turns a block into its part of the problem."""
        p, u, n = np.max([summary.tops for summary in self.summaries], axis=0).tolist()
        tops = [p, max(p, u, n) if risk.scenario == "censored" else u, n]
        totals = np.sum(self.gather(_masses, risk.scenario, tops), axis=0).tolist()
        return Recipe(risk, prior, lam, tops, totals)

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
    values = client.gather([client.submit(_values, block, pure=False) for block in blocks])
    rule = label_rule(np.unique(np.concatenate([some for some, _ in values])), any(lack for _, lack in values))
    blocks = [client.submit(_with_kinds, block, rule, pure=False) for block in blocks]
    summaries = client.gather([client.submit(_summary, block, pure=False) for block in blocks])
    for k, summary in enumerate(summaries):
        if summary.is_sparse != summaries[0].is_sparse:
            first, other = ("CSR", "dense") if summaries[0].is_sparse else ("dense", "CSR")
            raise ValueError(
                f"X must be dense or CSR throughout: partition 0 is {first}, partition {k} is {other}"
            )
    for k, name in enumerate(("labelled positive", "unlabelled")):
        if not sum(summary.counts[k] for summary in summaries):
            raise ValueError(f"sample_weight leaves only one class: no {name} row has a positive weight")
    weighted = sample_weight is not None
    if weighted and not _are_counts(summaries):  # a scale, as in usmo.core.weights
        largest = max(max(summary.tops) for summary in summaries)
        blocks = [client.submit(_scaled, block, largest, pure=False) for block in blocks]
        summaries = client.gather([client.submit(_summary, block, pure=False) for block in blocks])
    return Partitions(client, blocks, summaries, columns, names, rule.classes, weighted)


def _are_counts(summaries: list[BlockSummary]) -> bool:
    total = sum(sum(summary.sums) for summary in summaries)
    return total <= MOST_COUNTED and all(summary.counted for summary in summaries)


def _computed(client: Client, values: list[Any]) -> list[Future]:
    futures = client.compute(values)
    awaited(client, futures)
    return futures


def sample_of(block: Block, scenario: str) -> Index:
    """The rows of a block that the prior refers to."""
    counted = _counted(block)
    return np.flatnonzero(counted if scenario == "censored" else (block.y == 0) & counted)


def _parts(block: Block, scenario: str) -> list[Index]:
    """The rows of P, of the sample and of N. Rows of weight zero are in none."""
    labelled, negatives = (np.flatnonzero((block.y == kind) & _counted(block)) for kind in (1, -1))
    return [labelled, sample_of(block, scenario), negatives]


def problem_of(block: Block, recipe: Recipe) -> Problem:
    """The part of the problem that a block contributes."""
    parts = [
        Part(rows, weights_of(block, rows, top), total)
        for rows, top, total in zip(_parts(block, recipe.risk.scenario), recipe.tops, recipe.totals, strict=True)
    ]
    return label_problem(recipe.risk, recipe.prior, recipe.lam, *parts)


class SampleRows(NamedTuple):
    """Where the rows of the sample lie among those with c > 0, and what they weigh.

    Of ``weight`` only the ratios count. ``given`` are the weights of all rows of the block, as they were given.
    """

    place: Index
    weight: Array
    given: Array


def sample_rows(block: Block, problem: Problem, recipe: Recipe) -> SampleRows:
    """The sample of a block among the rows of its problem."""
    rows = sample_of(block, recipe.risk.scenario)
    given = np.broadcast_to(1.0, len(block.y)) if block.weight is None else block.weight
    return SampleRows(np.searchsorted(problem.c_rows, rows), weights_of(block, rows, recipe.tops[1]), given)


def weights_of(block: Block, rows: Index, top: float) -> Array:
    return np.ones(len(rows)) if block.weight is None else block.weight[rows] / top


def _counted(block: Block) -> Any:
    return np.ones(len(block.y), bool) if block.weight is None else block.weight > 0


def _on(block: Block, work: Any, args: list[Any]) -> Any:
    return work(block, *args)


def _masses(block: Block, scenario: str, tops: list[float]) -> list[float]:
    parts = zip(_parts(block, scenario), tops, strict=True)
    return [exact_sum(weights_of(block, rows, top)) for rows, top in parts]


def _sampled(block: Block, sizes: list[int], seed: int) -> tuple[Block, Index]:
    rng = np.random.default_rng(seed)
    kinds = [np.flatnonzero((block.y == kind) & _counted(block)) for kind in KINDS]
    parts = zip(kinds, sizes, strict=True)
    rows = np.sort(np.concatenate([rng.choice(rows, min(size, len(rows)), replace=False) for rows, size in parts]))
    return Block(block.X[rows], block.y[rows], None if block.weight is None else block.weight[rows]), rows


def _values(block: Block) -> tuple[np.ndarray, bool]:
    return known_values(block.y)


def _with_kinds(block: Block, rule: LabelRule) -> Block:
    return Block(block.X, rule.kinds(block.y), block.weight)


def _summary(block: Block) -> BlockSummary:
    counted = _counted(block)
    kinds = [(block.y == kind) & counted for kind in KINDS]
    weight = np.ones(len(block.y)) if block.weight is None else block.weight
    counts = [int(np.count_nonzero(kind)) for kind in kinds]
    tops = [float(weight[kind].max(initial=0.0)) for kind in kinds]
    with np.errstate(over="ignore"):  # such weights are a scale, and are summed again when they are divided by it
        sums = [float(weight[kind].sum()) for kind in kinds]
    return BlockSummary(len(block.y), counts, tops, sums, are_counts(weight), bool(sparse.issparse(block.X)))


def _scaled(block: Block, largest: float) -> Block:
    assert block.weight is not None
    return Block(block.X, block.y, shares_of(block.weight, largest))


def _digest(block: Block) -> str:
    X = block.X
    parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    digest = hashlib.blake2b(digest_size=16)
    for part in (*parts, block.y, *([] if block.weight is None else [block.weight])):
        digest.update(np.ascontiguousarray(part).view(np.uint8).data)
    return digest.hexdigest()

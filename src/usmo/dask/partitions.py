"""From Dask collections to blocks of rows on the workers: checked, with their labels and weights.

A block is one future: a chunk of a ``dask.array`` or a partition of a ``dask.dataframe``, dense or CSR, its labels
and its weights. Dask keeps it in the memory of a worker, and computes it again if that worker is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import dask
import numpy as np
from dask.base import is_dask_collection
from dask.utils import is_dataframe_like, is_series_like
from distributed import Client, Future, wait
from scipy import sparse

from usmo.dask.cluster import raise_errors
from usmo.problem import Array, Index, exact_sum
from usmo.table import Table


class Block(NamedTuple):
    """Rows with their labels and, if there are any, their weights."""

    X: Any
    y: np.ndarray
    weight: Array | None


class Facts(NamedTuple):
    """What the driver knows of a block."""

    rows: int
    values: np.ndarray
    counts: np.ndarray
    largest: float


@dataclass(frozen=True)
class Partitions:
    """The blocks of a training table, and what is known of all of them together."""

    client: Client
    blocks: list[Future]
    facts: list[Facts]
    columns: int
    names: list[str] | None
    classes: np.ndarray
    weighted: bool

    def gather(self, work: Any, *args: Any) -> list[Any]:
        """``work(block, *args)`` of every block."""
        return self.client.gather([self.client.submit(work, block, *args, pure=False) for block in self.blocks])

    def sample(self, most: int, scenario: str, seed: int) -> tuple[Table, Index]:
        """At most so many labelled and so many unlabelled rows, drawn at random, here; and which rows they are.

        In the censored scenario the shares of the two matter, and both are thinned alike.
        """
        counts = np.array([[int(f.counts[f.values == value].sum()) for value in self.classes] for f in self.facts])
        unlabelled, labelled = counts.sum(axis=0)
        rates = min(1.0, most / unlabelled), min(1.0, most / labelled)
        if scenario == "censored":
            rates = (min(1.0, 2 * most / (unlabelled + labelled)),) * 2
        wanted = np.diff(np.round(np.cumsum(counts * rates, axis=0)), axis=0, prepend=0).astype(int)
        found = self.client.gather(
            [
                self.client.submit(_sampled, block, self.classes, wanted[k].tolist(), seed + k, pure=False)
                for k, block in enumerate(self.blocks)
            ]
        )
        X = together([part.X for part, _ in found])
        y = np.concatenate([part.y for part, _ in found])
        weight = np.concatenate([part.weight for part, _ in found]) if self.weighted else None
        rows = np.concatenate([rows + first for (_, rows), first in zip(found, self.firsts, strict=True)])
        return Table.of(X, y, weight, square=False), rows

    @property
    def firsts(self) -> list[int]:
        """The number of each block's first row."""
        return np.cumsum([0] + [facts.rows for facts in self.facts[:-1]]).tolist()

    def masses(self, scenario: str) -> tuple[float, float, float]:
        """The largest weight, and in units of it the weight of P and of the unlabelled sample."""
        top = max(f.largest for f in self.facts)
        found = np.sum(self.gather(_masses, self.classes, top, scenario), axis=0)
        return top, float(found[0]), float(found[1])


def together(rows: list[Any]) -> Any:
    """Rows of several blocks in one piece."""
    return sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.concatenate(rows)


def parts_of(block: Block, classes: np.ndarray, scenario: str) -> tuple[Index, Index]:
    """The labelled rows of a block, and those of the unlabelled sample; rows of weight zero are in neither."""
    counted = np.ones(len(block.y), bool) if block.weight is None else block.weight > 0
    labelled = np.flatnonzero((block.y == classes[1]) & counted)
    return labelled, np.flatnonzero(counted if scenario == "censored" else (block.y == classes[0]) & counted)


def weights_of(block: Block, rows: Index, top: float) -> Array:
    return np.ones(len(rows)) if block.weight is None else block.weight[rows] / top


def _masses(block: Block, classes: np.ndarray, top: float, scenario: str) -> tuple[float, float]:
    labelled, unlabelled = parts_of(block, classes, scenario)
    return tuple(exact_sum(weights_of(block, rows, top)) for rows in (labelled, unlabelled))  # type: ignore[return-value]


def _sampled(block: Block, classes: np.ndarray, sizes: list[int], seed: int) -> tuple[Block, Index]:
    rng = np.random.default_rng(seed)
    kinds = [np.flatnonzero(block.y == value) for value in classes]
    parts = [
        rng.choice(rows, min(size, len(rows)), replace=False) for rows, size in zip(kinds, sizes, strict=True)
    ]
    rows = np.sort(np.concatenate(parts))
    return Block(block.X[rows], block.y[rows], None if block.weight is None else block.weight[rows]), rows


def partitions(client: Client, X: Any, y: Any, sample_weight: Any = None) -> Partitions:
    """Bring the table into the workers' memory, and check it."""
    columns, names = width_of(X)
    rows = row_parts(X)
    sizes = None
    if not is_dask_collection(y) or (sample_weight is not None and not is_dask_collection(sample_weight)):
        sizes = client.gather(client.compute([dask.delayed(_length)(part) for part in rows]))
    labels = _aligned(y, "y", rows, sizes)
    weights = (
        [None] * len(rows) if sample_weight is None else _aligned(sample_weight, "sample_weight", rows, sizes)
    )
    blocks = client.compute(
        [
            dask.delayed(_checked, pure=False)(k, columns, part, label, weight)
            for k, (part, label, weight) in enumerate(zip(rows, labels, weights, strict=True))
        ]
    )
    wait(blocks)
    raise_errors(blocks)
    facts = client.gather([client.submit(_facts, block, pure=False) for block in blocks])
    classes = np.unique(np.concatenate([f.values for f in facts]))
    if len(classes) != 2:
        raise ValueError(
            "y must hold two values, the greater marking labelled positives and the other unlabelled rows; got "
            f"{len(classes)}: {classes[:5].tolist()}"
        )
    found = Partitions(client, blocks, facts, columns, names, classes, sample_weight is not None)
    if sample_weight is not None:
        for k, what in ((1, "labelled positive"), (0, "unlabelled")):
            if not any(f.counts[f.values == classes[k]].sum() for f in facts):
                raise ValueError(f"sample_weight leaves only one class: no {what} row has a positive weight")
    return found


def width_of(X: Any) -> tuple[int, list[str] | None]:
    """The number of columns of a collection, and their names."""
    if is_dataframe_like(X):
        for name, kind in X.dtypes.items():
            if getattr(kind, "kind", "O") not in "biuf":
                raise ValueError(f"X must hold numbers, got column {name!r} of type {kind}")
        return len(X.columns), [str(name) for name in X.columns]
    if getattr(X, "ndim", 0) != 2 or np.isnan(X.shape[1]):
        raise ValueError(f"X must be a table of known width, got shape {getattr(X, 'shape', None)}")
    return int(X.shape[1]), None


def row_parts(X: Any) -> list[Any]:
    """The rows of a collection as delayed values, one per block."""
    if is_dataframe_like(X):
        return list(X.to_delayed())
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return list(X.to_delayed().ravel())


def _aligned(y: Any, name: str, rows: list[Any], sizes: list[int] | None) -> list[Any]:
    """Labels or weights in the same parts as the rows."""
    if not is_dask_collection(y):
        assert sizes is not None
        y = np.asarray(y)
        if y.shape != (sum(sizes),):
            raise ValueError(f"{name} must have one value per row, {sum(sizes)}; got shape {y.shape}")
        return np.split(y, np.cumsum(sizes)[:-1])
    parts = list(y.to_delayed()) if is_series_like(y) else list(y.to_delayed().ravel())
    if is_dataframe_like(y) or len(parts) != len(rows):
        raise ValueError(
            f"{name} must be one-dimensional and in the same {len(rows)} parts as X, got {len(parts)}: rechunk or "
            "repartition it"
        )
    return parts


def _length(part: Any) -> int:
    return int(part.shape[0])


def as_rows(part: Any, columns: int, where: str) -> Any:
    """A chunk or partition as an array or CSR matrix of floats, or an error that says which."""
    if is_dataframe_like(part):
        part = part.to_numpy(dtype=np.float64, na_value=np.nan)
    if sparse.issparse(part):
        part = part.tocsr()
        part.sum_duplicates()
    else:
        part = np.asarray(part)
    if part.ndim != 2 or part.shape[1] != columns:
        raise ValueError(f"{where} must have {columns} columns, got shape {part.shape}")
    if part.dtype not in (np.float32, np.float64):
        part = part.astype(np.float64)
    if not np.isfinite(part.data if sparse.issparse(part) else part).all():
        raise ValueError(f"{where} contains NaN or infinity")
    return part


def _checked(k: int, columns: int, part: Any, label: Any, weight: Any) -> Block:
    where = f"partition {k} of X"
    if part.shape[0] == 0:
        raise ValueError(f"{where} has no rows: repartition the table")
    X, y = as_rows(part, columns, where), np.asarray(label)
    if y.shape != (X.shape[0],):
        raise ValueError(f"y must have one value per row: {where} has {X.shape[0]} rows, y has shape {y.shape}")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError(f"y contains NaN, in partition {k}")
    if weight is not None:
        weight = np.asarray(weight, dtype=np.float64)
        if weight.shape != y.shape:
            raise ValueError(
                f"sample_weight must have one value per row: {where} has {len(y)}, not {weight.shape}"
            )
        if not (np.isfinite(weight).all() and (weight >= 0).all()):
            raise ValueError(f"sample_weight must be finite and not negative, which partition {k} is not")
    return Block(X, y, weight)


def _facts(block: Block) -> Facts:
    values = np.unique(block.y)
    counted = np.ones(len(block.y), bool) if block.weight is None else block.weight > 0
    counts = np.array([np.count_nonzero((block.y == value) & counted) for value in values])
    largest = 1.0 if block.weight is None else float(block.weight.max())
    return Facts(len(block.y), values, counts, largest)

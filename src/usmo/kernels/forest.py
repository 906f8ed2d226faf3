"""Trees that tell two kinds of rows apart, and the table of the leaves that rows fall into.

A forest is kept as plain arrays: it is traversed by our own loops, and model files hold no code. Trees are grown by
scikit-learn. Each one gets its own draw, with replacement, of as many rows of one kind as of the other. A draw depends
only on which rows there are, with what total weight, and on the seed: not on their order, nor on the number of threads.

Like scikit-learn's trees, ours compare float32 values with a float64 threshold. Larger numbers count as the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier

from usmo.core.arrays import Array, Index
from usmo.core.weights import effective_rows
from usmo.kernels.leaf_tiles import leaf_numbers, leaf_sums, node_sums
from usmo.kernels.row_sampling import distinct_rows, take_rows
from usmo.kernels.tables import tile_slices
from usmo.kernels.threads import over_tiles

MOST_TREES = 2**16 - 1
"""Counts of common leaves have 16 bits."""

MOST_LEAVES = 2**16
"""Leaf numbers have 16 bits."""

_MIN_LEAF = 3
"""Rows of a draw that a leaf has at least. 1, 3 and 5 are within 0.002 of mean AUC and 0.006 of mean F1 over 20 tables,
one draw each, and none is best in both (``python -m benchmarks.forest trees``); 3 makes fewer leaves than 1."""

_COLUMNS = "sqrt"
"""Columns tried for each split: the square root of their number. With the default λ, a third of the columns loses 0.003
of AUC and 0.002 of F1, all columns 0.005 and 0.014; with λ = 0.1 up to 0.002 and 0.007 (same benchmark)."""

_LEAST_DRAW = 16
"""Rows of each kind that a tree gets at least: of fewer labelled rows, each is drawn several times. At least 64 loses
0.002 to 0.006 of AUC with the default λ, at least 256 up to 0.009 (same benchmark)."""

_MOST_DRAW = MOST_LEAVES // 4
"""Rows of each kind that a tree gets at most: it has then at most 32,768 leaves."""

_LARGEST = np.finfo(np.float32).max

_SMALL = 2.0**-7
"""Columns whose values are all smaller are multiplied by a power of two while trees grow: scikit-learn's take values
that differ by 1e-7 for equal."""

_TINY = 1e-150
"""Columns whose numbers are all smaller count as constant: their inverse deviation might overflow."""


class Kind(NamedTuple):
    """Rows of one kind, ascending, and their weights."""

    rows: Index
    mass: Array


@dataclass(frozen=True)
class Forest:
    """Trees as arrays, one entry per node, tree after tree; the nodes of tree t are ``roots[t]`` to ``roots[t + 1]``.

    Rows with ``x[feature] <= threshold`` go on at the node ``left``, the others at ``right``. Both are greater than the
    node itself, and -1 in leaves. ``centre`` and ``scale`` standardise the columns: (x - centre)·scale.
    """

    roots: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: Array
    centre: Array
    scale: Array

    @property
    def n_trees(self) -> int:
        return len(self.roots) - 1

    @property
    def nodes(self) -> tuple[Any, ...]:
        """The arrays that compiled loops read."""
        return self.left, self.right, self.feature, self.threshold, self.roots

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        return self.left < 0

    @property
    def leaf_counts(self) -> Index:
        """The number of leaves of each tree."""
        return np.add.reduceat(self.is_leaf.astype(np.intp), self.roots[:-1])

    @property
    def numbers(self) -> NDArray[np.int32]:
        """The number of each leaf in its tree; of other nodes, of no meaning."""
        before: Index = np.cumsum(self.is_leaf) - self.is_leaf
        return (before - np.repeat(before[self.roots[:-1]], np.diff(self.roots))).astype(np.int32)

    @property
    def most_leaves(self) -> int:
        """The number of leaves of the largest tree."""
        return int(self.leaf_counts.max())

    def leaves(self, X: Any) -> Any:
        """The leaf number of each row in each tree, one line per tree, in 8 bits if they suffice."""
        dtype = np.uint8 if self.most_leaves <= 2**8 else np.uint16
        return leaf_numbers(_rows_of(X), X.shape[0], self, dtype)

    def standardised(self, X: Any) -> Array:
        """The columns of dense or sparse rows, standardised."""
        return ((X.toarray() if sparse.issparse(X) else X) - self.centre) * self.scale

    def table(self, X: Any, *, columns: bool) -> LeafTable:
        """The leaves of the rows, with standardised columns if they are asked for."""
        return LeafTable(self.leaves(X), self.standardised(X) if columns else None, X, self)

    def leaf_values(self, leaves: Any, alpha: Array, unit: float) -> Array:
        """unit·Σα over the rows in each leaf, leaf after leaf of all trees."""
        sums = leaf_sums(leaves, np.ascontiguousarray(alpha, dtype=np.float64), self.most_leaves)
        return unit * sums[np.arange(self.most_leaves) < self.leaf_counts[:, None]]

    def evaluate(self, X: Any, values: Array) -> Array:
        """Σ over trees of the value of the leaf of each row; ``values`` as from :meth:`leaf_values`."""
        at_nodes = np.zeros(len(self.left))
        at_nodes[self.is_leaf] = values
        return node_sums(_rows_of(X), X.shape[0], self, at_nodes)


@dataclass(frozen=True)
class LeafTable:
    """Rows as leaf numbers (trees × rows), perhaps with standardised columns; ``raw`` are the rows themselves."""

    leaves: Any
    columns: Any
    raw: Any
    forest: Forest

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of trees."""
        return self.leaves.shape[1], self.leaves.shape[0]

    def __getitem__(self, rows: Any) -> LeafTable:
        columns = None if self.columns is None else self.columns[rows]
        return LeafTable(np.ascontiguousarray(self.leaves[:, rows]), columns, self.raw[rows], self.forest)


def grow(X: Any, kinds: tuple[Kind, Kind], n_trees: int, seed: int) -> Forest:
    """Grow trees that tell rows of the first kind from those of the second."""
    drawn = [distinct_rows(X, *_scattered(X.shape[0], kind), seed) for kind in kinds]
    rows, exponents = _enlarged([_float32(take_rows(X, own)) for own, _ in drawn])
    masses = [mass for _, mass in drawn]
    size = int(np.clip(round(effective_rows(masses[0])), _LEAST_DRAW, _MOST_DRAW))
    ends = [np.cumsum(mass) / mass.sum() for mass in masses]
    y = np.repeat([1, 0], size)
    trees: list[Any] = [None] * n_trees

    def work(part: slice) -> None:
        for t in range(part.start, part.stop):
            rng = np.random.default_rng([seed, t])
            parts = [own[_draw(end, rng.random(size))] for own, end in zip(rows, ends, strict=True)]
            tree = DecisionTreeClassifier(
                min_samples_leaf=_MIN_LEAF, max_features=_COLUMNS, random_state=int(rng.integers(2**31))
            )
            trees[t] = tree.fit(np.concatenate(parts), y, check_input=False).tree_

    over_tiles(work, n_trees, 8)
    shares = np.concatenate([mass * (effective_rows(mass) / mass.sum()) for mass in masses])
    forest = _joined(trees, *_spread(X, np.concatenate([own for own, _ in drawn]), shares))
    return replace(forest, threshold=np.ldexp(forest.threshold, -exponents[forest.feature]))


def _scattered(n: int, kind: Kind) -> tuple[Index, Array]:
    """The rows of a kind, and their weights at their places in the table."""
    weight = np.zeros(n)
    weight[kind.rows] = kind.mass
    return kind.rows, weight


def _draw(ends: Array, at: Array) -> Index:
    """Rows drawn in proportion to their weights; ``ends`` are the cumulated shares, ``at`` lie in [0, 1)."""
    return np.minimum(np.searchsorted(ends, at, side="right"), len(ends) - 1)


def _enlarged(parts: list[NDArray[np.float32]]) -> tuple[list[NDArray[np.float32]], Index]:
    """The rows with small columns times powers of two, and the exponents: no digit is lost, and no tree changed."""
    size = np.max([np.maximum(part.max(axis=0), -part.min(axis=0)) for part in parts], axis=0)
    exponents = np.where((size > 0.0) & (size < _SMALL), -np.frexp(size)[1], 0)
    return ([np.ldexp(part, exponents) for part in parts] if exponents.any() else parts), exponents


def _joined(trees: list[Any], centre: Array, scale: Array) -> Forest:
    """The arrays of scikit-learn's trees, one tree after the other."""
    sizes = [tree.node_count for tree in trees]
    roots = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def children(name: str) -> NDArray[np.int32]:
        own = [getattr(tree, name) for tree in trees]
        shifted = [np.where(nodes < 0, -1, nodes + root) for nodes, root in zip(own, roots, strict=False)]
        return np.concatenate(shifted).astype(np.int32)

    left, right = children("children_left"), children("children_right")
    feature = np.concatenate([tree.feature for tree in trees]).astype(np.int32)
    threshold = np.concatenate([tree.threshold for tree in trees]).astype(np.float64)
    inner = left >= 0
    return Forest(roots, left, right, feature * inner, threshold * inner, centre, scale)


def _spread(X: Any, rows: Index, share: Array) -> tuple[Array, Array]:
    """The mean of each column and the inverse of its standard deviation, 0 for a constant column."""
    share = share / share.sum()
    size, mean, square = np.zeros((3, X.shape[1]))
    parts = [rows[part] for part in tile_slices(len(rows), X.shape[1])]
    shares = [share[part] for part in tile_slices(len(rows), X.shape[1])]
    for part in parts:
        size = np.maximum(size, np.abs(_dense(take_rows(X, part))).max(axis=0))
    size[size < _TINY] = 1.0
    for part, own in zip(parts, shares, strict=True):  # divided by the size, so that no square overflows
        mean += own @ (_dense(take_rows(X, part)) / size)
    for part, own in zip(parts, shares, strict=True):
        square += own @ (_dense(take_rows(X, part)) / size - mean) ** 2
    deviation = np.sqrt(square)
    varies = deviation > 8.0 * np.finfo(np.float64).eps * np.abs(mean)
    return mean * size, np.where(varies, 1.0 / np.where(varies, deviation, 1.0), 0.0) / size


def _rows_of(X: Any) -> Callable[[slice], Any]:
    """A function that returns float32 rows for a slice."""
    return lambda part: _float32(X[part])


def _float32(X: Any) -> Any:
    """Dense float32 rows."""
    X = X.toarray() if sparse.issparse(X) else X
    if X.dtype != np.float32:
        X = np.clip(X, -_LARGEST, _LARGEST).astype(np.float32)
    return np.ascontiguousarray(X)


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)

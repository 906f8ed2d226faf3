"""Compiled loops over trees: the leaf of each row, counts of common leaves by tiles, sums over leaves.

Leaf numbers lie tree by tree, ``leaves[t, i]`` for tree t and row i, so that those of one tree and many rows are
contiguous. The count of common leaves compares one number with a stretch of them, in vector registers.
With 300 trees that makes 0.25 to 0.5 of the entries per second of rbf with 10 columns (``python -m benchmarks.forest
tiles``); leaf numbers of 16 bits, for trees of more than 256 leaves, half as many.

A product of the kernel matrix with a vector needs no counts: the entries of the vector are added up in each leaf, and
each row adds up its leaves. That takes time in proportion to the rows, not to their pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.core.arrays import Array
from usmo.kernels.threads import over_tiles
from usmo.system.compilation import compiled

_WIDTH = 2048
"""Rows of a stretch: their counts and the numbers of eight trees stay in the first-level cache."""

_HEIGHT = 64
"""Rows compared with a stretch in one call. The numbers of 300 trees and a stretch stay in the second-level cache."""

_ROWS = 4096
"""Rows per thread and call when trees are traversed or leaves added up."""

_EIGHTS = 31
"""Groups of eight trees after which counts of 8 bits are added to those of 16 bits: 248 trees do not overflow them."""


@compiled
def _count(own, B, start, stop, few, counts):  # type: ignore[no-untyped-def]
    """counts[j] = number of trees t with own[t] == B[t, start + j]. ``few`` has the type of the leaves, whose
    comparison is vectorised only then; ``counts`` has 16 bits."""
    trees, n = B.shape[0], stop - start
    eights, one = trees // 8, few.dtype.type
    counts[:n] = 0
    for group in range(0, eights, _EIGHTS):
        few[:n] = 0
        for k in range(group, min(group + _EIGHTS, eights)):
            t = 8 * k
            a0, a1, a2, a3 = own[t], own[t + 1], own[t + 2], own[t + 3]
            a4, a5, a6, a7 = own[t + 4], own[t + 5], own[t + 6], own[t + 7]
            r0, r1, r2, r3, r4, r5, r6, r7 = (
                B[t, start:stop], B[t + 1, start:stop], B[t + 2, start:stop], B[t + 3, start:stop],
                B[t + 4, start:stop], B[t + 5, start:stop], B[t + 6, start:stop], B[t + 7, start:stop],
            )  # fmt: skip
            for j in range(n):
                few[j] += one(
                    one(r0[j] == a0) + one(r1[j] == a1) + one(r2[j] == a2) + one(r3[j] == a3)
                    + one(r4[j] == a4) + one(r5[j] == a5) + one(r6[j] == a6) + one(r7[j] == a7)
                )  # fmt: skip
        for j in range(n):
            counts[j] += few[j]
    for t in range(8 * eights, trees):
        a = own[t]
        row = B[t, start:stop]
        for j in range(n):
            counts[j] += np.uint16(row[j] == a)


@compiled
def _write_counts(A, B, first, last, unit, kept, out, slots):  # type: ignore[no-untyped-def]
    """out[slots[i], j] = kept·out[slots[i], j] + unit·(trees with a common leaf), j from first to last."""
    few, counts = np.empty(_WIDTH, B.dtype), np.empty(_WIDTH, np.uint16)
    for start in range(first, last, _WIDTH):
        stop = min(start + _WIDTH, last)
        for i in range(A.shape[0]):
            _count(A[i], B, start, stop, few, counts)
            row = out[slots[i], start:stop]
            if kept == 0:
                for j in range(stop - start):
                    row[j] = unit * counts[j]
            else:
                for j in range(stop - start):
                    row[j] = kept * row[j] + unit * counts[j]


@compiled
def _leaf(row, node, left, right, feature, threshold):  # type: ignore[no-untyped-def]
    """The leaf that a row reaches from a node."""
    while left[node] >= 0:
        node = left[node] if row[feature[node]] <= threshold[node] else right[node]
    return node


@compiled
def _find_leaves(X, left, right, feature, threshold, roots, number, out, first):  # type: ignore[no-untyped-def]
    """out[t, first + i] = number of the leaf of row i in tree t."""
    for t in range(len(roots) - 1):
        for i in range(X.shape[0]):
            out[t, first + i] = number[_leaf(X[i], roots[t], left, right, feature, threshold)]


@compiled
def _add_node_values(X, left, right, feature, threshold, roots, values, out):  # type: ignore[no-untyped-def]
    """out[i] += Σ over trees of the value of the leaf of row i."""
    for t in range(len(roots) - 1):
        for i in range(X.shape[0]):
            out[i] += values[_leaf(X[i], roots[t], left, right, feature, threshold)]


@compiled
def _add_in_leaves(leaves, v, sums, first, last):  # type: ignore[no-untyped-def]
    """sums[t, l] += Σ v[i] over rows i in leaf l of tree t, for trees from first to last."""
    for t in range(first, last):
        for i in range(leaves.shape[1]):
            sums[t, leaves[t, i]] += v[i]


@compiled
def _add_leaves(leaves, sums, out, first, last):  # type: ignore[no-untyped-def]
    """out[i] += Σ over trees of the sum in the leaf of row i, for rows from first to last."""
    for t in range(leaves.shape[0]):
        own = sums[t]
        for i in range(first, last):
            out[i] += own[leaves[t, i]]


def common_leaves(A: Any, B: Any, unit: float, out: Any, slots: Any, kept: float = 0.0) -> None:
    """Write unit·(trees with a common leaf) of rows A and B to ``out[slots]``, or add it to kept·out."""
    rows, units = np.ascontiguousarray(A.T), out.dtype.type([unit, kept])
    slots = np.asarray(slots, dtype=np.intp)
    down = -(-len(rows) // _HEIGHT)

    def work(part: slice) -> None:
        for tile in range(part.start, part.stop):
            i, j = _HEIGHT * (tile % down), _WIDTH * (tile // down)
            left = slice(i, i + _HEIGHT)
            _write_counts(rows[left], B, j, min(j + _WIDTH, B.shape[1]), units[0], units[1], out, slots[left])

    over_tiles(work, down * -(-B.shape[1] // _WIDTH), 4)


def leaf_sums(leaves: Any, v: Array, largest: int) -> Array:
    """Σ v over the rows in each leaf, one line per tree; ``largest`` is the number of leaves of the largest tree."""
    sums = np.zeros((leaves.shape[0], largest))
    over_tiles(lambda part: _add_in_leaves(leaves, v, sums, part.start, part.stop), leaves.shape[0], 32)
    return sums


def sums_over_leaves(leaves: Any, sums: Array) -> Array:
    """Σ over trees of the sum in the leaf of each row."""
    out = np.zeros(leaves.shape[1])
    over_tiles(lambda part: _add_leaves(leaves, sums, out, part.start, part.stop), len(out), _ROWS)
    return out


def leaf_numbers(take: Any, n: int, trees: Any, dtype: Any) -> Any:
    """The leaf of n rows in each tree. ``take`` returns float32 rows for a slice."""
    out, numbers = np.empty((len(trees.roots) - 1, n), dtype=dtype), trees.numbers

    def work(part: slice) -> None:
        _find_leaves(take(part), *trees.nodes, numbers, out, part.start)

    over_tiles(work, n, _ROWS)
    return out


def node_sums(take: Any, n: int, trees: Any, values: Array) -> Array:
    """Σ over trees of the value of the node in which each of n rows ends."""
    out = np.zeros(n)
    over_tiles(lambda part: _add_node_values(take(part), *trees.nodes, values, out[part]), n, _ROWS)
    return out

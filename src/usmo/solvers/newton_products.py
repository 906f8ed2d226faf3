"""Products with the rows of a table, by Numba, for CSR matrices and dense arrays of float32 or float64.

``CsrRows`` and ``DenseRows`` offer what the solver needs and nothing else: products with all rows (``dot``, ``sum``),
a small copy of chosen rows (``subset``), their Gram matrix, and passes of coordinate steps over chosen rows
(``sweep``). Values are read in their own type and added in float64; the table is never copied. Products over
all rows are split into row blocks for threads. Sums over rows are merged in the order of the blocks, so that
results do not depend on the schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array, Index, Mask
from usmo.kernels.dense_loops import add_weighted_rows, write_norms, write_products
from usmo.kernels.row_blocks import Features
from usmo.kernels.threads import over_tiles
from usmo.solvers import newton_sweeps as loops

BLOCKS = 4
"""Row blocks of a product over all rows, whatever the number of threads, so that sums do not depend on it."""

PARALLEL = 1_000_000
"""Entries from which a product is shared between threads: below, handing over costs more than it saves, above all
on a busy machine."""


class _Rows:
    """What both kinds of tables share: splitting into blocks, and the count of products.

    ``products`` counts passes over the entries: a product with all rows is 1, one with some rows their share, and a
    Gram matrix of m rows half of m products with them. The pass for the norms, made once, is not counted.
    """

    shape: tuple[int, int]
    norms: Array
    entries: int
    products: float

    def _counts(self, scale: _Rows | StoredRows | None, entries: int) -> None:
        self.entries, self.products = entries, 0.0
        self.whole: Any = self if scale is None else scale

    def count(self, entries: float) -> None:
        self.whole.products += entries / max(1, self.whole.entries)

    def _blocks(self) -> list[tuple[int, int]]:
        raise NotImplementedError

    def _dot(self, first: int, last: int, w: Array, out: Array) -> None:
        raise NotImplementedError

    def _sum(self, first: int, last: int, alpha: Array, out: Array) -> None:
        raise NotImplementedError

    def dot(self, w: Array) -> Array:
        """X w."""
        self.count(self.entries)
        out = np.empty(self.shape[0])
        self._each(lambda k, first, last: self._dot(first, last, w, out))
        return out

    def sum(self, alpha: Array) -> Array:
        """Xᵀ α. Rows with α = 0 are not read."""
        self.count(self.entries * (np.count_nonzero(alpha) / max(1, alpha.size)))

        parts: list[Array] = [np.empty(0)] * BLOCKS

        def work(k: int, first: int, last: int) -> None:
            parts[k] = np.zeros(self.shape[1])
            self._sum(first, last, alpha, parts[k])

        self._each(work)
        total = parts[0]
        for other in parts[1:]:
            if len(other):
                total += other
        return total

    def opened(self) -> Any:
        """The rows in memory."""
        return self

    def _sweep(self, *arguments: Any) -> tuple[float, float, float, int]:
        raise NotImplementedError

    def sweep(
        self, active: Index, seed: int, w: Array, sigma: Array, c: Array, beta: float, tau: float, missing: float,
        margin: float, scores: Array,
    ) -> tuple[float, float, float, Mask]:  # fmt: skip
        """Coordinate steps over the active rows, all with c > 0; updates w, σ and their scores in place.

        Rows that are (nearly) empty have equal scores. Their steps are shortened so that they share what is missing;
        otherwise the first of them would take it all.

        Returns Σb - Σσ, the slack that the rows had when they were visited, Σ c/2 of those that moved, and which
        rows are not settled by more than ``margin``.
        """
        kept = np.empty(active.size, np.bool_)
        share = tau * np.count_nonzero(self.norms <= tau)
        missing, slack, weight, touched = self._sweep(
            active, seed, w, sigma, c, beta, tau, share, missing, margin, kept, scores
        )
        self.count(touched + self.entries * (active.size / max(1, self.shape[0])))
        return missing, slack, weight, kept

    def _each(self, work: Callable[[int, int, int], None]) -> None:
        """Call ``work`` with the number, the first and the last row of each block, in threads if the table is large."""
        blocks = self._blocks() if self.entries >= PARALLEL else [(0, self.shape[0])]
        over_tiles(lambda part: work(part.start, *blocks[part.start]), len(blocks), 1)


class CsrRows(_Rows):
    """The rows of a CSR matrix."""

    def __init__(self, X: Any, stored: StoredRows | None = None) -> None:
        self.data, self.indices, self.indptr = X.data, X.indices, X.indptr
        self.shape = X.shape
        self._counts(stored, int(self.indptr[-1]))
        if stored is not None and stored.norms is not None:
            self.norms = stored.norms
        else:
            self.norms = np.empty(self.shape[0])
            loops.csr_norms(self.data, self.indptr, self.norms)

    def _blocks(self) -> list[tuple[int, int]]:
        ends = np.searchsorted(self.indptr, np.linspace(0, self.entries, BLOCKS + 1)[1:-1])
        return list(pairwise([0, *(int(end) for end in ends), self.shape[0]]))

    def _dot(self, first: int, last: int, w: Array, out: Array) -> None:
        loops.csr_dot(self.data, self.indices, self.indptr, first, last, w, out)

    def _sum(self, first: int, last: int, alpha: Array, out: Array) -> None:
        loops.csr_sum(self.data, self.indices, self.indptr, first, last, alpha, out)

    def _sweep(self, *arguments: Any) -> tuple[float, float, float, int]:
        return loops.csr_sweep(self.data, self.indices, self.indptr, self.norms, *arguments)

    def subset(self, chosen: Index) -> tuple[CsrRows, Index]:
        """A copy of chosen rows over the columns that they use, and these columns."""
        sizes = self.indptr[chosen + 1] - self.indptr[chosen]
        entries = int(sizes.sum())
        part = CsrRows.__new__(CsrRows)
        part.data, part.indices = np.empty(entries, self.data.dtype), np.empty(entries, np.int32)
        part.indptr = np.empty(chosen.size + 1, np.int64)
        place = np.full(self.shape[1], -1, np.int32)
        width = loops.csr_compact(
            self.data, self.indices, self.indptr, chosen, place, part.data, part.indices, part.indptr
        )
        part.shape, part.norms = (chosen.size, width), self.norms[chosen]
        part._counts(self.whole, entries)
        used = np.flatnonzero(place >= 0)
        columns = np.empty(width, np.int64)
        columns[place[used]] = used
        return part, columns

    def take(self, chosen: Index) -> Any:
        """A copy of chosen rows as a CSR matrix."""
        return sparse.csr_matrix((self.data, self.indices, self.indptr), shape=self.shape, copy=False)[chosen]

    def gram(self) -> Array:
        """X Xᵀ of all rows, for a small subset."""
        self.count(self.entries * self.shape[0] / 2)
        out = np.empty((self.shape[0], self.shape[0]))
        loops.csr_gram(self.data, self.indices, self.indptr, np.zeros(self.shape[1]), out)
        return out

    def moments(self, free: Array) -> Array:
        """XᵀX of the free rows, for few columns."""
        self.count(self.entries * free.mean())
        out = np.zeros((self.shape[1], self.shape[1]))
        loops.csr_moments(self.data, self.indices, self.indptr, free, out)
        return out


class DenseRows(_Rows):
    """The rows of a C-ordered array, less ``centre``. Because Σα = 0 the solution is the same; rounding is not."""

    def __init__(self, X: Array, centre: Array, stored: StoredRows | None = None) -> None:
        self.X, self.centre, self.shape = X, centre, X.shape
        self._counts(stored, X.size)
        if stored is not None and stored.norms is not None:
            self.norms = stored.norms
        else:
            self.norms = np.empty(self.shape[0])
            self._each(lambda k, first, last: write_norms(X, centre, first, last, self.norms))

    def _blocks(self) -> list[tuple[int, int]]:
        ends = [self.shape[0] * k // BLOCKS for k in range(BLOCKS + 1)]
        return list(pairwise(ends))

    def _dot(self, first: int, last: int, w: Array, out: Array) -> None:
        write_products(self.X, self.centre, first, last, w, out)

    def _sum(self, first: int, last: int, alpha: Array, out: Array) -> None:
        add_weighted_rows(self.X, self.centre, first, last, alpha, out)

    def _sweep(self, *arguments: Any) -> tuple[float, float, float, int]:
        return loops.dense_sweep(self.X, self.centre, self.norms, *arguments)

    def subset(self, chosen: Index) -> tuple[DenseRows, Index]:
        """As ``CsrRows.subset``, over all columns."""
        part = DenseRows.__new__(DenseRows)
        part.X, part.centre = self.X[chosen] - self.centre, np.zeros(self.shape[1])
        part.shape, part.norms = part.X.shape, self.norms[chosen]
        part._counts(self.whole, part.X.size)
        return part, np.arange(self.shape[1])

    def take(self, chosen: Index) -> Array:
        """A copy of chosen rows, not centred."""
        return self.X[chosen]

    def gram(self) -> Array:
        """X Xᵀ of all rows, for a small subset."""
        self.count(self.entries * self.shape[0] / 2)
        return self.X @ self.X.T

    def moments(self, free: Array) -> Array:
        """XᵀX of the free rows, for few columns."""
        self.count(self.entries * free.mean())
        X = self.X[free]
        return X.T @ X


class StoredRows:
    """Rows of a table on a disk, read for every product. Their norms and the count of products are kept."""

    def __init__(self, features: Features, centre: Array | None) -> None:
        self.features, self.centre, self.shape = features, centre, features.shape
        self.norms, self.entries, self.products = None, 1, 0.0
        rows = self.opened()
        self.norms, self.entries = rows.norms, rows.entries

    def opened(self) -> Any:
        """The rows in memory, or in a memory map."""
        return rows_of(self.features.read(slice(0, self.shape[0])), self.centre, self)

    def dot(self, w: Array) -> Array:
        """X w."""
        return self.opened().dot(w)

    def sum(self, alpha: Array) -> Array:
        """Xᵀ α. Nothing is read if α = 0."""
        return self.opened().sum(alpha) if alpha.any() else np.zeros(self.shape[1])

    def take(self, chosen: Index) -> Any:
        """A copy of chosen rows."""
        return self.features.take(chosen)


def rows_of(X: Any, centre: Array | None = None, stored: StoredRows | None = None) -> CsrRows | DenseRows:
    """The rows of a CSR matrix, or of an array less ``centre``; those of a stored table share its norms and counts."""
    if not isinstance(X, np.ndarray):
        return CsrRows(X, stored)
    return DenseRows(np.ascontiguousarray(X), np.zeros(X.shape[1]) if centre is None else centre, stored)

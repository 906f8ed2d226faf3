"""Kernel matrices of a table: blocks by matrix product, from dense or CSR rows, in bounded memory.

Every kernel value computed between rows of the table is counted; those with new rows (``cross_product`` and
``cross_block``) are not. :func:`prepared` makes the matrix that the block solver uses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array, Index
from usmo.kernels.kernel import Kernel, checked_block
from usmo.kernels.symmetric import add_panel, panels, symmetric_entries
from usmo.kernels.tables import (
    FAR_ABOVE,
    TILE_BYTES,
    centred,
    correct_near,
    rows_together,
    squared_distances_from,
    squared_norms,
    tile_slices,
    varying_columns,
    worth_dense,
)
from usmo.kernels.tiles import rbf_block, rbf_sums
from usmo.system.work import advance

_CENTRE_ABOVE = 4096.0
"""γ·max‖x‖² above which the expansion ‖x‖² + ‖y‖² - 2x·y loses more than 12 bits and rows are centred first."""

_FUSED_FROM = 2**16
"""Entries of an rbf block from which the compiled tiles are used. Below, loading them costs more than it saves."""

_PAIRED_FROM = 1024
"""Members from which a product with their own kernel matrix computes every entry once."""

_DENSE_COPY = 2**26
"""Entries up to which the block solver holds a sparse table dense: dense products are faster."""

_SIDE = math.isqrt(TILE_BYTES // 8)
"""Rows and columns of a square tile."""

_SMALL_BLOCK = 32
"""The diagonal of a callable or precomputed kernel is read from square blocks of this many rows."""

_SAMPLE = 512
"""Rows whose kernel values are computed in both float types to compare them."""

Rows = Index | slice
_Take = Callable[[slice], tuple[Any, Any]]
"""Returns the rows of a slice and their squared norms."""


class SourceRows(NamedTuple):
    """Rows of a table from which kernel rows are computed: in the table's float type, with squared norms for rbf."""

    rows: Any
    norms: Array


def stacked(parts: list[SourceRows]) -> SourceRows:
    """Rows of several shards, one after the other."""
    parts = [part for part in parts if part.rows.shape[0]]
    if len(parts) == 1:
        return parts[0]
    return SourceRows(rows_together([part.rows for part in parts]), np.concatenate([part.norms for part in parts]))


class KernelMatrix:
    """The kernel matrix of the rows of ``X``, never held whole.

    ``entries`` counts the kernel values computed so far. Products are made in ``dtype`` whatever the type of ``X``;
    only the tile in use is converted. For rbf, dense float64 rows far from the origin are centred; ``ready=True`` skips
    this.
    """

    prefers_products = False
    """True if a product with kernel rows costs less than computing those rows."""

    def __init__(self, X: Any, kernel: Kernel, dtype: Any = np.float64, *, ready: bool = False) -> None:
        self.kernel = kernel
        self.X = X
        self.dtype = np.dtype(dtype)
        self.entries = 0
        self._dense_tiles = sparse.issparse(X) and worth_dense(X) and kernel.name != "precomputed"
        self._shift: Array | None = None
        self._norms: Array = np.empty(0)
        self._far = False
        if kernel.name == "rbf":
            self._norms = squared_norms(X).astype(self.dtype)
            wide = self._norms.size and kernel.gamma * self._norms.max() > _CENTRE_ABOVE
            if wide and not ready and self.dtype == np.float64 and not sparse.issparse(X):
                self._shift = X.mean(axis=0, dtype=np.float64)
                self.X = np.asarray(X, dtype=np.float64) - self._shift
                self._norms = squared_norms(self.X)
            self._far = bool(kernel.gamma * self._norms.max(initial=0.0) > FAR_ABOVE)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def block(self, rows: Rows, cols: Rows) -> Array:
        """K[rows, cols]."""
        if self.kernel.name == "precomputed":
            part = self.X[rows][:, cols]
            block = part.toarray() if sparse.issparse(part) else np.array(part, dtype=self.dtype)
        else:
            norms = (self._norms[rows], self._norms[cols]) if self.kernel.name == "rbf" else None
            block = self._evaluate(self._take(rows), self._take(cols), norms)
        self.entries += block.size
        return block

    def rows_at(self, rows: Index) -> SourceRows:
        """Rows of this table, for kernel rows over it or over another table prepared alike."""
        return SourceRows(
            self._convert(self.X[rows]), self._norms[rows] if self.kernel.name == "rbf" else self._norms
        )

    def squared_norms_at(self, rows: Rows) -> Array:
        """‖x‖² of these rows as the rbf kernel uses them."""
        return self._norms[rows]

    def write_rows(self, sources: SourceRows, out: Array, slots: Index) -> None:
        """Write k(source i, all rows) into ``out[slots[i]]``."""
        rows, norms = self._converted(sources, slice(None))
        self.entries += rows.shape[0] * len(self)
        if self._fuses(rows.shape[0] * len(self)):
            rbf_block(rows, self._take(slice(None)), norms, self._norms, self.kernel.gamma, out, slots)
        elif self.kernel.name == "precomputed":
            out[slots] = rows
        elif len(self):
            out[slots] = self._evaluate(rows, self._take(slice(None)), (norms, self._norms))

    def product_with(self, sources: SourceRows, v: Array) -> Array:
        """Σ v[i]·k(row, source i) for all rows, tile by tile."""
        self.entries += len(self) * len(v)
        if self._fuses(len(self) * len(v)):
            return self._sums(self._own, len(self), lambda part: self._converted(sources, part), v)
        out = np.zeros(len(self))
        for right in tile_slices(len(v), _SIDE):
            rows, norms = self._converted(sources, right)
            for left in tile_slices(len(self), _SIDE):
                if self.kernel.name == "precomputed":
                    out[left] += rows[:, left].T @ v[right]
                else:
                    out[left] += self._evaluate(self._take(left), rows, (self._norms[left], norms)) @ v[right]
        return out

    def _converted(self, sources: SourceRows, part: slice) -> tuple[Any, Array]:
        """A slice of the sources, converted to this matrix's dtype and storage, and their norms."""
        rows = self._convert(sources.rows[part])
        if sparse.issparse(rows) and (self._dense or self.kernel.name == "precomputed"):
            rows = rows.toarray()
        # a copy, because arrays from another process are read-only and Numba would compile the loops again for them
        return rows, np.array(sources.norms[part])

    def _own(self, part: slice) -> tuple[Any, Array]:
        """Some rows of this table, and their norms."""
        return self._take(part), self._norms[part]

    def restrict(self, rows: Index, dtype: Any, n: int | None = None, centre: Array | None = None) -> KernelMatrix:
        """The kernel matrix of these rows alone, copied contiguously in the given float type.

        If they are one shard of ``n`` rows, ``centre`` is the mean of all n; see :func:`row_sums`.
        """
        X = self.X if np.array_equal(rows, np.arange(len(self))) else self.X[rows]
        if self.kernel.name == "precomputed":
            X = X[:, rows]
        columns = None
        if n is None:
            n = len(rows)
            columns = varying_columns(X) if self.kernel.name == "rbf" and not sparse.issparse(X) else None
            sums = row_sums(X, self.kernel, n)
            centre = None if sums is None else sums / max(1, n)
        return prepared(X, self.kernel, dtype, n, centre, columns)

    def diag(self, rows: Index) -> Array:
        """k(x, x) for the rows."""
        name, k = self.kernel.name, self.kernel
        if name == "rbf":
            return np.ones(len(rows))
        if name in ("linear", "poly", "sigmoid"):
            with np.errstate(over="ignore"):  # the caller checks for overflow
                return k.of_products(squared_norms(self._take(rows)))
        parts = [rows[i : i + _SMALL_BLOCK] for i in range(0, len(rows), _SMALL_BLOCK)]
        return np.concatenate([np.diagonal(self.block(part, part)) for part in parts])

    def rows(self, which: Index, cols: Index) -> Array:
        """K[which, cols] for few rows and many columns, without copying the table's rows.

        If most columns are needed, whole rows are computed from contiguous slices of the table and the columns are
        selected afterwards: gathering the rows first costs as much as the product itself.
        """
        if 2 * len(cols) < len(self):
            return self.block(which, cols)
        out = np.empty((len(which), len(self)), dtype=self.dtype)
        for part in tile_slices(len(self), max(self.X.shape[1], len(which))):
            out[:, part] = self.block(which, part)
        return out[:, cols]

    def product(self, rows: Index, cols: Index, v: Array) -> Array:
        """K[rows, cols] @ v for a vector or some columns v, tile by tile."""
        if self._fuses(len(rows) * len(cols)):
            self.entries += len(rows) * len(cols)
            return self._sums(
                lambda part: (self._take(rows[part]), self._norms[rows[part]]), len(rows),
                lambda part: (self._take(cols[part]), self._norms[cols[part]]), v,
            )  # fmt: skip
        out = np.zeros((len(rows), *v.shape[1:]))
        for right in tile_slices(len(cols), _SIDE):
            for left in tile_slices(len(rows), _SIDE):
                out[left] += self.block(rows[left], cols[right]) @ v[right]
        return out

    def paired_product(self, members: Index, others: Index, v: Array) -> tuple[Array, Array]:
        """K[members, members] @ v and K[others, members] @ v, for one or more columns v.

        Where the compiled tiles are used, an entry between two members is computed once.
        """
        if len(members) < _PAIRED_FROM or not self.has_panels(len(members)):
            return self.product(members, members, v), self.product(others, members, v)
        inner, outer = np.zeros(v.shape), np.zeros((len(others), *v.shape[1:]))
        for on_members, on_others in self.product_panels(members, others, v):
            inner += on_members
            outer += on_others
        return inner, outer

    def product_panels(
        self, members: Index, others: Index, v: Array, done: int = 0
    ) -> Iterator[tuple[Array, Array]]:
        """:meth:`paired_product` in parts that add up to it, one for each panel of members after the first ``done``."""
        (rows, norms), columns = self._converted(self.rows_at(members), slice(None)), v.reshape(len(v), -1)
        for panel in list(panels(len(members)))[done:]:
            inner = np.zeros(columns.shape)
            add_panel(rows, norms, self.kernel.gamma, columns, panel, inner)
            entries = symmetric_entries(panel, len(members))
            self.entries += entries
            outer = self.product(others, members[panel], v[panel])
            advance(entries + len(others) * (panel.stop - panel.start))
            yield inner.reshape(v.shape), outer

    def leaf_part(self, rows: Index, cols: Index, v: Array) -> Array:
        """What K[rows, cols] @ v has besides :meth:`rbf_part`: zero but for kernels of leaves."""
        return np.zeros((len(rows), *v.shape[1:]))

    def rbf_part(self) -> tuple[KernelMatrix | None, float]:
        """The Gaussian part of the matrix and its weight; None if there is none."""
        return (self, 1.0) if self.kernel.name == "rbf" else (None, 0.0)

    def cross_product(self, Y: Any, v: Array) -> Array:
        """K(Y, X) @ v for new rows Y, tile by tile."""
        if self._fuses(Y.shape[0] * len(self)):
            return self._sums(lambda part: self._new_rows(Y[part]), Y.shape[0], self._own, v)
        out = np.zeros(Y.shape[0])
        for left in tile_slices(Y.shape[0], _SIDE):
            A, squares = self._new_rows(Y[left])
            for right in tile_slices(len(self), _SIDE):
                norms = None if squares is None else (squares, self._norms[right])
                out[left] += self._evaluate(A, self._take(right), norms) @ v[right]
        return out

    def cross_block(self, Y: Any) -> Array:
        """K(Y, X) for new rows Y, as one block."""
        A, squares = self._new_rows(Y)
        return self._evaluate(A, self._take(slice(None)), None if squares is None else (squares, self._norms))

    @property
    def _dense(self) -> bool:
        """Whether rows reach the products dense."""
        return self._dense_tiles or not sparse.issparse(self.X)

    def _new_rows(self, Y: Any) -> tuple[Any, Array | None]:
        """Rows of another table converted and centred like those of this one, with their norms for rbf."""
        A = self._convert(Y)
        A = A.toarray() if sparse.issparse(A) and self._dense else A
        A = A if self._shift is None else A - self._shift
        return A, squared_norms(A) if self.kernel.name == "rbf" else None

    @property
    def has_tiles(self) -> bool:
        """Whether large blocks are computed by the compiled tiles, which take dense rows not too far out, rbf only."""
        return self.kernel.name == "rbf" and self._dense and not self._far

    def has_panels(self, members: int) -> bool:
        """Whether :meth:`product_panels` serves so many members, which it holds dense."""
        return self.has_tiles and (not sparse.issparse(self.X) or members * self.X.shape[1] <= _DENSE_COPY)

    def _fuses(self, entries: int) -> bool:
        return self.has_tiles and entries >= _FUSED_FROM

    def _sums(self, take: _Take, n: int, sources: _Take, v: Array) -> Array:
        """K(x, s) @ v for n rows x and rows s, both read by slices, by the compiled tiles."""
        columns = v.reshape(len(v), -1)
        sums = np.zeros((n, columns.shape[1]))
        for part in tile_slices(len(v), self.X.shape[1]):
            sums += rbf_sums(take, n, *sources(part), self.kernel.gamma, columns[part])
        return sums.reshape(n, *v.shape[1:])

    def float32_error(self, rows: Index) -> tuple[float, float]:
        """By how much kernel values of these rows are off in float32: the largest mean of a row, and deviation.

        Measured on a sample; not a number if float32 overflows. A mean adds up over many values, a deviation cancels.
        """
        if len(rows) > _SAMPLE:
            rows = np.random.default_rng(0).choice(rows, _SAMPLE, replace=False)
        with np.errstate(over="ignore", invalid="ignore"):
            single, double = (
                self.restrict(rows, dtype).block(slice(None), slice(None)) for dtype in (np.float32, np.float64)
            )
            error = single - double
            return float(np.abs(error.mean(axis=1)).max()), float(error.std(axis=1).max())

    def is_psd(self, rows: Index) -> bool:
        """False if 200 rows give a clearly negative eigenvalue; an error if values are infinite or not symmetric."""
        if self.kernel.surely_psd:
            return True
        sample = np.random.default_rng(0).permutation(rows)[:200]
        with np.errstate(over="ignore", invalid="ignore"):
            block = self.block(sample, sample)
        if not np.isfinite(block).all():
            raise ValueError(
                "the kernel is not finite on these rows: scale the columns of X, or change its parameters"
            )
        largest = float(np.abs(block).max())
        rounding = 16.0 * float(np.finfo(self.X.dtype if self.X.dtype == np.float32 else np.float64).eps)
        if np.abs(block - block.T).max() > max(1e-9, rounding) * largest:
            raise ValueError("the kernel must be symmetric, got k(x, y) that differs from k(y, x)")
        eigenvalues = np.linalg.eigvalsh(0.5 * (block + block.T))
        return bool(eigenvalues[0] >= -max(1e-9, len(sample) * rounding) * np.abs(eigenvalues).max())

    def _take(self, rows: Rows) -> Any:
        part = self._convert(self.X[rows])
        return part.toarray() if self._dense_tiles else part

    def _convert(self, A: Any) -> Any:
        return A.astype(self.dtype, copy=False)

    def _evaluate(self, A: Any, B: Any, norms: tuple[Array, Array] | None) -> Array:
        k = self.kernel
        if callable(k.name):
            return checked_block(k.name(A, B), (A.shape[0], B.shape[0]))
        if k.name != "rbf":
            norms = None
        fuses = not self._far and not sparse.issparse(A) and A.shape[0] * B.shape[0] >= _FUSED_FROM
        if norms is not None and fuses:
            return rbf_block(A, B, *norms, k.gamma)
        product = A @ B.T
        dots: Array = product.toarray() if sparse.issparse(product) else product
        if norms is not None:
            squares = squared_distances_from(dots, *norms)
            if self._far:
                correct_near(squares, A, B, norms, k.gamma)
            squares *= -k.gamma
            return np.exp(squares, out=squares)
        return k.of_products(dots)


def row_sums(X: Any, kernel: Kernel, n: int) -> Array | None:
    """Σx over one shard of ``n`` rows. The sums of all shards, divided by n, are the centre.

    None if rows are not centred: for other kernels than rbf, and for sparse tables too large to be held dense.
    """
    if kernel.name != "rbf" or not _fits_dense(X, kernel, n):
        return None
    if sparse.issparse(X):
        return np.asarray(X.astype(np.float64).sum(axis=0)).ravel()
    return X.sum(axis=0, dtype=np.float64)


def prepared(
    X: Any, kernel: Kernel, dtype: Any, n: int, centre: Array | None, columns: Index | None = None
) -> KernelMatrix:
    """The kernel matrix of one shard of ``n`` rows, prepared for the block solver; of some columns, or all.

    For rbf the rows are centred and scaled so that γ is 1: this loses the least to cancellation and fits every float
    type. Matrices prepared with the same n and centre can exchange rows (:class:`SourceRows`).
    """
    if sparse.issparse(X) and _fits_dense(X, kernel, n):
        X = X.toarray()
    if kernel.name == "rbf":
        scale, kernel = np.sqrt(kernel.gamma), replace(kernel, gamma=1.0)
        X = X * scale if centre is None else centred(X, centre, scale, dtype, columns)
    return KernelMatrix(X.astype(dtype, copy=False), kernel, dtype, ready=True)


def _fits_dense(X: Any, kernel: Kernel, n: int) -> bool:
    if not sparse.issparse(X):
        return True
    return kernel.name not in ("linear", "precomputed") and n * X.shape[1] <= _DENSE_COPY

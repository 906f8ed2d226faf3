"""Tables read by blocks of rows: arrays, CSR matrices, memory maps and directories of parts behind one interface.

The linear solver needs only sums over row blocks. So a table only has to know its shape and to return rows:
contiguous blocks for passes over everything, chosen rows for the small problems in between.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array, Index
from usmo.kernels.dense_loops import (
    add_weighted_rows,
    over_pieces,
    piece_rows,
    suits_loops,
    write_norms,
    write_products,
)
from usmo.kernels.tables import rows_together, squared_norms, worth_dense
from usmo.kernels.threads import over_tiles, scratch, single_blas
from usmo.system.extras import load_extra

_BLOCK_BYTES = 2 * 2**20
"""Size of a block as float64: small enough for the cache of one core."""

_WIDE = 200
"""Columns from which BLAS's own threads make the products of a block."""

_BROAD = 100
"""Columns from which blocks have at least 8,192 rows, so that products are large enough for BLAS."""

_GATHERED = 2**26
"""Entries up to which chosen rows are copied into memory."""

_HELD = 2**24
"""Entries up to which chosen rows of a sparse table are held dense."""


class Features(Protocol):
    """A table of n rows and r columns, read by blocks."""

    shape: tuple[int, int]

    def read(self, part: slice) -> Any:
        """Consecutive rows, dense or CSR, in any float type."""

    def take(self, rows: Index) -> Any:
        """Chosen rows (ascending), in memory."""


class ArrayFeatures:
    """An array, a memory map or a CSR matrix."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.shape = X.shape

    def read(self, part: slice) -> Any:
        return row_view(self.X, part) if sparse.issparse(self.X) else self.X[part]

    def take(self, rows: Index) -> Any:
        return self.X[rows]


def row_view(X: Any, part: slice) -> Any:
    """Consecutive rows of a CSR matrix that share its entries: SciPy's slices copy them."""
    first, last, _ = part.indices(X.shape[0])
    ends = X.indptr[first : last + 1]
    own = slice(ends[0], ends[-1]) if len(ends) else slice(0, 0)
    view = X.data[own], X.indices[own], ends - ends[:1] if len(ends) else np.zeros(1, X.indptr.dtype)
    return sparse.csr_matrix(view, shape=(max(0, last - first), X.shape[1]), copy=False)


class PartFeatures:
    """The ``.npy``, ``.npz`` or ``.parquet`` files of a directory in the order of their names, one after the other.

    Parts are opened when they are needed, ``.npy`` as memory maps. A Parquet part (extra ``parquet``) or a CSR part
    (``.npz``, as written by ``scipy.sparse.save_npz``) is read whole, and the last one read is kept. Either all parts
    are CSR or none is.

    Parameters
    ----------
    paths : sequence of Path
        The files, in the order of their rows; :meth:`directory` takes all of a folder.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        if not paths:
            raise ValueError("there must be at least one part, got none")
        self.paths = list(paths)
        self.is_sparse = self.paths[0].suffix == ".npz"
        for path in self.paths:
            if (path.suffix == ".npz") != self.is_sparse:
                raise ValueError(
                    f"parts must be dense or CSR throughout: {self.paths[0].name} is "
                    f"{'CSR' if self.is_sparse else 'dense'}, {path.name} is not"
                )
        shapes = [_part_shape(path) for path in self.paths]
        for path, shape in zip(self.paths, shapes, strict=True):
            if shape[1] != shapes[0][1]:
                raise ValueError(
                    f"parts must have equally many columns: {self.paths[0].name} has {shapes[0][1]}, "
                    f"{path.name} has {shape[1]}"
                )
        self.ends = np.cumsum([shape[0] for shape in shapes])
        self.shape = (int(self.ends[-1]), shapes[0][1])
        self.dtype = np.dtype(np.float64)
        self._lock = threading.Lock()
        self._open: tuple[int, Any] = (-1, None)

    @classmethod
    def directory(cls, folder: str | Path) -> PartFeatures:
        """All parts of a directory."""
        paths = sorted(path for path in Path(folder).glob("*") if path.suffix in (".npy", ".npz", ".parquet"))
        if not paths:
            raise FileNotFoundError(f"no .npy, .npz or .parquet files in {folder}")
        return cls(paths)

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, part: slice) -> Any:
        return self.take(np.arange(part.start, min(part.stop, self.shape[0])))

    def take(self, rows: Index) -> Any:
        which = np.searchsorted(self.ends, rows, side="right")
        pieces = []
        for k in np.unique(which):
            mine = rows[which == k] - (self.ends[k - 1] if k else 0)
            consecutive = len(mine) and mine[-1] - mine[0] == len(mine) - 1
            pieces.append(self._part(int(k))[slice(mine[0], mine[-1] + 1) if consecutive else mine])
        if not pieces:
            return sparse.csr_matrix((0, self.shape[1])) if self.is_sparse else np.empty((0, self.shape[1]))
        return pieces[0] if len(pieces) == 1 else rows_together(pieces)

    def spans(self) -> list[tuple[int, int]]:
        """The first row of each part, and the one after its last."""
        return list(pairwise([0, *self.ends.tolist()]))

    def _part(self, k: int) -> Any:
        with self._lock:
            if self._open[0] != k:
                self._open = (k, _open_part(self.paths[k]))
            return self._open[1]


def _part_shape(path: Path) -> tuple[int, int]:
    if path.suffix == ".npy":
        shape = np.load(path, mmap_mode="r", allow_pickle=False).shape
        if len(shape) != 2:
            raise ValueError(f"{path.name} must hold a table, got an array of shape {shape}")
        return shape
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as stored:
            if "format" not in stored or stored["format"].item() not in (b"csr", "csr"):
                raise ValueError(f"{path.name} must hold a CSR matrix written by scipy.sparse.save_npz")
            rows, columns = stored["shape"]
            return int(rows), int(columns)
    metadata = _parquet().ParquetFile(path).metadata
    return metadata.num_rows, metadata.num_columns


def _open_part(path: Path) -> Any:
    if path.suffix == ".npy":
        return np.load(path, mmap_mode="r", allow_pickle=False)
    if path.suffix == ".npz":
        X = sparse.load_npz(path).tocsr()
        X.sum_duplicates()
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    table = _parquet().read_table(path)
    return np.column_stack([column.to_numpy(zero_copy_only=False) for column in table.columns])


def _parquet() -> Any:
    return load_extra("pyarrow.parquet", "Parquet parts need pyarrow", "parquet")


class _Chosen:
    """Some rows of a table, fetched when they are read."""

    def __init__(self, features: Features, rows: Index) -> None:
        self.features, self.rows = features, rows
        self.shape = (len(rows), features.shape[1])

    def read(self, part: slice) -> Any:
        return self.features.take(self.rows[part])

    def take(self, rows: Index) -> Any:
        return self.features.take(self.rows[rows])


class Span:
    """Consecutive rows of a table, fetched when they are read."""

    def __init__(self, features: Features, first: int, last: int) -> None:
        self.features, self.first = features, first
        self.shape = (last - first, features.shape[1])

    def read(self, part: slice) -> Any:
        return self.features.read(slice(self.first + part.start, self.first + min(part.stop, self.shape[0])))

    def take(self, rows: Index) -> Any:
        return self.features.take(self.first + rows)


class Blocks:
    """Sums over the row blocks of some rows of a table, in threads.

    ``centre`` is subtracted from every row (dense tables only). For coefficients with Σ = 0 the result is unchanged,
    and cancellation is avoided.
    """

    def __init__(self, features: Features, rows: Index | None = None, centre: Array | None = None) -> None:
        if rows is not None and len(rows) * features.shape[1] > _GATHERED:
            features = _Chosen(features, rows)
        elif rows is not None:
            X = features.take(rows)
            if sparse.issparse(X) and worth_dense(X) and X.shape[0] * X.shape[1] <= _HELD:
                X = X.toarray()
            if not sparse.issparse(X):
                X = np.array(X, dtype=np.float64, order="C")
                if centre is not None:
                    X -= centre
                    centre = None
            features = ArrayFeatures(X)
        self.features = features
        self.n, self.r = features.shape
        self.is_sparse = isinstance(features, ArrayFeatures) and sparse.issparse(features.X)
        self.centre = centre
        step = max(8192 if self.r >= _BROAD else 256, _BLOCK_BYTES // (8 * max(1, self.r)))
        blocks = max(1, -(-self.n // step))
        if blocks > 1:  # an even number of equal blocks, for the threads
            blocks += blocks % 2
        self.step = max(1, -(-self.n // blocks))

    def part(self, rows: Index) -> Blocks:
        """Some of these rows."""
        return Blocks(self.features, rows, self.centre)

    def block(self, part: slice) -> Any:
        """Rows as float64, dense unless they are very sparse. Valid until the thread reads its next block."""
        X = self.features.read(part)
        if sparse.issparse(X):
            X = X.astype(np.float64, copy=False)
            return X.toarray() if worth_dense(X) else X
        if self.centre is None:
            return np.asarray(X, dtype=np.float64, order="C")
        out = scratch(X.size, np.dtype(np.float64)).reshape(X.shape)
        return np.subtract(X, self.centre, out=out)

    def each(self, work: Callable[[slice], None]) -> None:
        """Call ``work`` on every block; in threads where the table is narrow or sparse, without those of BLAS."""
        if self.r >= _WIDE and not self.is_sparse:
            for start in range(0, self.n, self.step):
                work(slice(start, min(start + self.step, self.n)))
        else:
            over_tiles(work, self.n, self.step)

    @property
    def _array(self) -> Array | None:
        """The table, if compiled loops read it."""
        X = self.features.X if isinstance(self.features, ArrayFeatures) else None
        return X if suits_loops(X) else None

    @property
    def _shift(self) -> Array:
        return np.zeros(self.r) if self.centre is None else self.centre

    def dot(self, w: Array) -> Array:
        """Every row times w."""
        out, X, shift = np.empty(self.n), self._array, self._shift

        def work(part: slice) -> None:
            out[part] = self.block(part) @ w

        if X is None:
            self.each(work)
        else:
            over_pieces(lambda first, last: write_products(X, shift, first, last, w, out), self.n)
        return out

    def squared_norms(self) -> Array:
        """‖x‖² of every row."""
        out, X, shift = np.empty(self.n), self._array, self._shift

        def work(part: slice) -> None:
            out[part] = squared_norms(self.block(part))

        if X is None:
            with np.errstate(over="ignore", invalid="ignore"):
                self.each(work)
        else:
            over_pieces(lambda first, last: write_norms(X, shift, first, last, out), self.n)
        return out

    def weighted_sum(self, alpha: Array) -> Array:
        """Σ alpha[i]·row i."""
        X, shift = self._array, self._shift
        sums = OrderedSum(self.step if X is None else piece_rows(self.n))

        def work(part: slice) -> None:
            sums.add(part, np.asarray(alpha[part] @ self.block(part)).ravel())

        def loop(first: int, last: int) -> None:
            part = np.zeros(self.r)
            add_weighted_rows(X, shift, first, last, alpha, part)
            sums.add(slice(first, last), part)

        if X is None:
            self.each(work)
        else:
            over_pieces(loop, self.n)
        return np.zeros(self.r) + sums.total


class OrderedSum:
    """A sum over blocks to which threads add. It is made in the order of the blocks, so it is reproducible."""

    def __init__(self, step: int) -> None:
        self.total: Any = 0.0
        self._step, self._next = step, 0
        self._early: dict[int, Any] = {}
        self._lock = threading.Lock()

    def add(self, part: slice, value: Any) -> None:
        with self._lock:
            self._early[part.start // self._step] = value
            while self._next in self._early:
                self.total = self.total + self._early.pop(self._next)
                self._next += 1


def steady_blas(r: int) -> AbstractContextManager[Any]:
    """Set BLAS threads for many ``Blocks.each``: changing their number takes as long as a pass over a small table."""
    return nullcontext() if r >= _WIDE else single_blas()


def as_features(X: Any) -> Features:
    """X if it is read by blocks already, else the array or CSR matrix as features."""
    return X if isinstance(X, PartFeatures) else ArrayFeatures(X)


def column_means(features: Features) -> Array | None:
    """The means of the columns of a dense table; None for a sparse one, which must stay sparse."""
    if sparse.issparse(features.read(slice(0, 1))):
        return None
    return Blocks(features).weighted_sum(np.full(features.shape[0], 1.0 / features.shape[0]))


def column_weights(features: Features, alpha: Array) -> Array:
    """Σ alpha[i]·row i for coefficients with Σ = 0, without cancellation where columns are far from zero."""
    return Blocks(features, centre=column_means(features)).weighted_sum(alpha)


def largest_row(table: Blocks) -> float:
    """The largest squared norm of a row, infinity if it overflows."""
    norms = table.squared_norms()
    return float(norms.max(initial=0.0)) if np.isfinite(norms).all() else np.inf

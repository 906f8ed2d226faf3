"""Fused tiles of the rbf kernel: product, distance and exp while the tile is in cache, threads over tiles.

    out[i, j] = exp(-γ·max(0, a2[i] + b2[j] - 2·A[i]·B[j]))

BLAS makes the products, single-threaded inside each tile; the exponential is a polynomial after Cody-Waite
reduction (degree 12 in float64, 6 in float32), written so that the compiler vectorises it: relative error
below 1e-15 and 3e-7. Threads come from a pool of ours, not from Numba's parallel backends, which abort on
concurrent calls or after a fork; their number is what threadpoolctl says BLAS may use.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from usmo._jit import compiled

_TILE_ROWS, _WIDE_TILE_ROWS, _WIDE = 64, 256, 200
"""Rows of a tile, below and above this many columns: few rows keep the tile in cache for the exponential, many
make BLAS pack the other side less often (d = 784: 64 rows take a quarter longer than 256)."""

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693145751953125, 1.42860682030941723212e-6
_F = np.float32

_VECTORISED = {"nnan", "ninf", "nsz", "contract"}
"""What lets the compiler vectorise; reassociation would fold the two parts of ln 2 into one."""


@compiled(fastmath=_VECTORISED)
def _finish64(D, a2, b2, gamma):  # type: ignore[no-untyped-def]
    for i in range(D.shape[0]):
        ai = a2[i]
        for j in range(D.shape[1]):
            x = max(-gamma * max(ai + b2[j] - 2.0 * D[i, j], 0.0), -708.0)
            k = np.floor(x * _LOG2_E + 0.5)
            r = (x - k * _LN2_HIGH) - k * _LN2_LOW
            p = 1.0 / 479001600.0
            p = p * r + 1.0 / 39916800.0
            p = p * r + 1.0 / 3628800.0
            p = p * r + 1.0 / 362880.0
            p = p * r + 1.0 / 40320.0
            p = p * r + 1.0 / 5040.0
            p = p * r + 1.0 / 720.0
            p = p * r + 1.0 / 120.0
            p = p * r + 1.0 / 24.0
            p = p * r + 1.0 / 6.0
            p = p * r + 0.5
            p = p * r + 1.0
            p = p * r + 1.0
            D[i, j] = p * np.int64((np.int64(k) + 1023) << 52).view(np.float64)


@compiled(fastmath=_VECTORISED)
def _finish32(D, a2, b2, gamma):  # type: ignore[no-untyped-def]
    for i in range(D.shape[0]):
        ai = a2[i]
        for j in range(D.shape[1]):
            x = max(-gamma * max(ai + b2[j] - _F(2.0) * D[i, j], _F(0.0)), _F(-87.0))
            k = np.floor(x * _F(_LOG2_E) + _F(0.5))
            r = (x - k * _F(_LN2_HIGH)) - k * _F(_LN2_LOW)
            p = _F(1.0 / 720.0)
            p = p * r + _F(1.0 / 120.0)
            p = p * r + _F(1.0 / 24.0)
            p = p * r + _F(1.0 / 6.0)
            p = p * r + _F(0.5)
            p = p * r + _F(1.0)
            p = p * r + _F(1.0)
            D[i, j] = p * np.int32((np.int32(k) + np.int32(127)) << np.int32(23)).view(np.float32)


@compiled
def _subtract_rows(G, rows, slots, weights, first, last):  # type: ignore[no-untyped-def]
    """G[first:last] -= Σ weights[k]·rows[slots[k], first:last], added up in float64."""
    for start in range(first, last, 2048):
        stop = min(start + 2048, last)
        for k in range(len(slots)):
            w = weights[k]
            row = rows[slots[k]]
            for j in range(start, stop):
                G[j] -= w * row[j]


def rbf_block(A: Any, B: Any, a2: Any, b2: Any, gamma: float, out: Any = None) -> Any:
    """The kernel block of dense rows A and B of one float type, with their squared norms."""
    if out is None:
        out = np.empty((A.shape[0], B.shape[0]), dtype=A.dtype)
    tile_rows = _WIDE_TILE_ROWS if A.shape[1] >= _WIDE else _TILE_ROWS
    finish = _finish64 if A.dtype == np.float64 else _finish32
    g = A.dtype.type(gamma)

    def by_rows(part: slice) -> None:
        np.dot(A[part], B.T, out=out[part])
        finish(out[part], a2[part], b2, g)

    def by_columns(part: slice) -> None:
        tile = A @ B[part].T
        finish(tile, a2, b2[part], g)
        out[:, part] = tile

    if A.shape[0] >= 2 * _TILE_ROWS:
        over_tiles(by_rows, A.shape[0], min(tile_rows, -(-A.shape[0] // 2)))
    else:
        over_tiles(by_columns, B.shape[0], max(256, 2**20 // max(1, A.shape[0] * A.shape[1])))
    return out


def subtract_rows(G: Any, rows: Any, slots: Any, weights: Any) -> None:
    """G -= weights @ rows[slots], without copying the rows."""
    work = G.shape[0] * len(slots)
    step = G.shape[0] if work < 2**18 else max(2048, G.shape[0] // 8)
    over_tiles(lambda part: _subtract_rows(G, rows, slots, weights, part.start, part.stop), G.shape[0], step)


def over_tiles(work: Callable[[slice], None], length: int, step: int) -> None:
    """Call ``work`` on consecutive slices, in threads if there is more than one slice and one core."""
    parts = [slice(k, min(k + step, length)) for k in range(0, length, step)]
    with _BLAS.single() as threads:
        if threads == 1 or len(parts) < 2:
            for part in parts:
                work(part)
        else:
            for _ in _pool(threads).map(work, parts):
                pass


class _Blas:
    """Holds BLAS at one thread while tiles are at work, whatever number of fits run at once."""

    def __init__(self) -> None:
        self._lock, self._users, self._threads = threading.Lock(), 0, 1
        self._controller: ThreadpoolController | None = None
        self._limit: Any = None

    @contextmanager
    def single(self) -> Iterator[int]:
        with self._lock:
            if self._controller is None:
                self._controller = ThreadpoolController()
            if self._users == 0:
                blas = self._controller.select(user_api="blas")
                cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
                self._threads = min([cores, *(m["num_threads"] for m in blas.info())])
                self._limit = blas.limit(limits=1)
                self._limit.__enter__()
            self._users += 1
        try:
            yield self._threads
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._limit.__exit__(None, None, None)


_BLAS = _Blas()
_POOLS: dict[tuple[int, int], ThreadPoolExecutor] = {}


def _pool(threads: int) -> ThreadPoolExecutor:
    """A pool of this process: one made before a fork has no threads after it."""
    key = (os.getpid(), threads)
    if key not in _POOLS:
        _POOLS[key] = ThreadPoolExecutor(threads, thread_name_prefix="usmo")
    return _POOLS[key]


def _after_fork() -> None:
    global _BLAS
    _BLAS = _Blas()
    _POOLS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

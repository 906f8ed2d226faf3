"""Fused tiles of the rbf kernel: product, distance and exp while the tile is in cache, threads over tiles.

    out[i, j] = exp(-γ·max(0, a2[i] + b2[j] - 2·A[i]·B[j]))

BLAS makes the products, single-threaded inside each tile. The exponential is a polynomial after Cody-Waite reduction
(degree 12 in float64, 6 in float32), written so that the compiler vectorises it; its relative error is below 1e-15 and
3e-7. Threads are those of :mod:`usmo.kernels.threads`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from usmo.kernels.threads import over_tiles, scratch
from usmo.system.compilation import compiled

WIDE = 200
"""Columns from which a table counts as wide."""

_WRITTEN, _SUMMED = (512, 512), {False: (1024, 256), True: (1024, 512)}
"""Shapes of tiles that are written, and of tiles that are summed for narrow and wide tables. Small tiles stay in cache
for the exponential; tall ones make BLAS pack its operands less often (d = 63: 64 × 4,096 takes 1.3 times as long)."""

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693145751953125, 1.42860682030941723212e-6
_SHIFT64, _SHIFT32 = 1.5 * 2.0**52, 1.5 * 2.0**23
"""Adding this constant rounds to an integer, which is then in the low bits."""
_F = np.float32

_PARTS = 16
"""Pieces into which the tiles of a block are split for the threads."""

_GROUP = 16
"""Rows that are added to one line of sums after the other."""

_VECTORISED = {"nnan", "ninf", "nsz", "contract"}
"""Flags that let the compiler vectorise. Reassociation is left out: it would fold the two parts of ln 2 into one."""


@compiled(fastmath=_VECTORISED)
def _exp64(x):  # type: ignore[no-untyped-def]
    x = max(x, -708.0)
    t = x * _LOG2_E + _SHIFT64
    k = t - _SHIFT64
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
    return p * np.int64((np.float64(t).view(np.int64) + 1023) << 52).view(np.float64)


@compiled(fastmath=_VECTORISED)
def _exp32(x):  # type: ignore[no-untyped-def]
    x = max(x, _F(-87.0))
    t = x * _F(_LOG2_E) + _F(_SHIFT32)
    k = t - _F(_SHIFT32)
    r = (x - k * _F(_LN2_HIGH)) - k * _F(_LN2_LOW)
    p = _F(1.0 / 720.0)
    p = p * r + _F(1.0 / 120.0)
    p = p * r + _F(1.0 / 24.0)
    p = p * r + _F(1.0 / 6.0)
    p = p * r + _F(0.5)
    p = p * r + _F(1.0)
    p = p * r + _F(1.0)
    return p * np.int32((np.float32(t).view(np.int32) + np.int32(127)) << np.int32(23)).view(np.float32)


# Each loop is written for one float type and one place of the result. The compiler does not vectorise loops that mix
# types, or where it cannot tell whether the result overwrites the products.


@compiled(fastmath=_VECTORISED)
def _finish64(D, a2, b2, gamma):  # type: ignore[no-untyped-def]
    """Turn products into kernel values, in place."""
    for i in range(D.shape[0]):
        ai = a2[i]
        for j in range(D.shape[1]):
            D[i, j] = _exp64(-gamma * max(ai + b2[j] - 2.0 * D[i, j], 0.0))


@compiled(fastmath=_VECTORISED)
def _finish32(D, a2, b2, gamma):  # type: ignore[no-untyped-def]
    for i in range(D.shape[0]):
        ai = a2[i]
        for j in range(D.shape[1]):
            D[i, j] = _exp32(-gamma * max(ai + b2[j] - _F(2.0) * D[i, j], _F(0.0)))


@compiled(fastmath=_VECTORISED)
def _write64(D, a2, b2, gamma, out, slots, first):  # type: ignore[no-untyped-def]
    """Turn products into kernel values in ``out[slots[i], first + j]``."""
    for i in range(D.shape[0]):
        ai = a2[i]
        row = out[slots[i], first : first + D.shape[1]]
        for j in range(D.shape[1]):
            row[j] = _exp64(-gamma * max(ai + b2[j] - 2.0 * D[i, j], 0.0))


@compiled(fastmath=_VECTORISED)
def _write32(D, a2, b2, gamma, out, slots, first):  # type: ignore[no-untyped-def]
    for i in range(D.shape[0]):
        ai = a2[i]
        row = out[slots[i], first : first + D.shape[1]]
        for j in range(D.shape[1]):
            row[j] = _exp32(-gamma * max(ai + b2[j] - _F(2.0) * D[i, j], _F(0.0)))


@compiled
def _add_weighted(sums, weights, rows, slots, first, last):  # type: ignore[no-untyped-def]
    """sums[first:last] += Σ weights[k]·rows[slots[k], first:last], added up in float64.

    Four rows at a time take a third of the time of one at a time: the sums are loaded and stored less often.
    """
    whole = len(slots) - len(slots) % 4
    for start in range(first, last, 2048):
        stop = min(start + 2048, last)
        part = sums[start:stop]
        for k in range(0, whole, 4):
            a, b, c, d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
            A, B = rows[slots[k], start:stop], rows[slots[k + 1], start:stop]
            C, D = rows[slots[k + 2], start:stop], rows[slots[k + 3], start:stop]
            for j in range(stop - start):
                part[j] += a * A[j] + b * B[j] + c * C[j] + d * D[j]
        for k in range(whole, len(slots)):
            w, row = weights[k], rows[slots[k], start:stop]
            for j in range(stop - start):
                part[j] += w * row[j]


def rbf_block(A: Any, B: Any, a2: Any, b2: Any, gamma: float, out: Any = None, slots: Any = None) -> Any:
    """The kernel block of dense rows A and B of one float type, with their squared norms.

    Row i is written to ``out[slots[i]]``; without ``slots`` to ``out[i]``.
    """
    if out is None:
        out = np.empty((A.shape[0], B.shape[0]), dtype=A.dtype)
    if slots is None:
        slots = np.arange(A.shape[0])
    high, wide = _WRITTEN
    high = min(high, A.shape[0])
    down = -(-A.shape[0] // high)
    write, g = _write64 if A.dtype == np.float64 else _write32, A.dtype.type(gamma)

    def work(part: slice) -> None:
        memory = scratch(high * wide, A.dtype)
        for tile in range(part.start, part.stop):
            i, j = high * (tile % down), wide * (tile // down)
            left, right = slice(i, i + high), slice(j, j + wide)
            products = _product(A[left], B[right], memory)
            write(products, a2[left], b2[right], g, out, slots[left], j)

    tiles = down * -(-B.shape[0] // wide)
    over_tiles(work, tiles, max(1, -(-tiles // _PARTS)))
    return out


def rbf_sums(take: Callable[[slice], tuple[Any, Any]], n: int, S: Any, s2: Any, gamma: float, weights: Any) -> Any:
    """Σ_s weights[s]·k(S[s], x) for n rows x, by tiles that are summed while they are in cache.

    ``take`` returns rows x and their squared norms for a slice. ``weights`` has one or more columns. The sums are
    float64 whatever the float type of S.
    """
    high, wide = _SUMMED[S.shape[1] >= WIDE]
    g = S.dtype.type(gamma)
    W = np.ascontiguousarray(weights.T, dtype=np.float64)
    sums, everyone = np.zeros((W.shape[0], n)), np.arange(high)

    def work(part: slice) -> None:
        X, x2 = take(part)
        memory = scratch(high * wide, S.dtype)
        mine = np.zeros((W.shape[0], X.shape[0]))
        for first in range(0, S.shape[0], high):
            rows = slice(first, first + high)
            tile = finish_tile(S[rows], X, s2[rows], x2, g, memory)
            if S.dtype == np.float64:
                mine += W[:, rows] @ tile
            else:  # BLAS would add up in float32
                for k in range(W.shape[0]):
                    _add_weighted(mine[k], W[k, rows], tile, everyone[: len(tile)], 0, tile.shape[1])
        sums[:, part] = mine

    over_tiles(work, n, wide)
    return sums.T


def finish_tile(A: Any, B: Any, a2: Any, b2: Any, gamma: Any, memory: Any) -> Any:
    """The kernel values of one tile, in scratch memory; γ has the float type of the rows."""
    tile = _product(A, B, memory)
    (_finish64 if A.dtype == np.float64 else _finish32)(tile, a2, b2, gamma)
    return tile


def _product(A: Any, B: Any, memory: Any) -> Any:
    tile = memory[: A.shape[0] * B.shape[0]].reshape(A.shape[0], B.shape[0])
    return np.dot(A, B.T, out=tile)


def add_rows(sums: Any, rows: Any, slots: Any, weights: Any) -> None:
    """sums += weights @ rows[slots] in float64, without copying the rows. Sums and weights have one or more lines."""
    each, n = list(zip(np.atleast_2d(sums), np.atleast_2d(weights), strict=True)), sums.shape[-1]

    def work(part: slice) -> None:
        for k in range(0, len(slots), _GROUP):  # in cache when the second line of sums reads them
            group = slice(k, k + _GROUP)
            for line, weight in each:
                _add_weighted(line, weight[group], rows, slots[group], part.start, part.stop)

    over_tiles(work, n, n if n * len(slots) < 2**18 else max(2048, -(-n // _PARTS)))

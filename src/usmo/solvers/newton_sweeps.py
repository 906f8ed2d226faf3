"""Numba kernels over the rows of CSR matrices and dense arrays: products, sweeps of coordinate steps, Gram matrices.

Values are read in their own type and added in float64. Kernels release the GIL and work on rows first … last - 1.
"""

from __future__ import annotations

import numpy as np

from usmo.core.arrays import Array, Index, Mask
from usmo.solvers.newton_loss import coordinate, row_slack, rows_kernel, settled

CHUNK = 64
"""Consecutive rows that a sweep visits in order. Chunks are visited in random order; single rows in random order
would be fetched from memory one by one, which takes three times as long."""

CHUNKS = 256
"""Least number of chunks of a sweep where there are enough rows: fewer would hardly be a random order."""


@rows_kernel
def _shuffle(order: Index, seed: int) -> None:
    """Permutes in place: a linear congruential generator, so that the order depends on the seed alone."""
    state = np.uint64(seed * 2 + 1)
    for i in range(order.size - 1, 0, -1):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        j = np.int64((state >> np.uint64(33)) % np.uint64(i + 1))
        order[i], order[j] = order[j], order[i]


@rows_kernel
def csr_norms(data: Array, indptr: Index, out: Array) -> None:
    for i in range(out.size):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += np.float64(data[p]) * np.float64(data[p])
        out[i] = total


@rows_kernel
def csr_dot(data: Array, indices: Index, indptr: Index, first: int, last: int, w: Array, out: Array) -> None:
    for i in range(first, last):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += data[p] * w[indices[p]]
        out[i] = total


@rows_kernel
def csr_sum(data: Array, indices: Index, indptr: Index, first: int, last: int, alpha: Array, out: Array) -> None:
    for i in range(first, last):
        a = alpha[i]
        if a != 0.0:
            for p in range(indptr[i], indptr[i + 1]):
                out[indices[p]] += a * data[p]


@rows_kernel
def _chunks(rows: int, seed: int) -> tuple[Index, int]:
    """The chunks of a sweep in random order, and their size."""
    size = max(1, min(CHUNK, rows // CHUNKS))
    chunks = np.arange((rows + size - 1) // size)
    _shuffle(chunks, seed)
    return chunks, size


@rows_kernel
def _length(norm: float, tau: float, share: float) -> float:
    """The length of a coordinate step. That of (nearly) empty rows is shortened by ``share``."""
    return 1.0 / (tau + (norm if norm > tau else max(norm, share)))


@rows_kernel
def csr_sweep(
    data: Array,
    indices: Index,
    indptr: Index,
    norms: Array,
    active: Index,
    seed: int,
    w: Array,
    sigma: Array,
    c: Array,
    beta: float,
    tau: float,
    share: float,
    missing: float,
    margin: float,
    kept: Mask,
    scores: Array,
) -> tuple[float, float, float, int]:
    """One pass of exact coordinate steps; ``missing`` is Σb - Σσ, which moves the intercept by τ·missing."""
    slack, weight, touched = 0.0, 0.0, 0
    chunks, size = _chunks(active.size, seed)
    for chunk in chunks:
        for k in range(chunk * size, min(active.size, (chunk + 1) * size)):
            i = active[k]
            first, last = indptr[i], indptr[i + 1]
            f = 0.0
            for p in range(first, last):
                f += data[p] * w[indices[p]]
            scores[i] = f
            f += beta + tau * missing
            new = coordinate(f, sigma[i], c[i], _length(norms[i], tau, share))
            step = new - sigma[i]
            kept[k] = step != 0.0 or not settled(f, new, c[i], margin)
            if step != 0.0:
                slack += row_slack(f, sigma[i], c[i])
                weight += 0.5 * c[i]
                touched += last - first
                sigma[i] = new
                missing -= step
                for p in range(first, last):
                    w[indices[p]] -= step * data[p]
    return missing, slack, weight, touched


@rows_kernel
def csr_compact(
    data: Array,
    indices: Index,
    indptr: Index,
    chosen: Index,
    place: Index,
    new_data: Array,
    new_indices: Index,
    new_indptr: Index,
) -> int:
    """Copies chosen rows and renumbers the columns in the order of their first entry; returns their number."""
    columns, count = 0, 0
    for k in range(chosen.size):
        new_indptr[k] = count
        for p in range(indptr[chosen[k]], indptr[chosen[k] + 1]):
            j = indices[p]
            if place[j] < 0:
                place[j] = columns
                columns += 1
            new_data[count] = data[p]
            new_indices[count] = place[j]
            count += 1
    new_indptr[chosen.size] = count
    return columns


@rows_kernel
def csr_gram(data: Array, indices: Index, indptr: Index, work: Array, out: Array) -> None:
    m = out.shape[0]
    for i in range(m):
        for p in range(indptr[i], indptr[i + 1]):
            work[indices[p]] += data[p]
        for j in range(i + 1):
            total = 0.0
            for p in range(indptr[j], indptr[j + 1]):
                total += data[p] * work[indices[p]]
            out[i, j] = total
            out[j, i] = total
        for p in range(indptr[i], indptr[i + 1]):
            work[indices[p]] = 0.0


@rows_kernel
def csr_moments(data: Array, indices: Index, indptr: Index, free: Array, out: Array) -> None:
    for i in range(free.size):
        if free[i]:
            for p in range(indptr[i], indptr[i + 1]):
                for q in range(indptr[i], indptr[i + 1]):
                    out[indices[p], indices[q]] += np.float64(data[p]) * data[q]


@rows_kernel
def dense_sweep(
    X: Array,
    centre: Array,
    norms: Array,
    active: Index,
    seed: int,
    w: Array,
    sigma: Array,
    c: Array,
    beta: float,
    tau: float,
    share: float,
    missing: float,
    margin: float,
    kept: Mask,
    scores: Array,
) -> tuple[float, float, float, int]:
    """As ``csr_sweep``."""
    slack, weight, touched = 0.0, 0.0, 0
    chunks, size = _chunks(active.size, seed)
    for chunk in chunks:
        for k in range(chunk * size, min(active.size, (chunk + 1) * size)):
            i = active[k]
            f = 0.0
            for j in range(X.shape[1]):
                f += (X[i, j] - centre[j]) * w[j]
            scores[i] = f
            f += beta + tau * missing
            new = coordinate(f, sigma[i], c[i], _length(norms[i], tau, share))
            step = new - sigma[i]
            kept[k] = step != 0.0 or not settled(f, new, c[i], margin)
            if step != 0.0:
                slack += row_slack(f, sigma[i], c[i])
                weight += 0.5 * c[i]
                touched += X.shape[1]
                sigma[i] = new
                missing -= step
                for j in range(X.shape[1]):
                    w[j] -= step * (X[i, j] - centre[j])
    return missing, slack, weight, touched

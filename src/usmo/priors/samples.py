"""Rows as the prior estimators see them: keys that do not depend on their order, sizes that respect weights."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array


def row_keys(X: Any, seed: int) -> np.ndarray:
    """A pseudo-random number per row that depends on the row's values only."""
    salt = int(seed).to_bytes(8, "little", signed=True)
    if sparse.issparse(X):
        X = X.tocsr().astype(np.float64)
        X.sum_duplicates()
        X.eliminate_zeros()
        parts = [slice(a, b) for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
        rows = [X.indices[p].astype(np.int64).tobytes() + X.data[p].tobytes() for p in parts]
    else:
        rows = [row.tobytes() for row in np.ascontiguousarray(X, dtype=np.float64) + 0.0]
    digests = b"".join(hashlib.blake2b(row, digest_size=8, key=salt).digest() for row in rows)
    return np.frombuffer(digests, dtype=np.uint64)


def smallest_keys(keys: np.ndarray, labelled: np.ndarray, most: int) -> np.ndarray:
    """At most ``most`` rows of each kind, a random sample by their keys."""
    parts = []
    for kind in (labelled, ~labelled):
        index = np.flatnonzero(kind)
        parts.append(index[np.argsort(keys[index], kind="stable")[:most]])
    return np.sort(np.concatenate(parts))


def effective_size(weight: Array, counts: bool) -> float:
    """Integer weights are numbers of equal rows; others give Kish's effective sample size."""
    total = float(weight.sum())
    return total if counts else total**2 / float(weight @ weight)

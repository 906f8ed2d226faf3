"""The two samples of a prior estimator; sizes that respect weights, and keys that do not depend on the row order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array


@dataclass(frozen=True)
class Sample:
    """Two weighted samples, P and U: rows of a table, or one-dimensional scores.

    ``integer_weights`` says that the weights are numbers of equal rows.
    """

    P: Any
    U: Any
    w_p: Array
    w_u: Array
    integer_weights: bool = True

    @property
    def sizes(self) -> tuple[float, float]:
        """Effective sizes of P and U."""
        return effective_size(self.w_p, self.integer_weights), effective_size(self.w_u, self.integer_weights)

    def resampled(self, rng: np.random.Generator) -> Sample:
        """A bootstrap draw of both, with weights 1."""
        draws: list[Any] = []
        for rows, weight in ((self.P, self.w_p), (self.U, self.w_u)):
            size = max(2, round(effective_size(weight, self.integer_weights)))
            draws.append(rows[np.sort(rng.choice(len(weight), size, p=weight / weight.sum()))])
        return Sample(*draws, *(np.ones(len(draw)) for draw in draws))


def row_keys(X: Any, seed: int) -> np.ndarray:
    """A pseudo-random number per row that depends only on the row's values and the seed."""
    salt = int(seed).to_bytes(8, "little", signed=True)
    if sparse.issparse(X):
        X = X.tocsr().astype(np.float64)
        X.sum_duplicates()
        X.eliminate_zeros()
        entries = [slice(a, b) for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
        rows = [X.indices[e].astype(np.int64).tobytes() + X.data[e].tobytes() for e in entries]
    else:
        # + 0.0 turns -0.0 into 0.0, so that equal rows have equal bytes
        rows = [row.tobytes() for row in np.ascontiguousarray(X, dtype=np.float64) + 0.0]
    digests = b"".join(hashlib.blake2b(row, digest_size=8, key=salt).digest() for row in rows)
    return np.frombuffer(digests, dtype=np.uint64)


def smallest_keys(keys: np.ndarray, labelled: np.ndarray, most: int) -> np.ndarray:
    """At most ``most`` labelled and ``most`` unlabelled rows: those with the smallest keys, a random sample."""
    samples = []
    for mask in (labelled, ~labelled):
        index = np.flatnonzero(mask)
        samples.append(index[np.argsort(keys[index], kind="stable")[:most]])
    return np.sort(np.concatenate(samples))


def effective_size(weight: Array, integer_weights: bool) -> float:
    """Sum of integer weights, which are numbers of equal rows; Kish's effective sample size for other weights."""
    total = float(weight.sum())
    return total if integer_weights else total**2 / float(weight @ weight)

"""Maps of rows to features whose products approximate a kernel.

Nyström: k(x, y) ≈ φ(x)·φ(y) with φ(x) = C⁻¹ k(L, x) for m landmark rows L and K_LL = CCᵀ, so that the model is a kernel
expansion over the landmarks. C is triangular: φ then takes half of the multiplications that K_LL^(-1/2) would. Random
Fourier features: φ(x) = √(2/m)·cos(Wx + b) for the rbf kernel, with W drawn from its spectrum.

Landmarks are drawn by k-means++ from ten rows per landmark. Risk above the exact minimum, relative to that of uniform
landmarks (geometric mean over four tables, ``python -m benchmarks.landmarks``):

    landmarks                             200       1,000
    k-means++ from ten rows per landmark  0.77      0.28
    k-means++ from all rows               0.64      0.15
    ridge leverage scores                 0.75      0.13

Most of that is shuttle: on the other tables the three are within a tenth of each other, and up to a quarter better than
uniform landmarks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas, lapack
from sklearn.cluster import kmeans_plusplus
from sklearn.kernel_approximation import RBFSampler

from usmo.core.arrays import Array, Index
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.row_blocks import ArrayFeatures, Features
from usmo.kernels.row_sampling import distinct_rows
from usmo.kernels.threads import over_tiles
from usmo.system.memory import free_bytes

_HELD = 2**27
"""Entries of mapped features (1 GB) that are always computed once and kept, in float64. More are kept in float32: the
solver reads them many times, and takes half as long. They are rounded after they are computed, so that f changes by
some 1e-7 of ‖w‖."""

_BLOCK = 512
"""Rows that a thread maps at once. 8,192 rows with the threads of BLAS take 1.2 to 2 times as long."""

_PER_LANDMARK = 10
"""Rows per landmark that k-means++ draws from."""

_SMALLEST = 1e-12
"""A landmark is left out if its squared distance from the span of the others is below this share of the largest
k(x, x)."""


class NystroemMap:
    """φ for given landmarks. f = φ·w is the kernel expansion with ``coefficients(w)`` over them.

    Landmarks that are combinations of others, up to rounding, have no part in it.
    """

    def __init__(self, kernel: Kernel, landmarks: Any) -> None:
        everything = np.arange(landmarks.shape[0])
        K = KernelMatrix(landmarks, kernel).block(everything, everything)
        factor, order, rank, _ = lapack.dpstrf(K, tol=_SMALLEST * float(K.diagonal().max()), lower=1)
        self.kept, self.count = order[:rank] - 1, len(everything)
        self.matrix = KernelMatrix(landmarks[self.kept], kernel)
        inverse = lapack.dtrtri(factor[:rank, :rank], lower=1)[0] if rank else np.empty((0, 0))
        self.inverse = np.asfortranarray(np.tril(inverse))

    @property
    def width(self) -> int:
        return len(self.kept)

    def transform(self, X: Any) -> Array:
        values = np.asarray(self.matrix.cross_block(X), dtype=np.float64)
        return blas.dtrmm(1.0, self.inverse, values.T, lower=1, overwrite_b=1).T if values.size else values

    def coefficients(self, w: Array) -> Array:
        """α of all landmarks."""
        alpha = np.zeros(self.count)
        alpha[self.kept] = self.inverse.T @ w
        return alpha


class FourierMap:
    """Random Fourier features by scikit-learn's RBFSampler."""

    def __init__(self, kernel: Kernel, n_components: int, columns: int, seed: int) -> None:
        self.sampler = RBFSampler(gamma=kernel.gamma, n_components=n_components, random_state=seed)
        self.sampler.fit(np.zeros((1, columns)))

    @property
    def width(self) -> int:
        return int(self.sampler.n_components)

    def transform(self, X: Any) -> Array:
        return self.sampler.transform(X)


class MappedFeatures:
    """The rows of a table after a map, computed block by block when they are read."""

    def __init__(self, X: Any, mapped: Any) -> None:
        self.X, self.map = X, mapped
        self.shape = (X.shape[0], mapped.width)

    def read(self, part: slice) -> Array:
        return self.map.transform(self.X[part])

    def take(self, rows: Index) -> Array:
        return self.map.transform(self.X[rows])


def mapped_features(X: Any, mapped: Any, most: int | None = None) -> Features:
    """Mapped rows, kept in memory if ``most`` float64 numbers would need as much, else computed when they are read.

    By default a quarter of the free memory is used, but at least 1 GB.
    """
    features = MappedFeatures(X, mapped)
    entries = features.shape[0] * features.shape[1]
    room = max(_HELD, free_bytes() // 32) if most is None else most
    if entries > 2 * room:
        return features
    out = np.empty(features.shape, dtype=np.float64 if entries <= min(room, _HELD) else np.float32)

    def work(part: slice) -> None:
        out[part] = features.read(part)

    over_tiles(work, features.shape[0], _BLOCK)
    return ArrayFeatures(out)


def choose_landmarks(X: Any, rows: Index, n_components: int, seed: int, weight: Array | None = None) -> Index:
    """Choose landmarks among the distinct ones of ``rows`` of X by k-means++ on a sample of them."""
    sample, mass = distinct_rows(X, rows, weight, seed, _PER_LANDMARK * n_components)
    if len(sample) <= n_components:
        return np.sort(sample)
    _, chosen = kmeans_plusplus(X[sample].astype(np.float64), n_components, sample_weight=mass, random_state=seed)
    return np.sort(sample[np.unique(chosen)])

"""Low-rank approximations of a kernel: mapped features for the linear solver, and how far off they are.

Nyström: k(x, y) ≈ φ(x)·φ(y) with φ(x) = K_LL^(-1/2) k(L, x) for m landmark rows L, so that the model is a kernel
expansion over the landmarks. Random Fourier features: φ(x) = √(2/m)·cos(Wx + b) for the rbf kernel, W drawn from
its spectrum.

Landmarks are drawn by k-means++ from ten rows per landmark. The risk they leave above the exact minimum, over
that of uniform landmarks (geometric mean over four tables, ``python -m benchmarks.landmarks``), for 200 and 1,000
of them: 0.77 and 0.28; k-means++ over all rows 0.64 and 0.15; ridge leverage scores 0.75 and 0.13. Most of that is
shuttle: elsewhere the three are within a tenth of each other, and up to a quarter better than uniform.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import kmeans_plusplus
from sklearn.kernel_approximation import RBFSampler

from usmo.core.arrays import Array, Index
from usmo.core.problem import PUProblem
from usmo.fitting.kernel import train
from usmo.fitting.linear import LinearFit, train_linear
from usmo.kernels.matrix import Kernel, KernelMatrix
from usmo.kernels.row_blocks import ArrayFeatures, Blocks, Features
from usmo.solvers.stopping import Progress

_HELD = 2**27
"""Entries of mapped features up to which they are computed once and kept whatever memory is free, 1 GB."""

_PER_LANDMARK = 10
"""Rows that k-means++ looks at, per landmark."""

_COMPARED = 4000
"""Unlabelled rows of the sample on which the exact fit is made for comparison."""

_SMALLEST = 1e-12
"""Share of the largest eigenvalue of K_LL below which its directions are left out."""


@dataclass(frozen=True)
class Approximation:
    """An approximate fit against an exact one, both made on the same sample of the rows.

    Attributes
    ----------
    kind : str
        "nystroem" or "rff".
    n_components : int
        Features used.
    n_compared : int
        Unlabelled rows of the sample.
    exact_objective, objective : float
        The regularised PU risk that the exact fit and the approximate one reach on the sample. With "nystroem"
        both are values of the same function, of which the first is the minimum.
    mean_difference : float
        Of the two decision functions, over the sample.
    changed : float
        Share of the sample whose class differs.
    """

    kind: str
    n_components: int
    n_compared: int
    exact_objective: float
    objective: float
    mean_difference: float
    changed: float


class NystroemMap:
    """φ for given landmarks; f = φ·w is the expansion ``coefficients(w)`` over them."""

    def __init__(self, kernel: Kernel, landmarks: Any) -> None:
        self.matrix = KernelMatrix(landmarks, kernel)
        everything = np.arange(landmarks.shape[0])
        values, vectors = np.linalg.eigh(self.matrix.block(everything, everything))
        kept = values > _SMALLEST * values[-1]
        self.root = vectors[:, kept] / np.sqrt(values[kept])

    @property
    def width(self) -> int:
        return self.root.shape[1]

    def transform(self, X: Any) -> Array:
        return self.matrix.cross_block(X) @ self.root

    def coefficients(self, w: Array) -> Array:
        return self.root @ w


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


def _spare_numbers() -> int:
    """As many numbers as fit into a quarter of the memory that is free, 0 where the system does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 32
    except (AttributeError, OSError, ValueError):
        return 0


def mapped_features(X: Any, mapped: Any, most: int | None = None) -> Features:
    """Mapped rows: held in memory if they are at most so many numbers, else computed when they are read."""
    features = MappedFeatures(X, mapped)
    if features.shape[0] * features.shape[1] > (max(_HELD, _spare_numbers()) if most is None else most):
        return features
    out = np.empty(features.shape)
    blocks = Blocks(features)

    def work(part: slice) -> None:
        out[part] = features.read(part)

    blocks.each(work)
    return ArrayFeatures(out)


def chosen_landmarks(X: Any, rows: Index, n_components: int, seed: int) -> Index:
    """Rows of X for landmarks, by k-means++ on a sample of ``rows``."""
    rng = np.random.default_rng(seed)
    count = min(n_components, len(rows))
    sample = np.sort(rng.choice(rows, min(len(rows), _PER_LANDMARK * count), replace=False))
    _, chosen = kmeans_plusplus(X[sample].astype(np.float64), count, random_state=seed)
    return np.sort(sample[np.unique(chosen)])


@dataclass(frozen=True)
class ApproximateFit:
    """The fit of mapped features, the map, and for "nystroem" the rows that are its landmarks."""

    fit: LinearFit
    map: Any
    landmarks: Index | None
    comparison: Approximation

    def expansion(self, X: Any) -> dict[str, Any]:
        return expansion(self.map, self.fit.coef, X, self.landmarks)


def expansion(mapped: Any, coef: Array, X: Any, landmarks: Index | None) -> dict[str, Any]:
    """The fitted attributes that make up f: support vectors for "nystroem", the map for "rff"."""
    if landmarks is None:
        return {"_map": mapped, "_map_coef": coef}
    return {
        "support_": landmarks,
        "support_vectors_": X[landmarks],
        "dual_coef_": mapped.coefficients(coef)[None, :],
    }


def check(model: Any) -> None:
    """Refuse parameters of a PUSVC that do not go with its approximation."""
    kind = model.approximation
    if model.kernel in ("linear", "precomputed") or (kind == "rff" and model.kernel != "rbf"):
        accepted = "kernel='rbf'" if kind == "rff" else "a kernel evaluated on rows, not the linear one"
        raise ValueError(f"approximation={kind!r} needs {accepted}; got kernel={model.kernel!r}")
    if model.solver not in ("auto", "interior-point"):
        raise ValueError(f"approximation={kind!r} is fitted by the interior point; got solver={model.solver!r}")
    for name in ("checkpoint", "warm_start"):
        if getattr(model, name):
            raise ValueError(f"{name} does not work with approximation={kind!r}")


def approximate(
    problem: PUProblem,
    X: Any,
    kernel: Kernel,
    kind: str,
    n_components: int,
    *,
    seed: int = 0,
    tol: float = 1e-3,
    max_iter: int = -1,
    max_time: float | None = None,
    progress: Progress | None = None,
) -> ApproximateFit:
    """Fit on mapped features, and compare with an exact fit on a sample."""
    landmarks: Index | None = None
    if kind == "nystroem":
        used = np.union1d(problem.positives, problem.unlabelled)
        landmarks = chosen_landmarks(X, used, n_components, seed)
        mapped: Any = NystroemMap(kernel, X[landmarks])
    else:
        mapped = FourierMap(kernel, n_components, X.shape[1], seed)
    fit = train_linear(
        problem, mapped_features(X, mapped), tol=tol, max_iter=max_iter, max_time=max_time, progress=progress
    )
    return ApproximateFit(fit, mapped, landmarks, compared(problem, X, kernel, kind, mapped, tol, seed))


def compared(
    problem: PUProblem, X: Any, kernel: Kernel, kind: str, mapped: Any, tol: float, seed: int
) -> Approximation:
    """How far off the map is: an exact fit and one of mapped features on a sample of the problem's rows."""
    rng = np.random.default_rng(seed)
    some = np.sort(rng.permutation(problem.n)[:_COMPARED])
    few = np.sort(rng.permutation(problem.p)[:_COMPARED])
    c1 = problem.c1[few] * (problem.total / problem.c1[few].sum())
    c2 = problem.c2[some] * (problem.c2.sum() / problem.c2[some].sum())
    rows = np.union1d(problem.positives[few], problem.unlabelled[some])
    positives, unlabelled = (
        np.searchsorted(rows, part) for part in (problem.positives[few], problem.unlabelled[some])
    )
    small = PUProblem(positives, unlabelled, c1, c2)
    matrix = KernelMatrix(X[rows], kernel)
    solution, exact = train(small, matrix, solver="blocks", tol=tol)
    fit = train_linear(small, ArrayFeatures(mapped.transform(X[rows])), tol=tol)
    f, other = solution.G + solution.beta, fit.solution.G + fit.solution.beta
    scale = 1.0 / float(problem.c2.sum())  # Σc2 = 1/(2λ), and P times 2λ is the regularised risk
    return Approximation(
        kind=kind,
        n_components=mapped.width,
        n_compared=len(some),
        exact_objective=scale * exact.primal,
        objective=scale * fit.certificate.primal,
        mean_difference=float(np.mean(np.abs(f - other))),
        changed=float(np.mean((f > 0) != (other > 0))),
    )

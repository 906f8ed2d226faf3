"""Fit with an approximate kernel: map the rows, fit the mapped features, and compare with an exact fit on a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from usmo.core.arrays import Index
from usmo.core.problem import PUProblem
from usmo.fitting.kernel import fit_kernel
from usmo.fitting.linear import LinearFit, fit_linear
from usmo.fitting.specification import Specification
from usmo.kernels.kernel import Kernel
from usmo.kernels.maps import FourierMap, NystroemMap, choose_landmarks, mapped_features
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.row_blocks import ArrayFeatures
from usmo.solvers.stopping import Progress

_COMPARED = 4000
"""Unlabelled rows of the sample on which the exact fit is made for comparison."""


@dataclass(frozen=True)
class Approximation:
    """Comparison of an approximate and an exact fit on the same sample of the rows.

    Attributes
    ----------
    kind : str
        "nystroem" or "rff".
    n_components : int
        Features used.
    n_compared : int
        Unlabelled rows of the sample.
    exact_objective, objective : float
        The regularised PU risk of the exact and of the approximate fit on the sample. With "nystroem" both are values
        of the same function, and the first is its minimum.
    mean_difference : float
        Mean absolute difference of the two decision functions over the sample.
    changed : float
        Share of the sample that the two classify differently.
    """

    kind: str
    n_components: int
    n_compared: int
    exact_objective: float
    objective: float
    mean_difference: float
    changed: float


@dataclass(frozen=True)
class ApproximateFit:
    """The fit of mapped features, the map, and for "nystroem" the rows that are its landmarks."""

    fit: LinearFit
    map: Any
    landmarks: Index | None
    comparison: Approximation


def fit_approximate(
    problem: PUProblem, X: Any, spec: Specification, progress: Progress | None = None
) -> ApproximateFit:
    """Fit on mapped features, and compare with an exact fit on a sample."""
    assert spec.kernel is not None
    assert spec.approximation is not None
    mapped, landmarks = feature_map(X, problem.rows, spec)
    fit = fit_linear(problem, mapped_features(X, mapped), spec, progress=progress)
    comparison = compare(problem, X, spec.kernel, spec.approximation, mapped, spec.tol, spec.seed)
    return ApproximateFit(fit, mapped, landmarks, comparison)


def feature_map(X: Any, rows: Index, spec: Specification) -> tuple[Any, Index | None]:
    """The map of the specification, and for "nystroem" its landmarks among ``rows``."""
    assert spec.kernel is not None
    if spec.approximation == "nystroem":
        landmarks = choose_landmarks(X, rows, spec.n_components, spec.seed)
        return NystroemMap(spec.kernel, X[landmarks]), landmarks
    return FourierMap(spec.kernel, spec.n_components, X.shape[1], spec.seed), None


def compare(
    problem: PUProblem, X: Any, kernel: Kernel, kind: str, mapped: Any, tol: float, seed: int
) -> Approximation:
    """Compare an exact fit and a fit of mapped features on a sample of the problem's rows."""
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
    exact = fit_kernel(small, KernelMatrix(X[rows], kernel), Specification(kernel, solver="blocks", tol=tol))
    rough = fit_linear(small, ArrayFeatures(mapped.transform(X[rows])), Specification(tol=tol))
    f = exact.solution.G + exact.solution.beta
    other = rough.solution.G + rough.solution.beta
    scale = 1.0 / float(problem.c2.sum())  # Σc2 = 1/(2λ), and P times 2λ is the regularised risk
    return Approximation(
        kind=kind,
        n_components=mapped.width,
        n_compared=len(some),
        exact_objective=scale * exact.certificate.primal,
        objective=scale * rough.certificate.primal,
        mean_difference=float(np.mean(np.abs(f - other))),
        changed=float(np.mean((f > 0) != (other > 0))),
    )

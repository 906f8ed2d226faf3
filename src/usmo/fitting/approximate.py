"""Fit with an approximate kernel: map the rows, fit the mapped features, and compare with an exact fit on a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.core.problem import Problem
from usmo.fitting.columns import fit_features
from usmo.fitting.kernel import fit_kernel
from usmo.fitting.linear import LinearFit
from usmo.fitting.specification import Specification
from usmo.kernels.maps import FourierMap, NystroemMap, choose_landmarks, mapped_features
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.row_blocks import ArrayFeatures
from usmo.kernels.row_sampling import distinct_rows
from usmo.kernels.threads import single_blas
from usmo.solvers.stopping import Progress

_COMPARED = 4000
"""Rows of the sample on which the exact fit is made for comparison."""


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
        Distinct rows of the sample that have a dual variable: unlabelled ones, and with class weights labelled ones.
    exact_objective, objective : float
        The regularised PU risk of the exact and of the approximate fit on the sample. With "nystroem" both are values
        of the same function, and the first is its minimum.
    mean_difference : float
        Mean absolute difference of the two decision functions over these rows.
    changed : float
        Share of these rows that the two classify differently.
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
    problem: Problem, X: Any, spec: Specification, progress: Progress | None = None, weight: Array | None = None
) -> ApproximateFit:
    """Fit on mapped features, and compare with an exact fit on a sample; ``weight`` is that of the rows of X."""
    with single_blas():  # as in fit_kernel
        mapped, landmarks = feature_map(X, problem.rows, spec, weight)
        features = mapped_features(X, mapped)
    fit = fit_features(problem, features, spec, progress=progress)
    comparison = compare(problem, X, spec, mapped)
    return ApproximateFit(fit, mapped, landmarks, comparison)


def feature_map(X: Any, rows: Index, spec: Specification, weight: Array | None) -> tuple[Any, Index | None]:
    """The map of the specification, and for "nystroem" its landmarks among ``rows``."""
    assert spec.kernel is not None
    if spec.approximation == "nystroem":
        landmarks = choose_landmarks(X, rows, spec.n_components, spec.seed, weight)
        return NystroemMap(spec.kernel, X[landmarks]), landmarks
    return FourierMap(spec.kernel, spec.n_components, X.shape[1], spec.seed), None


def compare(problem: Problem, X: Any, spec: Specification, mapped: Any) -> Approximation:
    """Compare an exact fit and a fit of mapped features on a sample of the problem's rows."""
    assert spec.kernel is not None
    assert spec.approximation is not None
    few, b = _sample(X, problem.b_rows, problem.b, spec.seed)
    some, c = _sample(X, problem.c_rows, problem.c, spec.seed)
    rows = np.concatenate([few, some])
    small = Problem(np.arange(len(few)), np.arange(len(few), len(rows)), b, c)
    exact = fit_kernel(
        small, KernelMatrix(X[rows], spec.kernel), Specification(spec.kernel, solver="blocks", tol=spec.tol)
    )
    rough = fit_features(small, ArrayFeatures(mapped.transform(X[rows])), Specification(tol=spec.tol))
    f = exact.solution.G + exact.solution.beta
    other = rough.solution.G + rough.solution.beta
    scale = 1.0 / float(problem.c.sum())  # 2λ without class weights: P times 2λ is the regularised risk
    return Approximation(
        kind=spec.approximation,
        n_components=mapped.width,
        n_compared=len(some),
        exact_objective=scale * exact.certificate.primal,
        objective=scale * rough.certificate.primal,
        mean_difference=float(np.average(np.abs(f - other), weights=c)),
        changed=float(np.average((f > 0) != (other > 0), weights=c)),
    )


def _sample(X: Any, rows: Index, c: Array, seed: int) -> tuple[Index, Array]:
    """At most ``_COMPARED`` distinct rows, and their c with the same sum."""
    weight = np.zeros(X.shape[0])
    weight[rows] = c
    chosen, mass = distinct_rows(X, rows, weight, seed, _COMPARED)
    return chosen, mass * (c.sum() / mass.sum())

"""Fit with K = XXᵀ on columns or mapped features: the choice between the interior point and Newton's method."""

from __future__ import annotations

from usmo.core.problem import Problem
from usmo.core.solution import DualStart
from usmo.fitting.linear import LinearFit, fit_linear
from usmo.fitting.newton import Start, fit_newton, suits_newton
from usmo.fitting.specification import Specification
from usmo.kernels.row_blocks import ArrayFeatures, Features
from usmo.solvers.stopping import Progress


def fit_features(
    problem: Problem,
    features: Features,
    spec: Specification,
    *,
    start: Start | None = None,
    progress: Progress | None = None,
) -> LinearFit:
    """Fit by the solver asked for, or the faster one for these features.

    A fit by Newton's method that falls short is tried again without its start.
    """
    if spec.solver == "newton" and not isinstance(features, ArrayFeatures):
        raise ValueError("solver='newton' needs an array or a CSR matrix in memory; got a table in parts")
    if spec.solver != "newton" and (spec.solver != "auto" or not suits_newton(problem, features)):
        sigma_or_weights = start.sigma if isinstance(start, DualStart) else start
        return fit_linear(problem, features, spec, start=sigma_or_weights, progress=progress)
    assert isinstance(features, ArrayFeatures)
    fit = fit_newton(problem, features.X, spec, start=start, progress=progress)
    if start is not None and fit.solution.status == "precision":
        again = fit_newton(problem, features.X, spec, progress=progress)
        fit = again if abs(again.certificate.relative_gap) < abs(fit.certificate.relative_gap) else fit
    return fit

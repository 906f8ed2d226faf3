"""Fit with K = XXᵀ on columns or mapped features: the choice between the interior point and Newton's method."""

from __future__ import annotations

from scipy import sparse

from usmo.core.problem import Problem
from usmo.core.solution import DualStart
from usmo.fitting.linear import LinearFit, fit_linear
from usmo.fitting.newton import Start, fit_newton, fit_newton_parts, suits_newton
from usmo.fitting.specification import Specification
from usmo.kernels.row_blocks import ArrayFeatures, Features, PartFeatures
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
    # mapped rows would be mapped again for every pass
    is_held = isinstance(features, ArrayFeatures | PartFeatures)
    if spec.solver == "newton" and not is_held:
        raise ValueError(
            "solver='newton' needs mapped features in memory: lower n_components, or use 'interior-point'"
        )
    suits = is_held and suits_newton(sparse.issparse(features.read(slice(0, 1))), features.shape[1])
    if spec.solver != "newton" and not (spec.solver == "auto" and suits):
        sigma_or_weights = start.sigma if isinstance(start, DualStart) else start
        return fit_linear(problem, features, spec, start=sigma_or_weights, progress=progress)

    def fit_from(start: Start | None) -> LinearFit:
        if isinstance(features, PartFeatures):
            return fit_newton_parts(problem, features, spec, start=start, progress=progress)
        assert isinstance(features, ArrayFeatures)
        return fit_newton(problem, features.X, spec, start=start, progress=progress)

    fit = fit_from(start)
    if start is not None and fit.solution.status == "precision":
        again = fit_from(None)
        closer = abs(again.certificate.relative_gap) < abs(fit.certificate.relative_gap)
        fit = again if closer or again.solution.status != "precision" else fit
    return fit

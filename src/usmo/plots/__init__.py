"""Plots of a fit, built like scikit-learn's displays: scores, convergence, λ path, prior, boundary.

Each class holds the numbers of its plot as attributes; ``from_estimator`` computes them from a fitted model,
``plot`` draws them and sets ``ax_`` and ``figure_``. Matplotlib comes with the extra ``usmo-learn[plot]``; it is
optional, and therefore imported inside the functions that draw. U, P and π are as in :mod:`usmo.metrics`.
"""

from __future__ import annotations

from usmo.plots.boundary import BoundaryDisplay
from usmo.plots.convergence import ConvergenceDisplay
from usmo.plots.display import MARK, POSITIVE, UNLABELLED
from usmo.plots.path import PathDisplay
from usmo.plots.prior import PriorDisplay
from usmo.plots.scores import ScoreDisplay
from usmo.plots.sensitivity import SensitivityDisplay

__all__ = [
    "MARK", "POSITIVE", "UNLABELLED", "BoundaryDisplay", "ConvergenceDisplay", "PathDisplay", "PriorDisplay",
    "ScoreDisplay", "SensitivityDisplay",
]  # fmt: skip

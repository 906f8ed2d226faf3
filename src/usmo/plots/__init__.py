"""Pictures of a fit, in the manner of scikit-learn's displays: scores, convergence, λ path, prior, boundary.

Each class holds the numbers of its picture as attributes; ``from_estimator`` computes them from a fitted model,
``plot`` draws them with matplotlib (extra ``usmo[plot]``, loaded at the first drawing) and leaves ``ax_`` and
``figure_``. U, P and π are as in :mod:`usmo.metrics`.
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

"""Class-prior estimation from labelled positives and unlabelled rows; all estimators share one interface.

``fit(X, y)`` sets ``prior_``, ``interval_`` and ``diagnostics_``; ``scenario`` says what the prior refers to.
:data:`ESTIMATORS` holds them by name. ``DEFAULT`` is the one that ``prior="estimate"`` uses: it has the smallest
mean error in ``python -m benchmarks.priors``.
"""

from usmo.priors.base import PriorEstimator
from usmo.priors.best_bin import BestBin
from usmo.priors.row_based import KernelMean, PenalisedL1, Tice
from usmo.priors.saturation import Consensus, Saturation
from usmo.priors.score_based import BlanchardScott, Dedpul, ElkanNoto

ESTIMATORS: dict[str, type[PriorEstimator]] = {
    "consensus": Consensus,
    "best-bin": BestBin,
    "saturation": Saturation,
    "dedpul": Dedpul,
    "elkan-noto": ElkanNoto,
    "blanchard-scott": BlanchardScott,
    "penalised-l1": PenalisedL1,
    "km2": KernelMean,
    "tice": Tice,
}
DEFAULT = "consensus"

__all__ = [
    "DEFAULT", "ESTIMATORS", "BestBin", "BlanchardScott", "Consensus", "Dedpul", "ElkanNoto", "KernelMean",
    "PenalisedL1", "PriorEstimator", "Saturation", "Tice",
]  # fmt: skip

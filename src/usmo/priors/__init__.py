"""Estimation of the prior from labelled positives and unlabelled rows; all estimators share one interface.

:func:`scar_test` tests the assumption of most of them, that the labelled positives are a random sample.

``fit(X, y)`` sets ``prior_``, ``interval_`` and ``diagnostics_``; ``scenario`` says what the prior refers to.
:data:`ESTIMATORS` holds them by name. ``DEFAULT`` is the one that ``prior="estimate"`` uses: of those that
assume labels at random it has the smallest mean error in ``python -m benchmarks.priors``.
"""

from usmo.priors.base import PriorEstimator
from usmo.priors.best_bin import BestBin
from usmo.priors.consensus import Consensus
from usmo.priors.grouped import Grouped
from usmo.priors.row_based import KernelMean, PenalisedL1, Tice
from usmo.priors.saturation import KnownNegatives, NegativesOnly, Saturation
from usmo.priors.scar import ScarTest, scar_test
from usmo.priors.score_based import BlanchardScott, Dedpul, ElkanNoto
from usmo.priors.scores import ScorePrior
from usmo.priors.structure import ClassStructure

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
    "grouped": Grouped,
    "class-structure": ClassStructure,
    "known-negatives": KnownNegatives,
    "negatives-only": NegativesOnly,
}
"""Estimators of the prior by name."""
NEED_NEGATIVES = ("known-negatives", "negatives-only")
"""Estimators that need known negatives."""
DEFAULT = "consensus"
"""The estimator that ``prior="estimate"`` uses."""

__all__ = [
    "DEFAULT",
    "ESTIMATORS",
    "NEED_NEGATIVES",
    "BestBin",
    "BlanchardScott",
    "ClassStructure",
    "Consensus",
    "Dedpul",
    "ElkanNoto",
    "Grouped",
    "KernelMean",
    "KnownNegatives",
    "NegativesOnly",
    "PenalisedL1",
    "PriorEstimator",
    "Saturation",
    "ScarTest",
    "ScorePrior",
    "Tice",
    "scar_test",
]  # fmt: skip

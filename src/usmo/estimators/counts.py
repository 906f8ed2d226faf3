"""Counts of rows under a model: how many are marked, how many the prior says, how many cannot be told apart.

The command line, the report and the sensitivity to the prior all read their counts here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from usmo.core.arrays import Array, Mask
from usmo.estimators.fit_warnings import fit_precision
from usmo.estimators.threshold import DECIMALS
from usmo.priors.consensus import is_determined


@dataclass(frozen=True)
class Counts:
    """Rows of a table by label, and what the decision makes of them.

    ``marked`` counts the unlabelled rows with f > 0 and ``expected`` is the number of positives among them that the
    prior implies. ``equal`` counts the rows of one decision value that the threshold would have to divide to mark as
    many as the prior says, 0 if it does; ``close`` the unlabelled rows nearer to the threshold than the fit is precise.
    """

    positives: int
    unlabelled: int
    negatives: int
    marked: int
    expected: float
    equal: int
    close: int

    @classmethod
    def of(cls, model: Any, f: Array, labels: np.ndarray) -> Counts:
        """The counts of a fitted model, its decision values of all rows, and labels (1, 0, -1)."""
        n_p, n_u, n_n = (int(np.count_nonzero(labels == kind)) for kind in (1, 0, -1))
        f_u = f[labels == 0]
        expected = expected_positives(model.prior_, n_p, n_u, model.scenario, n_n)
        close = int(np.count_nonzero(np.abs(f_u) <= fit_precision(model)))
        by_prior = getattr(model, "threshold", 0.0) == "prior"
        sample = f if model.scenario == "censored" else f_u
        equal = _indivisible(sample, float(model.prior_)) if by_prior else 0
        return cls(n_p, n_u, n_n, count_marked(f_u), expected, equal, close)


def is_marked(f: Array) -> Mask:
    """Which rows a model calls positive: those with f > 0."""
    return np.asarray(f) > 0


def count_marked(f: Array) -> int:
    """How many rows a model calls positive."""
    return int(np.count_nonzero(is_marked(f)))


def expected_positives(
    prior: float, labelled: float, unlabelled: float, scenario: str, negatives: float = 0
) -> float:
    """Expected number of positives among the unlabelled rows.

    π·n_U; in the censored scenario π is the share among all rows, so the labelled positives are subtracted.
    """
    if scenario == "censored":
        return min(max(prior * (labelled + unlabelled + negatives) - labelled, 0.0), float(unlabelled))
    return prior * unlabelled


def prior_is_determined(
    interval: Sequence[float], labelled: int, unlabelled: int, scenario: str, negatives: int = 0
) -> bool:
    """Whether the table determines the prior: its interval, as a share of the unlabelled rows, is narrow enough."""
    low, high = (
        expected_positives(end, labelled, unlabelled, scenario, negatives) / max(unlabelled, 1) for end in interval
    )
    return is_determined(low, high)


def _indivisible(f: Array, prior: float) -> int:
    """Rows of one value that lie on both sides of the place at which the share π ends; 0 if none do."""
    wanted = round(prior * len(f))
    if wanted in (0, len(f)) or wanted == count_marked(f):
        return 0
    ordered = np.round(np.sort(f)[::-1], DECIMALS)
    if ordered[wanted - 1] != ordered[wanted]:
        return 0
    return int(np.count_nonzero(ordered == ordered[wanted]))

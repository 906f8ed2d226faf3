"""From labels to a ranking: fit the review's risk to the whole table, started from the last solution.

A ranker has ``rank(X, kinds, start)``. Text and other sparse tables get a linear function, tables of numbers a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from usmo.core.arrays import Array
from usmo.core.problem import Problem
from usmo.core.solution import DualStart, Solution
from usmo.fitting.fit import fit_columns
from usmo.fitting.kernel import fit_kernel
from usmo.fitting.specification import Specification
from usmo.kernels.kernel import Kernel
from usmo.kernels.leaf_matrix import kernel_matrix
from usmo.kernels.row_blocks import as_features
from usmo.review.risk import ReviewRisk

Kinds = NDArray[np.int8]

_TOLERANCE = 1e-2
"""Violation of the optimality conditions that a ranking may have: f has the scale 1."""


@dataclass(frozen=True)
class Ranked:
    """Decision values of all rows, higher for likelier positives, and where the next fit starts."""

    scores: Array
    start: Any = None


class Ranker(Protocol):
    """Scores all rows of a table from the labels known so far."""

    def rank(self, X: Any, kinds: Kinds, start: Any = None) -> Ranked: ...


@dataclass(frozen=True)
class LinearRanker:
    """A linear function of the columns, for text."""

    risk: ReviewRisk = field(default_factory=ReviewRisk)

    def rank(self, X: Any, kinds: Kinds, start: Any = None) -> Ranked:
        problem = self.risk.problem(kinds)
        spec = Specification(kernel=None, solver="newton", tol=_TOLERANCE)
        fit = fit_columns(problem, as_features(X), spec, start=_start(problem, start))
        assert fit.coef is not None
        return Ranked(np.asarray(X @ fit.coef).ravel(), _shares(problem, fit.solution))


@dataclass(frozen=True)
class KernelRanker:
    """A kernel classifier on standardised columns, for tables of numbers."""

    risk: ReviewRisk = field(default_factory=ReviewRisk)

    def rank(self, X: Any, kinds: Kinds, start: Any = None) -> Ranked:
        problem = self.risk.problem(kinds)
        kernel = Kernel("rbf", gamma=1.0 / X.shape[1])
        spec = Specification(kernel=kernel, tol=_TOLERANCE)
        begin = _start(problem, start)
        fit = fit_kernel(problem, kernel_matrix(X, kernel), spec, start=None if begin is None else begin.sigma)
        return Ranked(fit.solution.G + fit.solution.beta, _shares(problem, fit.solution))


def _shares(problem: Problem, solution: Solution) -> tuple[Array, float]:
    """σ/c of every row, which fits a later problem with other c, and β."""
    return solution.sigma / problem.c, solution.beta


def _start(problem: Problem, start: Any) -> DualStart | None:
    if start is None:
        return None
    share, beta = start
    return DualStart(problem.repair(share * problem.c), beta)


def choose_ranker(X: Any) -> Ranker:
    """The ranker for a table: linear if it is sparse, else with a kernel."""
    return LinearRanker() if sparse.issparse(X) else KernelRanker()

"""From labels to a ranking: fit the review's risk to the table.

A ranker has ``rank(X, kinds, start)``. Text and other sparse tables get a linear function, started from the last
solution; tables of numbers get a kernel of learned trees and distances, and votes of bagged trees.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import rankdata

from usmo.core.arrays import Array
from usmo.core.problem import Problem
from usmo.core.solution import DualStart, Solution
from usmo.estimators.pusvc import PUSVC
from usmo.estimators.soft import fit_soft
from usmo.fitting.newton import fit_newton
from usmo.fitting.specification import Specification
from usmo.review.latent import LatentColumns
from usmo.review.risk import ReviewRisk
from usmo.review.trees import tree_votes

Kinds = NDArray[np.int8]

_TOLERANCE = 1e-2
"""Violation of the optimality conditions that a ranking may have: f has the scale 1."""


@dataclass(frozen=True)
class Ranked:
    """Scores of all rows, higher for likelier positives, and where the next fit starts.

    ``coef`` are the weights of the columns of X, if the model is linear.
    """

    scores: Array
    start: Any = None
    coef: Array | None = None


class Ranker(Protocol):
    """Scores all rows of a table from the labels known so far."""

    def rank(self, X: Any, kinds: Kinds, start: Any = None) -> Ranked: ...


@dataclass(frozen=True)
class LinearRanker:
    """A linear function of the columns and of latent ones, for text."""

    risk: ReviewRisk = field(default_factory=ReviewRisk)
    latent: LatentColumns = field(default_factory=LatentColumns)

    def rank(self, X: Any, kinds: Kinds, start: Any = None) -> Ranked:
        wide = self.latent.beside(X)
        problem = self.risk.problem(kinds)
        spec = Specification(kernel=None, solver="newton", tol=_TOLERANCE)
        fit = fit_newton(problem, wide, spec, start=_start(problem, start))
        scores = np.asarray(wide @ fit.coef).ravel()
        return Ranked(scores, _shares(problem, fit.solution), fit.coef[: X.shape[1]])


@dataclass(frozen=True)
class KernelRanker:
    """A classifier with the kernel "forest+rbf" and the votes of bagged trees, for tables of numbers.

    The score is the mean of the ranks that both give to a row: they err on different rows. In the fit of f a random
    sample of ``most_open`` stands for all rows not yet reviewed: they are many, and each says little.
    """

    risk: ReviewRisk = field(default_factory=lambda: ReviewRisk(lam=0.05))
    n_trees: int = 100
    n_votes: int = 60
    most_open: int = 5000
    seed: int = 0

    def rank(self, X: Any, kinds: Kinds, start: Any = None) -> Ranked:
        rows = self._used(kinds)
        own = kinds[rows]
        weight = self.risk.weights(own, int(np.count_nonzero(kinds == 0)))
        model = PUSVC(
            lam=self.risk.lam, kernel="forest+rbf", gamma="auto", n_trees=self.n_trees, class_weight=None,
            tol=_TOLERANCE, random_state=self.seed,
        )  # fmt: skip
        fitted = fit_soft(model, X[rows], (own == 1).astype(float), sample_weight=weight)
        votes = tree_votes(X, kinds, self.risk.rejected, self.n_votes, self.seed)
        return Ranked(0.5 * (_ranks(fitted.decision_function(X)) + _ranks(votes)))

    def _used(self, kinds: Kinds) -> NDArray[np.intp]:
        """All rows with a label, and the sample of the others; the same rows from fit to fit."""
        order = np.random.default_rng(self.seed).permutation(len(kinds))
        open_rows = order[kinds[order] == 0][: self.most_open]
        return np.union1d(np.flatnonzero(kinds != 0), open_rows)


def _ranks(scores: Array) -> Array:
    """The share of rows with a lower score, and half of those with an equal one."""
    return (rankdata(scores) - 0.5) / len(scores)


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

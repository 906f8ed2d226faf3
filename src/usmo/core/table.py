"""A validated training table: which rows are labelled positive, unlabelled or labelled negative, with what weight."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight

from usmo.core.arrays import Array, Index, union_of_rows
from usmo.core.labels import Part, Risk, label_problem, labelled_propensity, refuse_unbounded
from usmo.core.problem import Problem
from usmo.core.targets import LabelRule
from usmo.core.weights import scaled
from usmo.system import caller

_SMALLEST_PROPENSITY = 0.01
"""Propensities below are raised to it: a single row of a smaller one would weigh more than a hundred others."""


def checked_rows(X: Any, square: bool) -> Any:
    """X without duplicate entries; an error if it must be a square kernel matrix and is not."""
    if square and X.shape[0] != X.shape[1]:
        raise ValueError(f"X must be a square kernel matrix with kernel='precomputed', got shape {X.shape}")
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def checked_weight(sample_weight: Any, X: Any) -> Array:
    """A weight for each row, not all 0."""
    weight: Array = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return scaled(weight)


@dataclass(frozen=True)
class Table:
    """Rows X with their kinds of labels. Rows of weight zero are in no index.

    ``propensity`` is the probability that a positive with the values of this row is labelled, for each row, if known;
    ``groups`` is the group of each row (:mod:`usmo.core.groups`), if there are groups.
    """

    X: Any
    classes: np.ndarray
    labelled: Index
    unlabelled: Index
    weight: Array | None
    negatives: Index = field(default_factory=lambda: np.arange(0))
    propensity: Array | None = None
    groups: Index | None = None

    @property
    def rows(self) -> Index:
        """The rows of positive weight."""
        return union_of_rows(self.labelled, self.unlabelled, self.negatives)

    @classmethod
    def of(cls, X: Any, y: Any, rule: LabelRule, sample_weight: Any, *, square: bool) -> Table:
        """Check what scikit-learn does not: weights of each kind, a square kernel matrix."""
        X = checked_rows(X, square)
        kinds = rule.kinds(y)
        weight, positive = None, np.ones(len(kinds), dtype=bool)
        if sample_weight is not None:
            weight = checked_weight(sample_weight, X)
            positive = weight > 0
        rows = [np.flatnonzero((kinds == kind) & positive) for kind in (1, 0, -1)]
        for part, name in zip(rows[:2], ("labelled positive", "unlabelled"), strict=True):
            if len(part) == 0:
                raise ValueError(f"sample_weight leaves only one class: no {name} row has a positive weight")
        return cls(X, rule.classes, rows[0], rows[1], weight, rows[2])

    def sample(self, scenario: str) -> Index:
        """The rows that the prior refers to: the unlabelled ones, or all rows in the censored scenario."""
        return self.rows if scenario == "censored" else self.unlabelled

    def sample_weight(self, rows: Index) -> Array:
        """The weights of these rows."""
        return np.ones(len(rows)) if self.weight is None else self.weight[rows]

    def problem(self, prior: float, lam: float, risk: Risk) -> Problem:
        """The training problem."""
        weight = self.weight
        if self.propensity is not None:
            weight = (1.0 if weight is None else weight) / self.propensity
        positives, negatives = Part.of(self.labelled, weight), Part.of(self.negatives, self.weight)
        sample = Part.of(self.sample(risk.scenario), self.weight)
        problem = label_problem(risk, float(prior), float(lam), positives, sample, negatives)
        refuse_unbounded(problem)
        return problem

    @property
    def implied_prior(self) -> float:
        """The prior that the propensities imply in the censored scenario, Σ_P(w/e) / Σw."""
        assert self.propensity is not None
        counted = self.sample_weight(self.labelled) / self.propensity[self.labelled]
        return float(counted.sum() / self.sample_weight(self.rows).sum())

    def with_propensity(self, propensity: Any, scenario: str) -> Table:
        """The table with the propensity of each labelled row; a number stands for that of all."""
        if scenario != "censored":
            raise ValueError(f"propensity needs scenario='censored', got scenario={scenario!r}")
        n = self.X.shape[0]
        own = labelled_propensity(propensity, n, self.labelled)
        few = own < _SMALLEST_PROPENSITY
        if few.any():
            caller.warn(
                f"propensities below {_SMALLEST_PROPENSITY:g} were raised to it, so that single rows do not decide the "
                f"fit; labelled rows concerned: {np.count_nonzero(few)}",
                topic="small-propensity",
            )
            own = np.maximum(own, _SMALLEST_PROPENSITY)
        e = np.ones(n)
        e[self.labelled] = own
        table = replace(self, propensity=e)
        if not table.implied_prior < 1.0:
            raise ValueError(
                f"propensity implies {table.implied_prior:.4g} positives per row: the weights 1/e of the {len(own)} "
                f"labelled rows sum to more than the {len(self.rows)} rows; raise the propensities"
            )
        return table

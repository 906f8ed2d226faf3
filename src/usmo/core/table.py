"""A validated training table: which rows are labelled positives, which are unlabelled, with what weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from usmo.core.arrays import Array, Index
from usmo.core.problem import PUProblem
from usmo.system import caller


@dataclass(frozen=True)
class Table:
    """Rows X with two kinds of labels. Rows of weight zero are in neither index."""

    X: Any
    classes: np.ndarray
    labelled: Index
    unlabelled: Index
    weight: Array | None

    @property
    def rows(self) -> Index:
        """The rows of positive weight."""
        return np.union1d(self.labelled, self.unlabelled)

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any, *, square: bool) -> Table:
        """Check what scikit-learn does not: two values of y, weights on both sides, a square kernel matrix."""
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. y must hold two values, the greater marking labelled "
                f"positives; got {len(classes)} values"
            )
        if len(classes) < 2:
            raise ValueError(
                "y must hold two values, the greater marking labelled positives and the other unlabelled rows; "
                f"got only one class: {classes.tolist()}"
            )
        warn_of_text(classes)
        if square and X.shape[0] != X.shape[1]:
            raise ValueError(f"X must be a square kernel matrix with kernel='precomputed', got shape {X.shape}")
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        weight, positive = None, np.ones(len(y), dtype=bool)
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            positive = weight > 0
        labelled = np.flatnonzero((y == classes[1]) & positive)
        unlabelled = np.flatnonzero((y == classes[0]) & positive)
        for rows, name in ((labelled, "labelled positive"), (unlabelled, "unlabelled")):
            if len(rows) == 0:
                raise ValueError(f"sample_weight leaves only one class: no {name} row has a positive weight")
        return cls(X, classes, labelled, unlabelled, weight)

    def problem(self, prior: float, lam: float, scenario: str) -> PUProblem:
        """The training problem. In the censored scenario all rows are the unlabelled sample."""
        unlabelled = self.rows if scenario == "censored" else self.unlabelled
        return PUProblem.from_prior(float(prior), float(lam), self.labelled, unlabelled, self.weight)


def warn_of_text(classes: np.ndarray) -> None:
    """Tell the user which of two texts counts as the label of positives."""
    if classes.dtype.kind in "OUS":
        caller.warn(
            f"y holds text: {classes[1]!r}, the greater value, counts as labelled positive, {classes[0]!r} as "
            "unlabelled"
        )

"""What the templates of the page read: the model, its table, decision values and refits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from usmo.core.arrays import Array, Index
from usmo.estimators.counts import Counts, expected_positives
from usmo.estimators.ramp import RampPUSVC
from usmo.fitting.leave_one_out import BOUNDED
from usmo.priors import ScarTest
from usmo.report.explanations import (
    Neighbours,
    nearest_positives,
    raising_columns,
    speaking_words,
)
from usmo.report.influence import effects, losses
from usmo.report.ranking import Ranking
from usmo.report.refits import HeldOut
from usmo.report.source import SourceColumns

MOST_LISTED = 300
"""Rows in the ranking table at most: a page that a browser opens at once, and more than anyone reads."""


@dataclass(frozen=True)
class ReportContext:
    """A fitted model and the rows it was fitted on, or others. ``table`` is X as a plain array or CSR matrix."""

    model: Any
    table: Any
    ranking: Ranking
    counts: Counts
    ids: list[str] | None
    names: list[str] | None
    titles: list[str] | None
    words: list[str] | None
    source: str
    title: str
    columns: list[str]
    parameters: Mapping[str, Any]
    top: int
    fingerprint: Any
    quality: HeldOut | None
    sensitivity: Any
    groups: dict[str, Index]
    source_columns: SourceColumns | None
    ignored: list[str]
    made: str
    ranking_file: str
    at_random: ScarTest | None
    other_table: bool

    @property
    def f(self) -> Array:
        """The decision values of all rows."""
        return self.ranking.f

    @property
    def positives(self) -> Index:
        return self.ranking.positives

    @property
    def unlabelled(self) -> Index:
        return self.ranking.unlabelled

    @cached_property
    def listed(self) -> Index:
        """The unlabelled rows of the ranking table, highest decision value first."""
        return self.ranking.first(min(self.top, MOST_LISTED))

    @cached_property
    def probability(self) -> Array | None:
        """The probability of each listed row; None if the model has none."""
        if not hasattr(self.model, "predict_proba"):
            return None
        return np.asarray(self.model.calibration_(self.f[self.listed]), dtype=np.float64)

    @property
    def prior(self) -> float:
        return float(self.model.prior_)

    @property
    def interval(self) -> tuple[float, float] | None:
        interval = getattr(self.model, "prior_interval_", None)
        return None if interval is None else (float(interval[0]), float(interval[1]))

    @property
    def scenario(self) -> str:
        return str(self.model.scenario)

    @property
    def marks_prior(self) -> bool:
        """Whether the threshold marks the share π of the unlabelled rows, not the rows above a given value of f."""
        return getattr(self.model, "threshold", 0.0) == "prior"

    def expected(self, prior: float) -> float:
        """Expected number of positives among the unlabelled rows under this prior."""
        counts = self.counts
        return expected_positives(prior, counts.positives, counts.unlabelled, self.scenario, counts.negatives)

    def identity(self, row: int) -> str:
        return str(row + 1) if self.ids is None else self.ids[row]

    def column_name(self, column: int) -> str:
        return f"column {column + 1}" if self.names is None else self.names[column]

    @property
    def overconfident(self) -> bool:
        """Whether probabilities are calibrated on values of the fit itself, which are too high for labelled rows."""
        model = self.model
        leaves_out = getattr(model, "kernel", None) in BOUNDED and not isinstance(model, RampPUSVC)
        leaves_out = leaves_out and hasattr(model, "reference_") and not hasattr(model, "approximation_")
        return not (leaves_out or hasattr(model, "selection_") or self.other_table)

    @property
    def precomputed(self) -> bool:
        return getattr(self.model, "kernel", None) == "precomputed"

    @cached_property
    def neighbours(self) -> list[Neighbours]:
        """The nearest known positives of each listed row."""
        return nearest_positives(self.table, self.listed, self.positives, precomputed=self.precomputed)

    @cached_property
    def effects(self) -> Array | None:
        """What each column of the table adds to the score of each listed row; None if that is not tried."""
        if not self.groups:
            return None
        decide, rows = self.model.decision_function, self.listed
        return effects(decide, self.table, rows, self.f[rows], self.groups, self.unlabelled)

    @cached_property
    def lost(self) -> Array | None:
        """The AUC that shuffling each column of the table costs, a line for each fold; None if not tried."""
        if self.quality is not None or not self.groups or self.sensitivity is None:
            return None if self.quality is None else self.quality.lost
        rows = np.concatenate([self.positives, self.unlabelled])
        labels = self.ranking.labels[rows]
        return losses(self.model.decision_function, self.table, rows, labels, self.groups)[None, :]

    def values(self, name: str, rows: Index) -> list[Any]:
        """The values of a column of the table in some rows, as they were given or as they were encoded."""
        if self.source_columns is not None and name in self.source_columns.names:
            return self.source_columns.values(name, rows)
        columns = self.groups[name]
        if len(columns) != 1:
            return [None] * len(rows)
        part = self.table[rows][:, columns]
        return np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64).ravel().tolist()

    def typical(self, name: str, rows: Index) -> Any:
        """The value of a column that is typical of some rows; None if there is none."""
        if self.source_columns is not None and name in self.source_columns.names:
            return self.source_columns.typical(name, rows)
        return float(np.median(self.values(name, rows))) if len(self.groups[name]) == 1 else None

    @property
    def explanation(self) -> str:
        """How the page explains a row.

        "effects" (of the columns of the table), "words" (linear, of text), "raised" (linear, of many columns) or "".
        """
        if self.precomputed:
            return ""
        if self.groups and self.words is None:
            return "effects"
        if hasattr(self.model, "coef_"):
            return "raised" if self.words is None else "words"
        return ""

    @cached_property
    def telling_columns(self) -> list[list[tuple[int, float]]]:
        """The columns that explain each listed row, with their numbers."""
        if self.explanation == "raised":
            coef = np.asarray(self.model.coef_, dtype=np.float64).ravel()
            return raising_columns(self.table, coef, self.listed, self.unlabelled)
        return [[] for _ in self.listed]

    @cached_property
    def telling_words(self) -> list[tuple[list[tuple[str, float]], list[tuple[str, float]]]]:
        """The words that speak for and against each listed row, with what they add to its score."""
        if self.explanation != "words" or self.words is None:
            return [([], []) for _ in self.listed]
        coef = np.asarray(self.model.coef_, dtype=np.float64).ravel()
        return speaking_words(self.table, coef, self.listed, self.words)


def check_model(model: Any) -> None:
    """Refuse models that are not fitted, or are none of this package's classifiers."""
    check_is_fitted(model)
    for name in ("prior_", "decision_function", "scenario"):
        if not hasattr(model, name):
            raise TypeError(
                f"model must be a fitted PUSVC or LinearPUSVC, got {type(model).__name__} without {name}"
            )


def check_options(top: Any, sensitivity: Any) -> None:
    if isinstance(top, bool) or not isinstance(top, Integral) or top < 1:
        raise ValueError(f"top must be a whole number of at least 1, got {top!r}")
    if sensitivity is None or (isinstance(sensitivity, str) and sensitivity == "auto"):
        return
    if not all(hasattr(sensitivity, name) for name in ("priors", "positives", "overlap", "top")):
        raise ValueError(
            f"sensitivity must be 'auto', None or hold priors, positives, overlap and top, got {sensitivity!r}"
        )


def checked_table(X: Any, known: Any) -> tuple[Any, np.ndarray]:
    """X as array or CSR matrix, and the labels: 1 known positive, 0 unlabelled, -1 known negative."""
    table = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if table.ndim != 2:
        raise ValueError(f"X must be a table, got shape {table.shape}")
    given = np.asarray(known)
    kinds = given.dtype == bool or (given.dtype.kind == "i" and np.isin(given, (-1, 0, 1)).all())
    if not kinds or given.shape != (table.shape[0],):
        raise ValueError(
            f"known must hold True or False, or 1, 0 or -1, for each of the {table.shape[0]} rows, got {given.dtype} "
            f"of shape {given.shape}"
        )
    labels = given.astype(np.int8)
    if not (labels == 1).any() or not (labels == 0).any():
        raise ValueError(
            f"known must hold both kinds of rows, got {int((labels == 1).sum())} known positives of {len(labels)}"
        )
    return table, labels


def checked_texts(name: str, texts: Sequence[Any] | None, length: int) -> list[str] | None:
    """One text for each row or column, or None."""
    if texts is None:
        return None
    if len(texts) != length:
        raise ValueError(f"{name} must hold {length} texts, got {len(texts)}")
    return [str(text) for text in texts]


def checked_values(f: Any, rows: int) -> Array:
    """Decision values, one for each row."""
    values = np.asarray(f, dtype=np.float64)
    if values.shape != (rows,):
        raise ValueError(f"f must hold a decision value for each of the {rows} rows, got shape {values.shape}")
    return values

"""The numbers of a report, computed once and checked before any work."""

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
from usmo.report.explanations import FEW_COLUMNS, Neighbours, close_columns, nearest_positives, raising_columns
from usmo.report.refits import HeldOut, Sensitivity, expected_positives


@dataclass(frozen=True)
class Facts:
    """A fitted model and the rows it was fitted on. ``table`` is X as a plain array or CSR matrix."""

    model: Any
    table: Any
    known: np.ndarray
    f: Array
    ids: list[str] | None
    names: list[str] | None
    source: str
    title: str
    columns: list[str]
    parameters: Mapping[str, Any]
    top: int
    fingerprint: Any
    quality: HeldOut | None
    sensitivity: Any
    probability: Array | None

    @cached_property
    def positives(self) -> Index:
        return np.flatnonzero(self.known)

    @cached_property
    def unlabelled(self) -> Index:
        return np.flatnonzero(~self.known)

    @cached_property
    def ranked(self) -> Index:
        """The unlabelled rows of the list, highest score first."""
        return first_rows(self.f, self.known, self.top)

    @property
    def marked(self) -> int:
        """Unlabelled rows with a score above 0."""
        return int((self.f[self.unlabelled] > 0).sum())

    @property
    def prior(self) -> float:
        return float(self.model.prior_)

    @property
    def interval(self) -> tuple[float, float] | None:
        found = getattr(self.model, "prior_interval_", None)
        return None if found is None else (float(found[0]), float(found[1]))

    @property
    def scenario(self) -> str:
        return str(self.model.scenario)

    @property
    def threshold(self) -> float | str:
        """Where the decision was put: "prior" marks the share π, a number is a value of f before it is at 0."""
        found = getattr(self.model, "threshold", 0.0)
        return found if isinstance(found, str) else float(found)

    def expected(self, prior: float) -> float:
        """Positives among the unlabelled rows if the prior is this."""
        return expected_positives(prior, len(self.positives), len(self.unlabelled), self.scenario)

    def identity(self, row: int) -> str:
        return str(row + 1) if self.ids is None else self.ids[row]

    def column_name(self, column: int) -> str:
        return f"column {column + 1}" if self.names is None else self.names[column]

    @property
    def precomputed(self) -> bool:
        return getattr(self.model, "kernel", None) == "precomputed"

    @cached_property
    def neighbours(self) -> list[Neighbours]:
        return nearest_positives(self.table, self.ranked, self.positives, precomputed=self.precomputed)

    @property
    def reason(self) -> str:
        """How columns are named in the list: "raised" (linear), "close" (few columns) or not at all."""
        if self.precomputed:
            return ""
        if hasattr(self.model, "coef_"):
            return "raised"
        return "close" if self.table.shape[1] <= FEW_COLUMNS else ""

    @cached_property
    def reasons(self) -> list[list[tuple[int, float]]]:
        """Columns and their numbers for each row of the list."""
        if self.reason == "raised":
            coef = np.asarray(self.model.coef_, dtype=np.float64).ravel()
            return raising_columns(self.table, coef, self.ranked, self.unlabelled)
        if self.reason == "close":
            nearest = np.array([found.rows[0] for found in self.neighbours], dtype=np.intp)
            return close_columns(self.table, self.ranked, nearest, self.unlabelled)
        return [[] for _ in self.ranked]


def first_rows(f: Array, known: np.ndarray, top: int) -> Index:
    """The unlabelled rows with the highest scores; of equals, those that stand first."""
    rows = np.flatnonzero(~known)
    return rows[np.argsort(-f[rows], kind="stable")[:top]]


def checked(
    model: Any, X: Any, known: Any, ids: Sequence[Any] | None, names: Sequence[Any] | None, top: Any, given: Any
) -> tuple[Any, np.ndarray, list[str] | None, list[str] | None]:
    """X as array or CSR matrix, the mask, the ids and the names of the columns, or an error."""
    check_is_fitted(model)
    for name in ("prior_", "decision_function", "scenario"):
        if not hasattr(model, name):
            raise TypeError(
                f"model must be a fitted PUSVC or LinearPUSVC, got {type(model).__name__} without {name}"
            )
    if isinstance(top, bool) or not isinstance(top, Integral) or top < 1:
        raise ValueError(f"top must be a whole number of at least 1, got {top!r}")
    if names is None:
        names = getattr(X, "columns", None)
    table = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if table.ndim != 2:
        raise ValueError(f"X must be a table, got shape {table.shape}")
    mask = np.asarray(known)
    if mask.dtype != bool or mask.shape != (table.shape[0],):
        raise ValueError(
            f"known must hold True or False for each of the {table.shape[0]} rows, got {mask.dtype} of shape "
            f"{mask.shape}"
        )
    if mask.all() or not mask.any():
        raise ValueError(
            f"known must hold both kinds of rows, got {int(mask.sum())} known positives of {len(mask)}"
        )
    for name, texts, length in (("ids", ids, table.shape[0]), ("names", names, table.shape[1])):
        if texts is not None and len(texts) != length:
            raise ValueError(f"{name} must hold {length} texts, got {len(texts)}")
    if given is not None and given != "auto" and not (isinstance(given, Sensitivity) or _is_sensitivity(given)):
        raise ValueError(
            f"sensitivity must be 'auto', None or hold priors, positives, overlap and top, got {given!r}"
        )
    return (
        table,
        mask,
        None if ids is None else [str(text) for text in ids],
        None if names is None else [str(name) for name in names],
    )


def _is_sensitivity(given: Any) -> bool:
    return all(hasattr(given, name) for name in ("priors", "positives", "overlap", "top"))

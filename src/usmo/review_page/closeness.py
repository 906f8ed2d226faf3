"""The columns in which a row is close to a known positive: those in which few unlabelled rows are as close."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from usmo.core.arrays import Index

FEW_COLUMNS = 64
"""Columns up to which single ones are compared; among more, some are close by chance."""

_RARE = 0.25
"""A column is named if at most this share of the unlabelled rows is as close."""

_SAMPLE = 20_000
"""Unlabelled rows from which these shares are estimated."""

_SHOWN = 3
"""Columns shown for each row."""

_ROUNDING = 1e-12
"""Relative widening of an interval, so that rounding does not exclude the row that defines it."""


def close_columns(X: Any, rows: Index, nearest: Index, unlabelled: Index) -> list[list[tuple[int, float]]]:
    """For each row, the columns in which few unlabelled rows are as close to its nearest known positive."""
    if len(unlabelled) > _SAMPLE:
        unlabelled = np.sort(np.random.default_rng(0).choice(unlabelled, _SAMPLE, replace=False))
    share = np.empty((len(rows), X.shape[1]))
    for j in range(X.shape[1]):
        column = X[:, [j]].toarray().ravel() if sparse.issparse(X) else np.asarray(X[:, j])
        column = column.astype(np.float64)
        ordered, centre = np.sort(column[unlabelled]), column[nearest]
        reach = np.abs(column[rows] - centre) * (1.0 + _ROUNDING) + _ROUNDING * np.abs(centre)
        inside = np.searchsorted(ordered, centre + reach, side="right")
        inside = inside - np.searchsorted(ordered, centre - reach, side="left")
        share[:, j] = np.maximum(1, inside) / len(unlabelled)
    columns = []
    for shares in share:
        best = np.argsort(shares, kind="stable")[:_SHOWN]
        columns.append([(int(j), float(shares[j])) for j in best if shares[j] <= _RARE])
    return columns

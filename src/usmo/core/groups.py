"""Groups of rows that no division into folds may split: rows of one patient, one family of genes, one document.

A fold is left out together with every row of its groups, so that held-out rows resemble new groups, not new rows of
groups that were seen. Without groups, equal rows stay together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.core.arrays import Array, Index, Mask
from usmo.core.targets import missing
from usmo.system import caller
from usmo.system.words import quantity

_DIGITS = 12
"""Digits to which the shares of folds are compared, so that the rounding of sums decides nothing."""


def group_codes(groups: Any, n: int) -> Index | None:
    """The number of each row's group, from 0; None stays None. Wrong lengths and missing values are refused."""
    if groups is None:
        return None
    values = np.asarray(groups)
    if values.shape != (n,):
        raise ValueError(f"groups must hold one group per row, {n}; got shape {values.shape}")
    unknown = missing(values)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise ValueError(
            f"groups must not be missing, got {values[row]!r} in row {row}; give the row its own group"
        )
    if values.dtype.kind == "O":
        values = np.array([str(value) for value in values])
    return np.unique(values, return_inverse=True)[1].astype(np.intp)


def check_divisible(labelled: Index, unlabelled: Index, folds: int, what: str, advice: str = "") -> None:
    """Refuse to divide rows whose labelled positives, or unlabelled rows, are all of one group.

    ``labelled`` and ``unlabelled`` are the groups of these rows. There are at most as many folds as groups with rows of
    either kind; a warning says so if that is fewer than asked for. ``advice`` ends the error.
    """
    counts = len(np.unique(labelled)), len(np.unique(unlabelled))
    found = f"{quantity(counts[0], 'group')} with labelled positives and {counts[1]} with unlabelled rows"
    if min(counts) < 2:
        raise ValueError(
            f"{what} divides the rows by groups and needs at least 2 of either kind, got {found}"
            + (f"; {advice}" if advice else "")
        )
    if min(counts) < folds:
        caller.warn(
            f"{what} uses {min(counts)} folds instead of {folds}: the table has {found}", topic="few-groups"
        )


def group_folds(group: Index, kind: Index, weight: Array, folds: int) -> Index:
    """The fold of each row: rows of one group share it, and every fold gets its share of the weight of each kind.

    Kinds are 1, 0 and -1 as in :mod:`usmo.core.targets`. Groups with labelled positives are dealt first, those with
    most of their weight first, each to the fold that has least of it; then likewise those with unlabelled rows, then
    the others. Equal groups follow the order of their first rows.
    """
    _, first, member = np.unique(group, return_index=True, return_inverse=True)
    mass = np.stack([np.bincount(member, weights=weight * (kind == k)) for k in (1, 0, -1)], axis=1)
    share = mass / np.maximum(mass.sum(axis=0), np.finfo(float).tiny)
    several = [count for count in np.count_nonzero(share[:, :2], axis=0).tolist() if count]
    folds = max(1, min(folds, *several))
    leading = np.argmax(share > 0, axis=1)
    size = np.take_along_axis(share, leading[:, None], axis=1)[:, 0]
    load, fold = np.zeros((folds, 3)), np.empty(len(first), dtype=np.intp)
    order = np.lexsort((first, -np.round(size, _DIGITS), leading))
    for g in order:
        of_kind = np.round(load[:, leading[g]], _DIGITS)
        fold[g] = np.lexsort((load.sum(axis=1), of_kind))[0]
        load[fold[g]] += share[g]
    mixed = order[share[order, 1] > 0]
    if folds > 1 and len(np.unique(fold[mixed])) == 1:  # the other folds need unlabelled rows to train on
        fold[mixed[-1]] = (fold[mixed[-1]] + 1) % folds
    return fold[member]


def equal_row_folds(labelled: Mask, keys: np.ndarray, folds: int) -> Index:
    """Deal rows to folds so that equal rows share a fold, whether they are labelled or not. Equal rows have equal keys.

    Every fold gets as many different labelled rows, and as many different unlabelled rows, as the others, or one more.
    If a labelled row and an equal unlabelled row were in different folds, the model that scores one would have seen the
    other: the labelled row would get too low a score, the unlabelled row too high a score.
    """
    shared = np.intersect1d(keys[labelled], keys[~labelled])
    in_both = np.isin(keys, shared)
    fold = np.empty(len(keys), dtype=np.intp)
    fold[in_both] = np.searchsorted(shared, keys[in_both]) % folds
    for mask in (labelled & ~in_both, ~labelled & ~in_both):
        _, place = np.unique(keys[mask], return_inverse=True)
        fold[mask] = (len(shared) + place) % folds  # each kind goes on where the shared rows end
    return fold

"""A test of the assumption that the labelled positives are a random sample of the positives.

If they are, and π is the share of positives in U, a score z of P against U ranks a labelled row above an unlabelled one
with probability

    AUC(P, U) = ½π + (1 - π)·AUC(P, N) ≤ 1 - ½π

however much the classes overlap. Labelled rows that stand out more than that are not a random sample: the obvious
positives were labelled. P and U alone do not show π, so the test takes it from class structure. Rows that resemble the
surest positives more than the surest negatives are taken for positive:

    h(x)   log odds of the ends: P and the unlabelled rows with z above half of P, against the 30 % of U with lowest z
    H      the rows with h > 1

Both scores are held out. AUC(P, U) is compared with its values under labels at random: as many rows as there are
labelled positives are drawn from H, and z is computed again. The share of H in U is itself a sample, so each draw takes
the rows with the greatest h in a share from its posterior distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import mannwhitneyu, t
from sklearn.preprocessing import MaxAbsScaler

from usmo.core.arrays import Array, Index, Mask
from usmo.core.targets import validate_labelled
from usmo.kernels.row_sampling import row_keys
from usmo.kernels.threads import single_blas
from usmo.priors.best_bin import BestBin
from usmo.priors.scores import cross_fitted, default_features, fold_numbers

_BOTTOM, _SURE = 0.3, 1.0
"""Share of U taken for the surest negatives, and the value of h from which a row is taken for positive."""

_FOLDS, _LANDMARKS = 5, 100
"""Folds of the held-out scores, and landmarks of the features that all draws share."""

_FEWEST = 5
"""Labelled and unlabelled rows that H must hold at least, and labelled positives at least for a test."""

_MOST = 400, 1000
"""Rows of P and of U at most: a test takes seconds, and more rows find differences too small to matter."""

_MOST_COLUMNS = 1000
"""Columns up to which each is compared; in wider tables only the score is."""

LEVEL = 0.05
"""p-value below which labels at random are rejected."""

LIMITS = (
    "The test compares labelled with unlabelled rows that look positive. It cannot see positives that look like "
    "negatives, and sees less where the classes overlap. Negatives of a kind that looks positive are taken for "
    "positives without labels"
)


@dataclass(frozen=True)
class ScarTest:
    """Result of :func:`scar_test`.

    Attributes
    ----------
    p_value : float
        One-sided; NaN if fewer than five labelled or unlabelled rows are taken for positive.
    statistic, expected : float
        AUC(P, U), observed and in the mean under labels at random.
    columns : dict
        Columns in which labelled rows differ from unlabelled rows taken for positive, most different first, with
        p-values (Mann-Whitney, Holm): the name or number of the column. Empty if labels at random are not rejected.
    labelled, unlabelled : int
        Rows taken for positive.
    """

    p_value: float
    statistic: float
    expected: float
    columns: dict[Any, float]
    labelled: int
    unlabelled: int

    @property
    def differs(self) -> bool:
        """Whether labels at random are rejected at the level of 5 %."""
        return bool(self.p_value < LEVEL)

    @property
    def sentence(self) -> str:
        """The result in words."""
        if np.isnan(self.p_value):
            return "Whether the labels are at random cannot be told: too few rows look positive."
        if not self.differs:
            return f"No sign that the labels are not at random (p = {self.p_value:.2f})."
        most = ", ".join(str(name) for name in list(self.columns)[:3])
        where = f", most in {most}" if most else ""
        return (
            f"There are signs that the labels are not at random (p = {self.p_value:.3f}): labelled rows differ from "
            f"unlabelled rows that look positive{where}. The estimated share of positives is then too small, and "
            "probabilities are too low."
        )

    def __str__(self) -> str:
        return f"{self.sentence} {LIMITS}."


def scar_test(
    X: Any, y: Any, *, names: Sequence[Any] | None = None, n_draws: int = 24, random_state: int = 0
) -> ScarTest:
    """Test whether the labelled positives are a random sample of the positives, and find the columns that differ.

    It assumes that rows that resemble the surest positives are positive; see the module for the statistic. It cannot
    see positives that look like negatives, finds strong selection only, and has little power with fewer than 20
    labelled positives. On large tables it uses 400 labelled and 1,000 unlabelled rows.

    Parameters
    ----------
    X, y : rows and labels as for :meth:`usmo.PUSVC.fit`; labelled negatives are not used
    names : sequence, optional
        Names of the columns; by default those of a data frame, or numbers from 0.
    n_draws : int
        Draws under labels at random, at least 3. The p-value uses their mean and standard deviation.
    random_state : int
        Seed.

    Returns
    -------
    ScarTest
    """
    if n_draws < 3:
        raise ValueError(f"n_draws must be at least 3, got {n_draws}")
    named = BestBin()
    X, y, rule = validate_labelled(named, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
    kinds = rule.kinds(y)
    if names is None:
        names = getattr(named, "feature_names_in_", np.arange(X.shape[1])).tolist()
    if len(names) != X.shape[1]:
        raise ValueError(f"names must have one name per column, {X.shape[1]}; got {len(names)}")
    rng = np.random.default_rng(random_state)
    parts = [
        rng.permutation(np.flatnonzero(kinds == kind))[:most] for kind, most in zip((1, 0), _MOST, strict=True)
    ]
    if min(len(part) for part in parts) < _FEWEST:
        raise ValueError(
            f"scar_test needs at least {_FEWEST} labelled positives and {_FEWEST} unlabelled rows, got "
            f"{len(parts[0])} and {len(parts[1])}"
        )
    X = MaxAbsScaler().fit_transform(X[np.sort(np.concatenate(parts))])
    labelled = np.isin(np.sort(np.concatenate(parts)), parts[0])
    with single_blas():
        return _tested(_Table.of(X, int(rng.integers(2**31))), labelled, names, n_draws, rng)


@dataclass(frozen=True)
class _Table:
    """The rows with their keys and features, which are the same for all labels."""

    X: Any
    keys: np.ndarray
    features: Any

    @classmethod
    def of(cls, X: Any, seed: int) -> _Table:
        keys, count = row_keys(X, seed), X.shape[0]
        return cls(X, keys, default_features(X, np.ones(count, dtype=bool), np.ones(count), keys, _LANDMARKS))

    def scores(self, target: Mask, fold: Index, used: Mask | None = None) -> Array:
        """Held-out scores of ``target`` against the other rows that are used."""
        weight = np.ones(len(target))
        return cross_fitted(self.X, target, weight, self.keys, fold, used=used, features=self.features)


def _tested(
    table: _Table, labelled: Mask, names: Sequence[Any], n_draws: int, rng: np.random.Generator
) -> ScarTest:
    fold = fold_numbers(labelled, table.keys, _FOLDS)
    z = table.scores(labelled, fold)
    observed = _area(z, labelled)
    h = _log_odds_of_the_ends(table, z, labelled, fold)
    p, u = (h > _SURE) & labelled, (h > _SURE) & ~labelled
    counts = int(np.count_nonzero(p)), int(np.count_nonzero(u))
    if min(counts) < _FEWEST:
        return ScarTest(np.nan, observed, np.nan, {}, *counts)
    areas = np.empty(n_draws)
    for k in range(n_draws):
        drawn = _labels_at_random(h, labelled, counts[1], rng)
        areas[k] = _area(table.scores(drawn, fold_numbers(drawn, table.keys, _FOLDS)), drawn)
    spread = max(float(areas.std(ddof=1)), 1e-3) * np.sqrt(1.0 + 1.0 / n_draws)
    p_value = float(t.sf((observed - areas.mean()) / spread, n_draws - 1))
    columns: dict[Any, float] = {}
    if p_value < LEVEL and table.X.shape[1] <= _MOST_COLUMNS:
        adjusted = _holm(mannwhitneyu(_dense(table.X[p]), _dense(table.X[u]), method="asymptotic").pvalue)
        order = np.argsort(adjusted, kind="stable")
        columns = {names[j]: float(adjusted[j]) for j in order if adjusted[j] < LEVEL}
    return ScarTest(p_value, observed, float(areas.mean()), columns, *counts)


def _log_odds_of_the_ends(table: _Table, z: Array, labelled: Mask, fold: Index) -> Array:
    """h of all rows; 0 if all rows look alike."""
    top = labelled | (z >= np.median(z[labelled]))
    bottom = ~top & (z <= np.quantile(z[~labelled], _BOTTOM))
    if not bottom.any():
        bottom = ~top
    return table.scores(top, fold, top | bottom) if bottom.any() else np.zeros(len(z))


def _labels_at_random(h: Array, labelled: Mask, positive: int, rng: np.random.Generator) -> Mask:
    """Labels of as many rows, at random among those with the greatest h.

    ``positive`` unlabelled rows were taken for positive; the share drawn is that of a sample in which so many were.
    """
    count, unlabelled = int(np.count_nonzero(labelled)), h[~labelled]
    share = rng.beta(positive + 0.5, len(unlabelled) - positive + 0.5)
    rows = np.flatnonzero(h >= np.quantile(unlabelled, 1.0 - share))
    if len(rows) <= count:  # some of the rows drawn must stay unlabelled
        rows = np.argsort(-h, kind="stable")[: count + max(1, positive)]
    drawn = np.zeros(len(h), dtype=bool)
    drawn[rng.choice(rows, count, replace=False)] = True
    return drawn


def _area(z: Array, labelled: Mask) -> float:
    """The share of pairs in which the labelled row has the higher score, equal scores half."""
    above = mannwhitneyu(z[labelled], z[~labelled], method="asymptotic").statistic
    return float(above / (np.count_nonzero(labelled) * np.count_nonzero(~labelled)))


def _holm(p_values: Array) -> Array:
    """p-values adjusted for their number."""
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _dense(X: Any) -> Array:
    return X.toarray() if sparse.issparse(X) else X

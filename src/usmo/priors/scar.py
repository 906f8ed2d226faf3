"""A test of the assumption that the labelled positives are a random sample of the positives.

Without further assumptions P and U fit any labelling: where p_P/p_U rises, either the share of positives rises or the
probability of a label does. Class structure tells the two apart. Rows that differ from the surest negatives as the
surest positives do are taken for positive:

    h(x)   log odds of the ends: P and the unlabelled rows that score above half of P, against the lowest 30 % of U
    H      the rows with h > 1
    A      the share of pairs (labelled, unlabelled) within H in which the labelled row has the higher score of P
           against U: ½ if the labels are at random and H holds positives only

Both scores are held out. H also holds negatives where the classes overlap, so A is compared with its values under
labels at random: positives are drawn with probability s(h + b), as many as U has rows in H, as many of them as there
are labelled positives are labelled at random, and everything is computed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import rankdata, t
from sklearn.preprocessing import MaxAbsScaler

from usmo.core.arrays import Array, Mask
from usmo.core.targets import validate_labelled
from usmo.kernels.row_sampling import row_keys
from usmo.kernels.threads import single_blas
from usmo.priors.best_bin import BestBin
from usmo.priors.scores import cross_fitted, fold_numbers

_BOTTOM, _SURE = 0.3, 1.0
"""Share of U taken for the surest negatives, and the value of h from which a row is taken for positive."""

_FOLDS = 5
_FEWEST = 5
"""Labelled and unlabelled rows that H must hold at least, and labelled positives at least for a test."""

_MOST = 400, 1000
"""Rows of P and of U at most: a test takes seconds, and more rows find differences too small to matter."""

_MOST_COLUMNS = 1000
"""Columns up to which each is compared; in wider tables only the score is."""

LEVEL, SURE = 0.05, 0.01
"""p-values below which words leave it open whether the labels are at random, and say that they are not."""

LIMITS = (
    "The test compares labelled with unlabelled rows that look positive. It cannot see positives of a kind that has no "
    "label at all, and sees less where the classes overlap"
)


@dataclass(frozen=True)
class ScarTest:
    """Result of :func:`scar_test`.

    Attributes
    ----------
    p_value : float
        One-sided; NaN if fewer than five labelled or unlabelled rows are taken for positive.
    statistic, expected : float
        Share of pairs in which the labelled row scores higher, observed and in the mean under labels at random.
    columns : dict
        Columns in which labelled rows differ from unlabelled rows taken for positive, most different first, with
        p-values (two-sided, Holm): the name or number of the column.
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
        if self.p_value >= SURE:
            return f"No clear sign that the labels are not at random (p = {self.p_value:.3f}){where}."
        return (
            f"The labels are not at random (p = {self.p_value:.3f}): labelled rows differ from unlabelled rows that "
            f"look positive{where}. The estimated share of positives is then too small, and probabilities are too low."
        )

    def __str__(self) -> str:
        return f"{self.sentence} {LIMITS}."


def scar_test(
    X: Any, y: Any, *, names: Sequence[Any] | None = None, n_draws: int = 24, random_state: int = 0
) -> ScarTest:
    """Test whether the labelled positives are a random sample of the positives, and find the columns that differ.

    It rests on the assumption that rows between the classes belong to the class that they resemble more; see the
    module for the statistic. It cannot see positives of a kind that has no label at all, and has little power with
    fewer than 20 labelled positives. On large tables it uses 400 labelled and 1,000 unlabelled rows.

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
        return _tested(X, labelled, names, n_draws, rng)


def _tested(X: Any, labelled: Mask, names: Sequence[Any], n_draws: int, rng: np.random.Generator) -> ScarTest:
    keys = row_keys(X, int(rng.integers(2**31)))
    observed = _Comparison.of(X, labelled, keys)
    counts = {"labelled": observed.counts[0], "unlabelled": observed.counts[1]}
    drawn = [_Comparison.of(X, _at_random(observed.h, labelled, rng), keys) for _ in range(n_draws)]
    drawn = [each for each in drawn if min(each.counts) >= _FEWEST]
    if min(observed.counts) < _FEWEST or len(drawn) < 3:
        return ScarTest(np.nan, observed.area, np.nan, {}, **counts)
    areas = np.array([each.area for each in drawn])
    p_value = float(_tail(observed.area, areas))
    sides = _tail(observed.columns, np.stack([each.columns for each in drawn]))
    adjusted = _holm(2.0 * np.minimum(sides, 1.0 - sides))
    order = np.argsort(adjusted, kind="stable")
    columns = {names[j]: float(adjusted[j]) for j in order if adjusted[j] < LEVEL}
    return ScarTest(p_value, observed.area, float(areas.mean()), columns, **counts)


@dataclass(frozen=True)
class _Comparison:
    """h of all rows, how many rows of P and U lie in H, and A for the score and for each column."""

    h: Array
    counts: tuple[int, int]
    area: float
    columns: Array

    @classmethod
    def of(cls, X: Any, labelled: Mask, keys: np.ndarray) -> _Comparison:
        fold, weight = fold_numbers(labelled, keys, _FOLDS), np.ones(len(labelled))
        z = cross_fitted(X, labelled, weight, keys, fold)
        top = labelled | (z >= np.median(z[labelled]))
        bottom = ~top & (z <= np.quantile(z[~labelled], _BOTTOM))
        if not bottom.any():
            bottom = ~top
        if not bottom.any():  # all rows look alike
            return cls(np.zeros(len(z)), (0, 0), np.nan, np.zeros(0))
        h = cross_fitted(X, top, weight, keys, fold, used=top | bottom)
        sure = h > _SURE
        p, u = sure & labelled, sure & ~labelled
        counts = int(np.count_nonzero(p)), int(np.count_nonzero(u))
        if min(counts) < _FEWEST:
            return cls(h, counts, np.nan, np.zeros(0))
        columns = _areas(_dense(X[p]), _dense(X[u])) if X.shape[1] <= _MOST_COLUMNS else np.zeros(0)
        return cls(h, counts, float(_areas(z[p, None], z[u, None])[0]), columns)


def _at_random(h: Array, labelled: Mask, rng: np.random.Generator) -> Mask:
    """Labels of as many rows, at random among positives drawn with probability s(h + b)."""
    count = int(np.count_nonzero(labelled))
    share = float(np.clip(np.mean(h[~labelled] > _SURE), 0.01, 0.99))
    b = brentq(lambda b: float(expit(h[~labelled] + b).mean()) - share, -1e3, 1e3)
    positive = np.flatnonzero(rng.random(len(h)) < expit(h + b))
    if len(positive) < 1.1 * count:  # too few: those with the greatest draws of the same model
        most = min(int(1.1 * count) + 1, len(h))
        positive = np.argsort(-(h + rng.logistic(size=len(h))), kind="stable")[:most]
    drawn = np.zeros(len(h), dtype=bool)
    drawn[rng.choice(positive, count, replace=False)] = True
    return drawn


def _areas(P: Array, U: Array) -> Array:
    """For each column the share of pairs in which the row of P has the greater value, equal values half."""
    ranks = rankdata(np.vstack([P, U]), axis=0)[: len(P)]
    return np.asarray((ranks.sum(axis=0) - 0.5 * len(P) * (len(P) + 1)) / (len(P) * len(U)))


def _tail(value: Any, drawn: Array) -> Any:
    """Probability of a value as great as this, from mean and standard deviation of the draws."""
    count = len(drawn)
    spread = np.maximum(drawn.std(axis=0, ddof=1), 1e-3) * np.sqrt(1.0 + 1.0 / count)
    return t.sf((value - drawn.mean(axis=0)) / spread, count - 1)


def _holm(p_values: Array) -> Array:
    """p-values adjusted for their number."""
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _dense(X: Any) -> Array:
    return X.toarray() if sparse.issparse(X) else X

"""A test of the assumption that the labelled positives are a random sample of the positives.

P and U alone fit any labelling, so the test takes the positives from class structure. With z a score of P against U,

    h(x)   log odds of the ends: P and the unlabelled rows with z above half of P, against the 30 % of U with lowest z
    H      the rows with h > 0: they resemble the surest positives more than the surest negatives

If the labelled rows are a random sample, and a share ρ of the unlabelled rows in H is positive, a held-out score ranks
a labelled row of H above an unlabelled one with probability

    AUC(P, U | H) = ½ρ + (1 - ρ)·AUC(P, N | H) ≤ 1 - ½ρ

however much the classes overlap. A value above this bound for ρ = 0.6 says that the labelled rows stand out more than
negatives in H explain: the obvious positives were labelled. The p-value is that of the rank sum test at the bound.

Both scores are held out, h not wholly: z, which chooses the ends, has seen the labels of all rows. So h ranks labelled
above unlabelled positives of H a little too often: with labels at random (draws 0 to 2 of 16 tables) in 0.53 of the
pairs, in 0.59 with fewer than 40 labelled rows in H. The level is therefore not exact; ``docs/benchmarks.md`` has how
often labels at random are rejected.

The bound, and not ½, is the null hypothesis, because H always has negatives: on large tables any share of them would be
significant. Labels redrawn among the rows that look positive have the same weakness, since they take H for pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import mannwhitneyu, norm
from sklearn.preprocessing import MaxAbsScaler

from usmo.core.arrays import Array, Mask
from usmo.core.targets import validate_labelled
from usmo.kernels.row_sampling import row_keys
from usmo.kernels.threads import single_blas
from usmo.priors.best_bin import BestBin
from usmo.priors.scores import cross_fitted, default_features, fold_numbers

_BOTTOM = 0.3
"""Share of U taken for the surest negatives."""

_POSITIVE = 0.6
"""ρ: labels at random are rejected only if they would need fewer positives than this among the unlabelled rows of H.

On draws 0 to 2 of 15 tables (those of ``benchmarks.random`` without shuttle and MNIST) labels at random are rejected in
1 of 45 draws, and labels that follow the true score most in 34 of 45 (in which the oracle rejects); with 2/3 in 2 and
36, with 0.5 in 0 and 15. There 40 % of the positives are labelled. With 15 % labels at random are rejected in 2 of 45
draws; with 75 %, which leaves few positives in H, in 7, and in 15 with a ρ of 2/3."""

_FOLDS, _LANDMARKS = 5, 100
"""Folds of the held-out scores, and landmarks of their features."""

_FEWEST = 5
"""Labelled and unlabelled rows that H must hold at least, and labelled positives at least for a test."""

_MOST = 400, 1000
"""Rows of P and of U at most: a test takes less than a second, and more rows find differences too small to matter."""

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
        AUC of labelled against unlabelled rows among those taken for positive, observed and at most under labels at
        random; NaN if there is no p-value.
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
    X: Any, y: Any, *, names: Sequence[Any] | None = None, n_draws: int = 5, random_state: int = 0
) -> ScarTest:
    """Test whether the labelled positives are a random sample of the positives, and find the columns that differ.

    It assumes that of the unlabelled rows that resemble the surest positives at least 60 % are positive; see the module
    for the statistic. It cannot see positives that look like negatives, finds strong selection only, and has little
    power with fewer than 20 labelled positives. On large tables it uses 400 labelled and 1,000 unlabelled rows.

    Parameters
    ----------
    X, y : rows and labels as for :meth:`usmo.PUSVC.fit`; labelled negatives are not used
    names : sequence, optional
        Names of the columns; by default those of a data frame, or numbers from 0.
    n_draws : int
        Draws of folds and landmarks, at least 3. The scores are means over them.
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
    rows = np.sort(np.concatenate(parts))
    X, labelled = MaxAbsScaler().fit_transform(X[rows]), np.isin(rows, parts[0])
    with single_blas():
        h = np.mean([_log_odds_of_the_ends(X, labelled, int(rng.integers(2**31))) for _ in range(n_draws)], axis=0)
    return _tested(X, h, labelled, names)


def _log_odds_of_the_ends(X: Any, labelled: Mask, seed: int) -> Array:
    """h of all rows, from one draw of folds and landmarks; 0 if all rows look alike."""
    keys, every, weight = row_keys(X, seed), np.ones(len(labelled), dtype=bool), np.ones(len(labelled))
    fold = fold_numbers(labelled, keys, _FOLDS)
    features = default_features(X, every, weight, keys, _LANDMARKS)
    z = cross_fitted(X, labelled, weight, keys, fold, features=features)
    top = labelled | (z >= np.median(z[labelled]))
    bottom = ~top & (z <= np.quantile(z[~labelled], _BOTTOM))
    if not bottom.any():
        bottom = ~top
    if not bottom.any():
        return np.zeros(len(z))
    return cross_fitted(X, top, weight, keys, fold, used=top | bottom, features=features)


def _tested(X: Any, h: Array, labelled: Mask, names: Sequence[Any]) -> ScarTest:
    looks_positive = h > 0.0
    p, u = looks_positive & labelled, looks_positive & ~labelled
    counts = int(np.count_nonzero(p)), int(np.count_nonzero(u))
    if min(counts) < _FEWEST:
        return ScarTest(np.nan, np.nan, np.nan, {}, *counts)
    observed, bound = _area(h[p], h[u]), 1.0 - 0.5 * _POSITIVE
    # the spread at an area of 1/2: greater than at the bound, unless H has over twice as many rows of P as of U
    spread = np.sqrt((sum(counts) + 1.0) / (12.0 * counts[0] * counts[1]))
    p_value = float(norm.sf((observed - bound) / spread))
    columns: dict[Any, float] = {}
    if p_value < LEVEL and X.shape[1] <= _MOST_COLUMNS:
        adjusted = _holm(mannwhitneyu(_dense(X[p]), _dense(X[u]), method="asymptotic").pvalue)
        order = np.argsort(adjusted, kind="stable")
        columns = {names[j]: float(adjusted[j]) for j in order if adjusted[j] < LEVEL}
    return ScarTest(p_value, observed, bound, columns, *counts)


def _area(labelled: Array, unlabelled: Array) -> float:
    """The share of pairs in which the labelled row has the higher score, equal scores half."""
    above = mannwhitneyu(labelled, unlabelled, method="asymptotic").statistic
    return float(above / (len(labelled) * len(unlabelled)))


def _holm(p_values: Array) -> Array:
    """p-values adjusted for their number."""
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _dense(X: Any) -> Array:
    return X.toarray() if sparse.issparse(X) else X

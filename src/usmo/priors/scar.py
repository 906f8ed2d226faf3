"""A test of the assumption that the labelled positives are a random sample of the positives.

Nowhere may more rows be labelled than labels at random allow (:mod:`usmo.priors.label_share`). How many they allow
depends on the prior. If it is known, nothing else need be assumed of the classes.

If it is not known, P and U alone fit any labelling: many labels at the top of a ranking may mean that only the obvious
positives are labelled, or that there are few positives. The test then takes the prior from class structure: it assumes
that at least as many rows are positive as look positive (:mod:`usmo.priors.structure`). Where few rows are positive and
classes overlap, more rows look positive than are, and labels at random may be rejected:
``docs/benchmarks-labels.md`` has how often. ``largest_prior``, which rests on no such assumption, says what else the
labels may mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import mannwhitneyu
from sklearn.ensemble import RandomForestClassifier

from usmo.core.arrays import Array, Mask
from usmo.core.groups import equal_row_folds
from usmo.core.targets import validate_labelled
from usmo.kernels.row_sampling import row_keys
from usmo.kernels.threads import single_blas
from usmo.priors.best_bin import BestBin
from usmo.priors.label_share import Excess, LabelShares
from usmo.priors.samples import of_one_unit
from usmo.priors.scores import cross_fitted, default_features
from usmo.priors.structure import looks_positive

_FOLDS, _TREES, _LANDMARKS = 5, 20, 100
"""Folds of the held-out scores, trees of a draw, and landmarks of its radial features."""

_FEWEST = 5
"""Fewest labelled and fewest unlabelled rows of a table, and fewest of each that look positive."""

_MOST = 400, 1000
"""Rows of P and of U at most: a test takes a second or two, and more rows find differences too small to matter."""

_KEPT, _LEAST = 1500, 50
"""Unlabelled rows up to which P is used as it is if the prior is not given. Of larger tables P is thinned with U, to 50
rows at least: many labelled rows beside few unlabelled ones make negatives look positive. Of tables of 12,000 rows in
which 6 % of the unlabelled rows are positive and classes overlap, 20 to 32 % look positive beside 400 labelled rows, 11
to 18 % beside 60."""

_MOST_COLUMNS = 1000
"""Columns up to which each is compared; in wider tables none is."""

LEVEL = 0.05
"""p-value below which labels at random are rejected."""

LIMITS_WITH_PRIOR = (
    "The test cannot see positives that look like negatives, and sees less where the classes overlap"
)
LIMITS = f"{LIMITS_WITH_PRIOR}. Negatives of a kind that looks positive are taken for positives without labels"

OFTEN_REJECTED = (
    "Of the rows that the test uses, more are labelled than look positive without a label: "
    "labels at random are then often taken for labels that are not."
)
"""On 17 tables with 80 % of the positives labelled at random, the test without the prior rejects in most draws."""


@dataclass(frozen=True)
class ScarTest:
    """Result of :func:`scar_test`.

    Attributes
    ----------
    p_value : float
        One-sided; NaN if the prior is not given and fewer than five labelled or unlabelled rows look positive.
    statistic, expected : float
        The share of labelled rows at the top of the ranking where it exceeds most what labels at random allow, and the
        share that they allow; NaN if there is no p-value.
    columns : dict
        Columns in which labelled rows differ from unlabelled rows that look positive, most different first, with
        p-values (Mann-Whitney, Holm): the name or number of the column. Empty if labels at random are not rejected.
    labelled, unlabelled : int
        Rows that look positive with a probability above ½, of those that the test uses.
    largest_prior : float
        The largest prior that labels at random allow, at a confidence of 95 %; 1 if they allow every one.
    prior : float
        The prior that was given; if none was, the share of the rows that looks positive: each counts with its
        probability, which is 1 for labelled rows.
    given : bool
        Whether the prior was given.
    """

    p_value: float
    statistic: float
    expected: float
    columns: dict[Any, float]
    labelled: int
    unlabelled: int
    largest_prior: float
    prior: float
    given: bool

    @property
    def differs(self) -> bool:
        """Whether labels at random are rejected at the level of 5 %."""
        return bool(self.p_value < LEVEL)

    @property
    def sentence(self) -> str:
        """The result in words."""
        below = f"at random allow a share of positives below {self.largest_prior:.3g}"
        allowed = f" Labels {below}." if self.largest_prior < 1.0 else ""
        if np.isnan(self.p_value):
            return f"Whether the labels are at random cannot be told: too few rows look positive.{allowed}"
        p = f"p = {self.p_value:.3f}" if self.differs else f"p = {self.p_value:.2f}"
        if not self.differs:
            rests = f" if the share of positives is {self.prior:.3g}" if self.given else ""
            return f"No sign that the labels are not at random{rests} ({p}).{allowed if self.given else ''}"
        most = ", ".join(str(name) for name in list(self.columns)[:3])
        where = f" Labelled rows differ from unlabelled rows that look positive most in {most}." if most else ""
        if self.given:
            return (
                f"The labels are not at random if the share of positives is {self.prior:.3g} ({p}): labels {below}."
                f"{where} "
                "Probabilities of positives that are unlike the labelled ones are too low."
            )
        found = (
            f"There are signs that the labels are not at random ({p}): labels {below}, and a share of "
            f"{self.prior:.3g} looks positive.{where} If the share is below {self.largest_prior:.3g}, the labels "
            f"may be at random. If not, an estimated share below {self.prior:.3g} is too small, and probabilities are "
            "too low."
        )
        return f"{found} {OFTEN_REJECTED}" if self.expected > 0.5 else found

    def __str__(self) -> str:
        return f"{self.sentence} {LIMITS_WITH_PRIOR if self.given else LIMITS}."


def scar_test(
    X: Any, y: Any, *, names: Sequence[Any] | None = None, prior: float | None = None,
    scenario: str = "case-control", n_draws: int = 4, random_state: int = 0,
) -> ScarTest:  # fmt: skip
    """Test whether the labelled positives are a random sample of the positives, and find the columns that differ.

    With the ``prior`` the test assumes nothing of the classes, and rejects labels at random in about 5 % of all cases
    at most; in more if positives lie in small tight clusters and most of them are labelled. Rows must be independent.
    Without it the test assumes that at least as many rows are positive as look positive. On the tables measured, with
    40 % of the positives labelled, it then rejects labels at random in 6 to 18 % of all cases, most where few rows are
    positive; with 80 % labelled, in most cases. ``largest_prior`` says how few positives it would take. With or without
    the prior, the test cannot see positives that look like negatives, finds strong selection only, and little with
    fewer than 20 labelled positives. At most 400 labelled and 1,000 unlabelled rows are used; without the prior,
    of a table with more than 1,500 unlabelled rows, labelled ones in proportion, 50 at least. See the module for the
    statistics.

    Parameters
    ----------
    X, y : rows and labels as for :meth:`usmo.PUSVC.fit`; known negatives are not used
    names : sequence, optional
        Names of the columns; by default those of a data frame, or numbers from 0.
    prior : float, optional
        The share of positives in this table, if it is known; not an estimate, which itself assumes labels at random.
        With the share of a population the test rejects too often where most positives are labelled.
    scenario : {"case-control", "censored"}
        What ``prior`` and ``largest_prior`` refer to: the unlabelled rows, or all rows.
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
    if scenario not in ("case-control", "censored"):
        raise ValueError(f"scenario must be 'case-control' or 'censored', got {scenario!r}")
    named = BestBin(scenario=scenario)
    X, y, rule = validate_labelled(named, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
    kinds = rule.kinds(y)
    if names is None:
        names = getattr(named, "feature_names_in_", np.arange(X.shape[1])).tolist()
    if len(names) != X.shape[1]:
        raise ValueError(f"names must have one name per column, {X.shape[1]}; got {len(names)}")
    n_p, n_u = (int(np.count_nonzero(kinds == kind)) for kind in (1, 0))
    if min(n_p, n_u) < _FEWEST:
        raise ValueError(
            f"scar_test needs at least {_FEWEST} labelled positives and {_FEWEST} unlabelled rows, got {n_p} and {n_u}"
        )
    low, high = possible_priors(n_p, n_u, len(y), scenario)
    if prior is not None and not (isinstance(prior, Real) and low < float(prior) < high):
        why = " (labelled rows and all rows but the known negatives)" if scenario == "censored" else ""
        raise ValueError(f"prior must be a number between {low:.3g} and {high:.3g}{why}, or None; got {prior!r}")
    rng = np.random.default_rng(random_state)
    most = _most_rows(n_p, n_u) if prior is None else _MOST
    parts = [rng.permutation(np.flatnonzero(kinds == kind))[:m] for kind, m in zip((1, 0), most, strict=True)]
    rows = np.sort(np.concatenate(parts))
    X, labelled = of_one_unit(X[rows]), np.isin(rows, parts[0])
    with single_blas():
        z, m = np.mean([_drawn_scores(X, labelled, rng) for _ in range(n_draws)], axis=0)
        shares = LabelShares(z, labelled, rng)
        bound = shares.largest_share(LEVEL)
        p, u = labelled & (m > 0.5), ~labelled & (m > 0.5)
        alike = int(np.count_nonzero(p)), int(np.count_nonzero(u))
        share = float(m[~labelled].mean()) if prior is None else (float(prior) - low) / (high - low)
        found = Excess(np.nan, np.nan, np.nan)
        if prior is not None or min(alike) >= _FEWEST:
            found = shares.excess(share)
    columns = _columns_that_differ(X[p], X[u], names) if found.p_value < LEVEL and min(alike) >= _FEWEST else {}
    tested = low + (high - low) * share if prior is None else float(prior)
    largest = low + (high - low) * bound if bound < 1.0 else 1.0
    if found.p_value < LEVEL:  # the search by halves may miss a rejected share among others that are not
        largest = min(largest, tested)
    return ScarTest(*found, columns, *alike, largest, tested, prior is not None)


def _most_rows(labelled: int, unlabelled: int) -> tuple[int, int]:
    """The rows of P and of U that are used at most if the prior is not given."""
    share = min(1.0, _KEPT / unlabelled)
    return min(_MOST[0], max(_LEAST, round(share * labelled))), _MOST[1]


def possible_priors(labelled: int, unlabelled: int, rows: int, scenario: str) -> tuple[float, float]:
    """The priors between which none and all of the unlabelled rows are positive."""
    return (labelled / rows, (labelled + unlabelled) / rows) if scenario == "censored" else (0.0, 1.0)


def _drawn_scores(X: Any, labelled: Mask, rng: np.random.Generator) -> Array:
    """z and m of all rows from one draw of folds and landmarks.

    z is the mean of two held-out scores, each with a standard deviation of 1: of a logistic regression on radial
    features, whose scales and landmarks come from all rows, and of a random forest.
    """
    seed, weight = int(rng.integers(2**31)), np.ones(len(labelled))
    keys = row_keys(X, seed)
    fold = equal_row_folds(labelled, keys, _FOLDS)
    forest = RandomForestClassifier(_TREES, min_samples_leaf=3, random_state=seed)
    features = default_features(X, weight > 0.0, weight, keys, _LANDMARKS)
    scores = (
        cross_fitted(X, labelled, weight, keys, fold, forest),
        cross_fitted(X, labelled, weight, keys, fold, features=features),
    )
    z = np.mean([score / max(float(score.std()), 1e-12) for score in scores], axis=0)
    return np.array([z, looks_positive(X, labelled, weight, keys, fold, _TREES, seed)])


def _columns_that_differ(P: Any, U: Any, names: Sequence[Any]) -> dict[Any, float]:
    """The columns in which two samples differ, most different first, with adjusted p-values; none of wide tables."""
    if P.shape[1] > _MOST_COLUMNS:
        return {}
    adjusted = _holm(mannwhitneyu(_dense(P), _dense(U), method="asymptotic").pvalue)
    order = np.argsort(adjusted, kind="stable")
    return {names[j]: float(adjusted[j]) for j in order if adjusted[j] < LEVEL}


def _holm(p_values: Array) -> Array:
    """p-values adjusted for their number."""
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _dense(X: Any) -> Array:
    return X.toarray() if sparse.issparse(X) else X

"""What takes further fits: decision values of held-out rows, what another prior would change, the test of the labels.

All refits use the model's prior, λ and γ. A table of more than ``ROWS`` rows is replaced by a random sample.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from usmo.core.arrays import Array, Index
from usmo.core.groups import group_folds
from usmo.estimators.counts import Counts, expected_positives
from usmo.estimators.sensitivity import Sensitivity, prior_sensitivity, unfitted_copy
from usmo.priors import ScarTest, scar_test
from usmo.priors.scar import possible_priors
from usmo.report.influence import losses

ROWS = 5_000
"""Rows up to which all are used: ten fits of this size take some seconds."""

FEWEST = 5
"""Fewest known positives, and fewest unlabelled rows, with which some are held out: one of each per fold."""

_PRIORS = 5
"""Priors that are compared, the model's own among them."""

_TESTED_COLUMNS = 1000
"""Columns up to which the test of labels at random is made: about a second."""


@dataclass(frozen=True)
class HeldOut:
    """Decision values of rows by models that were fitted without them; ``sampled`` if not all rows were used.

    ``lost`` has the AUC that shuffling each column of the table costs, a line for each fold; None if not tried.
    ``grouped`` says that rows of one group shared a fold.
    """

    f: Array
    labels: np.ndarray
    folds: int
    sampled: bool
    lost: Array | None = None
    grouped: bool = False


def held_out(
    model: Any, X: Any, labels: np.ndarray, groups: dict[str, Index] | None = None, *,
    most: int | None = None, parts: int = FEWEST, trees: int | None = None, row_groups: Index | None = None,
) -> HeldOut | None:  # fmt: skip
    """Decision values of each row from a model fitted on the other folds; None if P or U has too few rows.

    At most ``most`` rows are used, in ``parts`` folds, and ``trees`` for a kernel of trees. With ``groups``, columns of
    X by column of the table, each fold also tries what shuffling a column costs. Rows of one of ``row_groups``, a value
    per row, share a fold; None if all known positives, or all unlabelled rows, are of one group.
    """
    rows = _rows(model, labels, ROWS if most is None else most)
    y = labels[rows]
    if not _at_random(model):  # the measures assume that positives were labelled at random
        return None
    if min(np.count_nonzero(y == 1), np.count_nonzero(y == 0)) < FEWEST:
        return None
    f = np.empty(len(rows))
    splits = _splits(parts, y, None if row_groups is None else row_groups[rows])
    if len(splits) < 2:
        return None
    template, lost = unfitted_copy(model), []
    if hasattr(model, "propensity_model_"):  # a constant one changes nothing
        template.set_params(propensity=None, propensity_columns=None)
    if trees is not None and "n_trees" in template.get_params(deep=False):
        template.set_params(n_trees=min(trees, template.n_trees))
    for train, test in splits:
        fitted = clone(template)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted.fit(_part(model, X, rows[train], rows[train]), y[train])
        f[test] = fitted.decision_function(_part(model, X, rows[test], rows[train]))
        if groups and {0, 1} <= set(y[test].tolist()):
            lost.append(losses(fitted.decision_function, X, rows[test], y[test], groups, len(splits)))
    tried = np.array(lost) if lost else None
    return HeldOut(f, y, len(splits), len(rows) < len(labels), tried, row_groups is not None)


def _at_random(model: Any) -> bool:
    """Whether the fit took the labels to be at random: no propensities were given, nor estimated to differ."""
    found = getattr(model, "propensity_model_", None)
    return not hasattr(model, "propensity_") if found is None else found.is_constant


def _splits(parts: int, y: np.ndarray, groups: Index | None) -> list[tuple[Index, Index]]:
    """The rows to train on and those held out, for each fold; with groups there may be fewer folds than asked for."""
    if groups is None:
        return list(StratifiedKFold(parts, shuffle=True, random_state=0).split(np.zeros(len(y)), y))
    fold = group_folds(groups, y, np.ones(len(y)), parts)
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(fold.max() + 1)]


def sensitivity(
    model: Any, X: Any, labels: np.ndarray, f: Array, whole: Counts, *, top: int
) -> Sensitivity | None:
    """Fit again with five priors (:func:`prior_sensitivity`); None if that does not repeat the model.

    The model's own prior is among them, with the counts of the model itself; those of a sample are scaled to all
    rows. If that fit does not give the model's decision values ``f`` (it was fitted
    with weights or propensities, or on other rows), the comparison would mislead.
    """
    rows = _rows(model, labels, ROWS)
    y = labels[rows]
    counts = [int(np.count_nonzero(y == kind)) for kind in (1, 0, -1)]
    if not counts[0] or not counts[1] or hasattr(model, "propensity_model_"):  # each prior has its own propensity
        return None
    prior, sampled = float(model.prior_), len(rows) < len(labels)
    expected = expected_positives(prior, counts[0], counts[1], model.scenario, counts[2])
    top = max(1, min(top, round(expected)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refits = prior_sensitivity(model, _part(model, X, rows, rows), y, count=_PRIORS, top=top)
    own = int(np.argmin(np.abs(refits.priors - prior)))
    if not sampled and np.abs(refits.f[own] - f)[labels == 0].mean() > 0.05 * (
        1.0 + np.abs(f[labels == 0]).mean()
    ):
        return None
    marked = np.round(refits.positives * (whole.unlabelled / refits.rows)).astype(int)
    marked[own] = whole.marked
    implied = [
        expected_positives(value, whole.positives, whole.unlabelled, model.scenario, whole.negatives)
        for value in refits.priors.tolist()
    ]
    return replace(refits, positives=marked, expected=np.array(implied), sampled=sampled)


def _rows(model: Any, labels: np.ndarray, most: int) -> Index:
    """All rows, or a sample of ``most``. In the censored scenario it keeps all shares, else labelled rows if it can."""
    if len(labels) <= most:
        return np.arange(len(labels))
    rng = np.random.default_rng(0)
    labelled, unlabelled = np.flatnonzero(labels), np.flatnonzero(labels == 0)
    if model.scenario == "censored":
        take = max(1, round(most * len(labelled) / len(labels)))
    else:
        take = min(len(labelled), max(most // 2, most - len(unlabelled)))
    parts = rng.choice(labelled, take, replace=False), rng.choice(unlabelled, most - take, replace=False)
    return np.sort(np.concatenate(parts))


def _part(model: Any, X: Any, rows: Index, against: Index) -> Any:
    """Some rows of X; of a kernel matrix, the block of these rows and the columns of ``against``."""
    if getattr(model, "kernel", None) == "precomputed":
        return X[rows][:, against]
    return X[rows]


def labels_test(
    model: Any, X: Any, labels: np.ndarray, names: Sequence[Any] | None = None, *, row_groups: Any = None,
    scenario: str = "case-control",
) -> ScarTest | None:  # fmt: skip
    """The test of labels at random; None if propensities are given, for kernel matrices, wide tables and few labels.

    Estimated propensities do not replace it: they may be constant, or rest on a prior that was estimated as if labels
    were at random.

    It takes rows as independent, so there is none for rows in groups either. A prior that was given is used, unless
    it leaves no unlabelled row positive, or none negative, or the model was adapted to another mixture. The scenario is
    that of the model, if there is one.
    """
    given = hasattr(model, "propensity_") and not hasattr(model, "propensity_model_")
    told = given or getattr(model, "kernel", None) == "precomputed"
    n_p, n_u = (int(np.count_nonzero(labels == kind)) for kind in (1, 0))
    if told or row_groups is not None or X.shape[1] > _TESTED_COLUMNS or min(n_p, n_u) < FEWEST:
        return None
    scenario, prior = getattr(model, "scenario", scenario), getattr(model, "prior", None)
    low, high = possible_priors(n_p, n_u, len(labels), scenario)
    known = float(prior) if isinstance(prior, Real) and prior == model.prior_ else None
    if known is not None and not low < known < high:
        known = None
    return scar_test(X, labels, names=names, prior=known, scenario=scenario)

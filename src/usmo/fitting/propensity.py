"""The propensity e(x) = P(labelled | positive, x), estimated from one sample of labelled and unlabelled rows.

SAR-EM (Bekker, Robberechts, Davis 2019), with a classifier f whose fits are convex. A round has three steps:

1. f is fitted, without each fold in turn, to soft labels: 1 for labelled rows, and for the others the probability of
   being positive though not labelled, q = p·(1-e) / (1-p·e). Each fit is certified and starts from that of the round
   before. In the first round f is the usual fit, which assumes labels at random.
2. p and e are fitted to f on the rows left out (:mod:`usmo.fitting.label_likelihood`): p is a logistic function of f
   and of the columns that e depends on, e one of these columns, or of f and increasing in it.
3. q follows from p and e.

The rounds end when the evidence of the labels does not rise; the round of the largest evidence counts. f is taken from
rows left out, because a kernel classifier fits the labelled rows of its own training table however they arose.
"""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning

from usmo.core.arrays import Array, Index, Mask
from usmo.core.groups import check_divisible, equal_row_folds, group_folds
from usmo.core.table import Table
from usmo.core.weights import row_count
from usmo.fitting.fit import Fit, fit_table
from usmo.fitting.label_likelihood import LabelData, LabelModel, fit_labels
from usmo.fitting.newton import Start
from usmo.fitting.path import path_values
from usmo.fitting.specification import Specification
from usmo.fitting.trees import with_trees
from usmo.kernels.row_sampling import row_keys, take_rows
from usmo.solvers import starts
from usmo.system import caller
from usmo.system.stages import PROPENSITY, announce

FOLDS = 5
"""Folds of the held-out decision values."""

FEWEST = 10
"""Labelled rows that an estimate needs at least."""

MOST_ROWS = 4000
"""Rows of each kind that an estimate uses at most: two coefficients per column need no more."""

MOST_COLUMNS = 500
"""Columns that a propensity depends on at most. The curvature of the likelihood is a dense matrix, computed by
differences with two objectives per coefficient: the time grows with the square of the columns."""

SMALLEST = 0.05
"""Estimates below are raised to it: a single labelled row counts at most as twenty."""

_LOOSE, _MOST_TREES = 1e-2, 100
"""Tolerance of the fits in folds, and trees of their forest kernels."""

_NEGLIGIBLE = 1e-6
"""Soft labels below are 0."""


@dataclass(frozen=True)
class Propensity:
    """An estimated propensity: s(intercept + coef·z), z the columns, or the held-out decision value, standardised.

    ``columns`` are the numbers of the columns; empty if e depends on the decision value. ``spread`` is the τ of the
    shrinkage, 0 for a constant e. ``evidence`` is the log evidence of the labels after each round, and ``gain`` that of
    the last round less that of a constant e. ``prior`` is the prior that fixes the level.
    """

    columns: Index
    intercept: float
    coef: Array
    centre: Array
    scale: Array
    spread: float
    evidence: tuple[float, ...]
    gain: float
    prior: float

    @property
    def is_constant(self) -> bool:
        """Whether the labels give no reason to doubt that they are at random, as far as the model can see."""
        return self.spread == 0.0

    def __call__(self, values: Any) -> Array:
        """e for values of the columns, one row each, or for decision values."""
        values = np.asarray(values, dtype=np.float64).reshape(-1, len(self.coef))
        z = (values - self.centre) / self.scale
        return np.maximum(expit(self.intercept + z @ self.coef), SMALLEST)


@dataclass(frozen=True)
class PropensityFit:
    """The propensity, its values at the labelled rows, and the rows used with their soft labels and weights.

    ``fits`` are those of the last round, one for each fold.
    """

    propensity: Propensity
    labelled: Array
    rows: Index
    q: Array
    weight: Array
    fits: tuple[Fit, ...]


@dataclass(frozen=True)
class _Sample:
    """Rows used: a table of them, and of labelled rows not used; ``fold`` is -1 for these."""

    table: Table
    origin: Index
    labelled: Mask
    weight: Array
    fold: Index

    @property
    def used(self) -> Index:
        return np.flatnonzero(self.fold >= 0)


def estimate_propensity(
    table: Table, spec: Specification, prior: float, lam: float, columns: Index | None, *, prior_error: float = 0.0,
    max_iter: int = 10, tol: float = 0.1,
) -> PropensityFit:  # fmt: skip
    """Estimate e on a censored sample with a prior of this standard error, by rounds of the steps above.

    ``columns`` None is an e that increases with f. Known negatives are left out. ``tol`` is the rise of the log
    evidence below which the rounds end.
    """
    refuse_few(table)
    if columns is not None:
        refuse_many(columns)
    announce(PROPENSITY)
    spec = replace(
        spec.unlimited(), approximation=None, eta=0.0, tol=max(_LOOSE, spec.tol),
        n_trees=min(_MOST_TREES, spec.n_trees),
    )  # fmt: skip
    sample = _sample(table, spec.seed)
    both = np.union1d(table.labelled, table.unlabelled)
    total, own = (float(table.sample_weight(rows).sum()) for rows in (table.rows, both))
    share = min(prior * total / own, 0.99)  # among the rows that are not labelled negative
    q: Array | None = None
    fits: list[Fit | None] = [None] * FOLDS
    history: list[float] = []
    best: tuple[_Round, Array, tuple[Fit, ...]] | None = None
    for _ in range(max_iter + 1):
        f, fits = _held_out(sample, spec, share, lam, q, fits)
        found = _round(sample, f, (share, prior_error * total / own), columns, table.X)
        if best is not None and found.model.evidence < history[-1] + tol:
            break
        history.append(found.model.evidence)
        q = _soft_labels(sample, found)
        best = found, q, tuple(fit for fit in fits if fit is not None)
    else:
        caller.warn(
            f"max_iter={max_iter} ended the estimate of the propensity while the evidence still rose, in the last "
            f"round by {history[-1] - history[-2]:.2g}",
            ConvergenceWarning,
            topic="propensity-not-converged",
        )
    assert best is not None
    found, q, kept = best
    propensity = found.propensity(columns, tuple(history), prior)
    values = propensity(_labelled_values(table, spec, lam, sample, found, q, columns))
    used = sample.used
    return PropensityFit(propensity, values, sample.origin[used], q[used], sample.weight[used], kept)


def refuse_few(table: Table) -> None:
    """Raise an error if there are too few labelled rows; a row of weight two counts as two."""
    n = row_count(table.sample_weight(table.labelled))
    if n < FEWEST:
        raise ValueError(f"propensity='estimate' needs at least {FEWEST} labelled positives, got {n:g}")


def refuse_many(columns: Sized) -> None:
    """Raise an error if a propensity would depend on too many columns."""
    if len(columns) > MOST_COLUMNS:
        raise ValueError(
            f"propensity_columns must name at most {MOST_COLUMNS} encoded columns, of which each category is one, "
            f"got {len(columns)}: name fewer columns"
        )


def _sample(table: Table, seed: int) -> _Sample:
    """Labelled and unlabelled rows, dealt to folds by groups, or in the order of keys of their values.

    Equal rows share a fold. Of each kind the rows of the first ``MOST_ROWS`` keys are used, with weights that keep the
    weight of the kind.
    """
    parts: list[tuple[Index, Array, np.ndarray, Mask]] = []
    for kind in (table.labelled, table.unlabelled):
        keys = row_keys(table.X, seed, kind)
        _, place = np.unique(keys, return_inverse=True)
        is_used, w = place < MOST_ROWS, table.sample_weight(kind)
        keep = is_used | (kind is table.labelled)
        weight = np.where(is_used, w * (w.sum() / w[is_used].sum()), 0.0)
        parts.append((kind[keep], weight[keep], keys[keep], is_used[keep]))
    different = [len(np.unique(keys)) for _, _, keys, _ in parts]
    if table.groups is None and min(different) < 2:
        raise ValueError(
            "propensity='estimate' needs at least 2 different labelled and 2 different unlabelled rows, since equal "
            f"ones share a fold; got {different[0]} and {different[1]}"
        )
    origin, weight, keys, used = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    labelled = np.arange(len(origin)) < len(parts[0][0])
    fold = np.where(used, equal_row_folds(labelled, keys, FOLDS), -1)
    if table.groups is not None:
        group, kind = table.groups[origin], labelled.astype(np.intp)
        check_divisible(
            group[labelled], group[~labelled], FOLDS, "propensity='estimate'", "give propensities instead"
        )
        fold = np.where(fold >= 0, group_folds(group, kind, weight, FOLDS), -1)
    weight *= row_count(table.sample_weight(origin[fold >= 0])) / weight.sum()
    none = np.arange(0)
    small = Table(take_rows(table.X, origin), table.classes, none, none, weight)
    return _Sample(small, origin, labelled, weight, fold)


@dataclass(frozen=True)
class _Round:
    """p and e of one round, the columns they were fitted to, and how these were standardised."""

    model: LabelModel
    data: LabelData
    centre: Array
    scale: Array

    def propensity(self, columns: Index | None, history: tuple[float, ...], prior: float) -> Propensity:
        gain, level = self.model.evidence - self.model.evidence_constant, self.model.u
        if self.model.spread == 0.0:  # the prior says it exactly
            share = float(self.data.weight @ self.data.labelled) / float(self.data.weight.sum())
            level = float(logit(min(share / self.data.prior, 1.0 - 1e-9)))
        return Propensity(
            np.arange(0) if columns is None else columns, level, self.model.v, self.centre, self.scale,
            self.model.spread, history, gain, prior,
        )  # fmt: skip


def _round(
    sample: _Sample, f: Array, prior: tuple[float, float], columns: Index | None, X: Any
) -> _Round:  # fmt: skip
    """Fit p and e to held-out decision values, and to columns of the table; ``prior`` comes with its error."""
    used = sample.used
    score, centre, scale = _standardised(f[used, None], sample.weight[used])
    A = Z = score
    if columns is not None:
        Z, centre, scale = _standardised(column_values(X, sample.origin[used], columns), sample.weight[used])
        A = np.hstack([score, Z])
    data = LabelData(A, Z, sample.labelled[used], sample.weight[used], *prior, increasing=columns is None)
    return _Round(fit_labels(data), data, centre, scale)


def _soft_labels(sample: _Sample, found: _Round) -> Array:
    """The probability of being positive of each row used, given its label."""
    p, e = found.model.positive(found.data.A), found.model.propensity(found.data.Z)
    q = np.zeros(len(sample.origin))
    q[sample.used] = np.where(found.data.labelled, 1.0, p * (1.0 - e) / (1.0 - p * e))
    return np.where(q < _NEGLIGIBLE, 0.0, q)


def _held_out(
    sample: _Sample, spec: Specification, share: float, lam: float, q: Array | None, before: list[Fit | None]
) -> tuple[Array, list[Fit | None]]:
    """f of every row used, from the fit that left out its fold, and the fits."""
    f, fits = np.zeros(len(sample.origin)), list(before)
    for k in range(FOLDS):
        out = np.flatnonzero(sample.fold == k)
        table, prior = _problem_table(sample, (sample.fold >= 0) & (sample.fold != k), q, share)
        table = with_trees(table, table.problem(prior, lam, spec.risk), spec)
        fit = fit_table(table, spec, prior, lam, start=_start(table, spec, prior, lam, before[k]))
        f[out], fits[k] = path_values(table, [fit], spec, out)[0], fit
    return f, fits


def _problem_table(sample: _Sample, kept: Mask, q: Array | None, share: float) -> tuple[Table, float]:
    """The table of a fit to soft labels, or to the labels if there are none yet, and its prior."""
    weight = np.where(kept, sample.weight, 0.0)
    if q is None:
        labelled = sample.labelled
        table = replace(
            sample.table, labelled=np.flatnonzero(kept & labelled), unlabelled=np.flatnonzero(kept & ~labelled),
            weight=weight,
        )  # fmt: skip
        return table, share
    inverse = np.divide(1.0, q, out=np.ones(len(q)), where=q > 0.0)
    soft = replace(
        sample.table, labelled=np.flatnonzero(kept & (q > 0.0)), unlabelled=np.flatnonzero(kept & (q == 0.0)),
        weight=weight, propensity=inverse,
    )  # fmt: skip
    return soft, soft.implied_prior


def _start(table: Table, spec: Specification, prior: float, lam: float, before: Fit | None) -> Start | None:
    """The solution of the round before: its coefficients, or its share of each bound."""
    if before is None:
        return None
    if spec.kernel is None:
        assert before.coef is not None
        return before.coef, before.solution.beta
    problem = table.problem(prior, lam, spec.risk)
    share = np.zeros(table.X.shape[0])
    share[before.problem.c_rows] = before.solution.sigma / before.problem.c
    return starts.previous(problem, share[problem.c_rows])


def _labelled_values(
    table: Table, spec: Specification, lam: float, sample: _Sample, found: _Round, q: Array, columns: Index | None
) -> Array:
    """What e depends on, for every labelled row of the table: its columns, or its decision value.

    Rows that the estimate did not use get the decision value of a fit to all rows that it did use.
    """
    if columns is not None:
        return column_values(table.X, table.labelled, columns)
    values = np.zeros(len(sample.origin))
    values[sample.used] = found.data.Z[:, 0] * found.scale + found.centre
    others = np.flatnonzero(sample.fold < 0)
    if len(others):
        small, prior = _problem_table(sample, sample.fold >= 0, q, found.data.prior)
        small = with_trees(small, small.problem(prior, lam, spec.risk), spec)
        values[others] = path_values(small, [fit_table(small, spec, prior, lam)], spec, others)[0]
    return values[sample.labelled][:, None]


def column_values(X: Any, rows: Index, columns: Index) -> Array:
    """Some columns of some rows, dense."""
    part = take_rows(X, rows)[:, columns]
    return np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)


def _standardised(values: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Columns of mean 0 and variance 1, their means and deviations; a constant column becomes 0."""
    centre = np.average(values, axis=0, weights=weight)
    scale = np.sqrt(np.average((values - centre) ** 2, axis=0, weights=weight))
    scale = np.where(scale > 1e-12 * (1.0 + np.abs(centre)), scale, 1.0)
    return (values - centre) / scale, centre, scale

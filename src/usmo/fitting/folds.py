"""Rows dealt to folds, and decision values of fits on the rows that each fold leaves out.

Equal rows share a fold, and their weights add up. So a choice made by folds does not depend on the order of the rows,
and a row of weight two counts as two equal rows. With groups, the rows of a group share a fold instead, and equal rows
of different groups may lie in different folds. Large tables are represented by a sample of their rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from usmo.core.arrays import Array, Index
from usmo.core.groups import check_divisible, group_folds
from usmo.core.labels import Risk
from usmo.core.problem import Problem
from usmo.core.table import Table
from usmo.core.weights import row_count
from usmo.fitting.path import fit_path, path_values
from usmo.fitting.specification import Specification
from usmo.fitting.trees import with_trees
from usmo.kernels.row_sampling import distinct_rows, distinct_rows_by_kind, entries_per_row, take_rows
from usmo.metrics.measures import risk_of_sample
from usmo.metrics.sample import PUSample

FOLDS = 3
"""Folds by default."""

_LOOSE = 1e-2
"""Tolerance of the fits in folds. Against 1e-5 it moves risks by less than a hundredth of their standard error."""

_KERNEL_ROWS, _LINEAR_ROWS = 8000, 80_000
"""Rows of each kind that a selection uses at most, with a kernel and for a linear function of the columns."""

_COPIED = 2**25
"""Entries of the rows of each kind (256 MB) above which a linear selection uses fewer of them, since it copies them."""


def rows_limit(spec: Specification) -> int:
    """Rows of each kind that a selection uses at most."""
    return _LINEAR_ROWS if spec.kernel is None else _KERNEL_ROWS


_Shares = tuple[Index, Array, Index]
"""Row, weight and fold of each share of a row."""


class Trial(NamedTuple):
    """A specification and the λ to try with it."""

    spec: Specification
    lams: Array


@dataclass(frozen=True)
class Folds:
    """Distinct rows dealt to folds: ``rows`` are rows of ``table``, ``origin`` the same rows in the user's table."""

    table: Table
    rows: Index
    origin: Index
    kind: Index
    weight: Array
    fold: Index

    @property
    def count(self) -> int:
        """The number of folds."""
        return int(self.fold.max()) + 1

    @property
    def propensity(self) -> Array | None:
        """The propensity of each row, if there are propensities."""
        return None if self.table.propensity is None else self.table.propensity[self.rows]

    def problems_without(self, k: int, risk: Risk, prior: float, lams: Array) -> list[Problem]:
        """The problems of all λ without one fold."""
        kept = self.fold != k
        weight = np.zeros(self.table.X.shape[0])
        np.add.at(weight, self.rows[kept], self.weight[kept])
        kinds = {kind: np.unique(self.rows[kept & (self.kind == kind)]) for kind in (1, 0, -1)}
        own = replace(self.table, labelled=kinds[1], unlabelled=kinds[0], negatives=kinds[-1], weight=weight)
        return [own.problem(prior, lam, risk) for lam in lams]

    def risk_of(self, f: Array, prior: float, risk: Risk) -> tuple[float, float]:
        """The risk of decision values of all rows, and its standard error."""
        in_u = self.kind == 0 if risk.scenario == "case-control" else np.ones(len(f), dtype=bool)
        sample = PUSample(self.rows, f, self.weight, self.kind == 1, in_u, self.kind == -1)
        in_p = self.weight if self.propensity is None else self.weight / self.propensity
        return risk_of_sample(sample, in_p, prior, risk)


def deal(table: Table, spec: Specification, folds: int, seed: int) -> Folds:
    """Deal the distinct rows of each kind, or a sample of them, to the folds."""
    precomputed = spec.kernel is not None and spec.kernel.name == "precomputed"
    # rows of a kernel matrix that are equal have equal columns too: they are not looked for
    content = np.arange(table.X.shape[0])[:, None] if precomputed else table.X
    most = min(rows_limit(spec), max(_KERNEL_ROWS, _COPIED // entries_per_row(content)))
    kinds = {1: table.labelled, 0: table.unlabelled}
    if len(table.unlabelled) == 0:  # soft labels, all of them above 0
        del kinds[0]
    if len(table.negatives) and (spec.eta > 0.0 or spec.scenario == "censored"):
        kinds[-1] = table.negatives
    # with propensities, soft labels too, every row is one of the unlabelled sample
    others = table.unlabelled if table.propensity is None else table.sample(spec.scenario)
    counts = [row_count(table.sample_weight(rows)) for rows in (table.labelled, others)]
    if min(counts) < 2:
        raise ValueError(
            "lam='cv' needs at least 2 labelled positives and 2 unlabelled rows, got "
            f"{counts[0]:g} and {counts[1]:g}; give lam as a number"
        )
    if table.groups is not None:
        own = table.groups[table.labelled], table.groups[others]
        check_divisible(*own, folds, "the choice of λ or of a kernel", "give lam as a number")
    distinct, groups = distinct_rows_by_kind(content, list(kinds.values()), table.weight, seed, most, table.groups)
    chosen = np.concatenate([rows for rows, _ in distinct])
    if groups is None:
        shares = _dealt(distinct, folds)
    else:  # soft labels of 0 in one group only cannot be in every fold
        few = len(np.unique(groups[table.unlabelled])) < 2
        shares = _dealt_groups([1 if few and kind == 0 else kind for kind in kinds], distinct, groups, folds)
    entry, mass, fold = (np.concatenate(column) for column in zip(*shares, strict=True))
    kind = np.repeat(np.array(list(kinds)), [len(own) for own, _, _ in shares])
    small, rows = table, chosen[entry]
    if not precomputed:
        propensity = None if table.propensity is None else _shared_propensity(table, seed, groups)[chosen]
        small = replace(table, X=take_rows(table.X, chosen), weight=None, propensity=propensity, groups=None)
        rows = entry
    return Folds(small, rows, chosen[entry], kind, mass, fold)


def _shared_propensity(table: Table, seed: int, groups: Index | None) -> Array:
    """The propensity of each row; a labelled row that stands for equal ones has that of all, Σw / Σ(w/e).

    Its weight Σw divided by this propensity is the sum of their weights divided by their own.
    """
    assert table.propensity is not None
    shared = np.ones(table.X.shape[0])
    weight = shared.copy() if table.weight is None else table.weight
    rows, mass = distinct_rows(table.X, table.labelled, weight, seed, groups=groups)
    shared[rows] = mass / distinct_rows(table.X, table.labelled, weight / table.propensity, seed, groups=groups)[1]
    return shared


def _dealt(distinct: Sequence[tuple[Index, Array]], folds: int) -> list[_Shares]:
    """The shares of the rows of each kind, which are dealt by themselves."""
    firsts = np.cumsum([0] + [len(rows) for rows, _ in distinct])
    shares = [_shares(mass, folds) for _, mass in distinct]
    if len(np.unique(np.concatenate([fold for _, _, fold in shares[:2]]))) < folds:
        raise ValueError(
            f"folds must be at most the {max(np.diff(firsts[:3]))} distinct rows of a kind, got {folds}"
        )
    return [(own + first, mass, fold) for (own, mass, fold), first in zip(shares, firsts, strict=False)]


def _dealt_groups(
    kinds: list[int], distinct: Sequence[tuple[Index, Array]], groups: Index, folds: int
) -> list[_Shares]:
    """The same for rows whose groups are dealt whole."""
    ends = np.cumsum([len(rows) for rows, _ in distinct])
    rows, mass = (np.concatenate(column) for column in zip(*distinct, strict=True))
    kind = np.repeat(kinds, np.diff(ends, prepend=0))
    columns = np.arange(len(rows)), mass, group_folds(groups[rows], kind, mass, folds)
    return list(zip(*(np.split(column, ends[:-1]) for column in columns), strict=True))


def _shares(mass: Array, folds: int) -> _Shares:
    """Rows are dealt whole, by weight; a single one goes to all folds alike."""
    if len(mass) == 1:
        return np.zeros(folds, dtype=np.intp), np.repeat(mass / folds, folds), np.arange(folds)
    fold = np.empty(len(mass), dtype=np.intp)
    fold[np.argsort(-mass, kind="stable")] = np.arange(len(mass)) % folds
    return np.arange(len(mass)), mass, fold


def held_out(folds: Folds, trials: Sequence[Trial], prior: float) -> list[Array]:
    """f of each trial, for all its λ, on every row, from the fit that left out the fold of the row.

    Folds are fitted one after the other, unless a joblib back end says otherwise.
    """
    jobs = [(t, k) for t in range(len(trials)) for k in range(folds.count)]
    results = Parallel()(
        delayed(_values_without)(folds, k, trials[t].spec, trials[t].lams, _rounded(prior)) for t, k in jobs
    )
    values = [np.empty((len(trial.lams), len(folds.rows))) for trial in trials]
    for (t, k), found in zip(jobs, results, strict=True):
        values[t][:, folds.fold == k] = found
    return values


def _values_without(folds: Folds, k: int, spec: Specification, lams: Array, prior: float) -> Array:
    """f on the rows of a fold, of fits without it."""
    problems = folds.problems_without(k, spec.risk, prior, lams)
    loose = replace(spec, tol=max(_LOOSE, spec.tol))
    if spec.kernel is not None:
        loose = loose.with_gamma(_rounded(spec.kernel.gamma))
    table = with_trees(folds.table, problems[0], loose)
    return path_values(table, fit_path(table, problems, loose), loose, folds.rows[folds.fold == k])


def _rounded(x: float) -> float:
    """Ten digits of γ or π: a sum over all rows, whose last digits depend on their order. Loose fits magnify that."""
    return float(f"{x:.10g}")

"""The choice of λ and γ by the risk of held-out rows, which needs no negatives.

For each γ and fold all λ are fitted as a path, which shares the kernel rows, and scored by the risk that they minimise,
without the penalty, on the fold left out. Trees of the forest kernels are grown without that fold. The
one-standard-error rule takes the largest λ whose risk is within one standard error of the smallest. Large tables are
selected on a sample of their rows.

Equal rows share a fold, and their weights add up. So the choice does not depend on the order of the rows, and a row of
weight two counts as two equal rows.

Folds are fitted one after the other, each with all cores. In ``with joblib.parallel_config("dask")``, or with another
back end of joblib, they are fitted concurrently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed

from usmo.core.arrays import Array, Index, Mask
from usmo.core.labels import Risk
from usmo.core.problem import Problem
from usmo.core.table import Table
from usmo.fitting.path import fit_path, path_values
from usmo.fitting.specification import Specification
from usmo.fitting.trees import with_trees
from usmo.kernels.row_sampling import distinct_rows, entries_per_row, take_rows
from usmo.metrics import risk_with_error

LAMS = (0.1, 0.02, 0.005, 0.001, 0.0002)
"""The λ tried: mean F1 and AUC over 17 tables are best at neither end (``python -m benchmarks.selection``)."""

FOLDS = 3

_LOOSE = 1e-2
"""Tolerance of the fits in folds. Against 1e-5 it moves risks by less than a hundredth of their standard error."""

_KERNEL_ROWS, _LINEAR_ROWS = 8000, 80_000
"""Rows of each kind that a selection uses at most, with a kernel and for a linear function of the columns."""

_COPIED = 2**25
"""Entries of the rows of each kind (256 MB) above which a linear selection uses fewer of them, since it copies them."""


@dataclass(frozen=True)
class Selection:
    """Held-out PU risks and the choice made from them.

    ``mean`` and ``error`` (its standard error) have one row per γ and one column per λ. ``lam`` and ``gamma`` are the
    choice, ``best_lam`` is the λ of the smallest risk. ``held_out`` are decision values of the choice on rows that its
    fits had not seen, ``rows`` the rows of the table they belong to, each standing for all rows equal to it, and
    ``weight`` their total weights.
    """

    lams: Array
    gammas: Array
    mean: Array
    error: Array
    lam: float
    gamma: float
    best_lam: float
    rows: Index
    held_out: Array
    weight: Array | None = None

    @property
    def results(self) -> dict[str, Array]:
        """The risks as flat arrays, one entry per pair."""
        gamma, lam = (grid.ravel() for grid in np.meshgrid(self.gammas, self.lams, indexing="ij"))
        return {"lam": lam, "gamma": gamma, "mean_risk": self.mean.ravel(), "std_error": self.error.ravel()}


def rows_limit(spec: Specification) -> int:
    """Rows of each kind that a selection uses at most."""
    return _LINEAR_ROWS if spec.kernel is None else _KERNEL_ROWS


def select(
    table: Table,
    spec: Specification,
    prior: float,
    gammas: Sequence[float] | None = None,
    *,
    lams: Sequence[float] = LAMS,
    folds: int = FOLDS,
    rule: str = "one-se",
    seed: int = 0,
) -> Selection:
    """Choose λ and γ on a validated table with a given prior; ``gammas`` None is the γ of the specification."""
    if gammas is None:
        gammas = [1.0 if spec.kernel is None else spec.kernel.gamma]
    lams_down = np.array(sorted({float(lam) for lam in lams}, reverse=True))
    sample = _deal(table, spec, folds, seed)
    jobs: list[tuple[int, Specification, Mask, list[Problem]]] = []
    for k in range(folds):
        problems = sample.problems_without(k, spec.risk, _rounded(prior), lams_down)
        jobs += [
            (g, spec.with_gamma(_rounded(gamma)), sample.fold == k, problems) for g, gamma in enumerate(gammas)
        ]
    # one after the other, unless a joblib back end says otherwise
    results = Parallel()(
        delayed(_held_out_values)(sample.table, fold_spec, problems, sample.rows[held])
        for _, fold_spec, held, problems in jobs
    )
    values = np.empty((len(gammas), len(lams_down), len(sample.rows)))
    for (g, _, held, _), held_values in zip(jobs, results, strict=True):
        values[g][:, held] = held_values
    mean, error = np.empty((2, len(gammas), len(lams_down)))
    for g in range(len(gammas)):
        for j in range(len(lams_down)):
            mean[g, j], error[g, j] = sample.risk_of(values[g, j], prior, spec.risk)
    return _choose(lams_down, np.asarray(gammas, dtype=float), mean, np.nan_to_num(error), rule, sample, values)


@dataclass(frozen=True)
class _Dealt:
    """Distinct rows dealt to folds: ``rows`` are rows of ``table``, ``origin`` the same rows in the user's table."""

    table: Table
    rows: Index
    origin: Index
    kind: Index
    weight: Array
    fold: Index

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
        propensity = None if self.table.propensity is None else self.table.propensity[self.rows]
        return risk_with_error(
            self.kind, f, prior=prior, scenario=risk.scenario, sample_weight=self.weight,
            class_weight=risk.class_weight, eta=risk.eta, propensity=propensity,
        )  # fmt: skip


def _deal(table: Table, spec: Specification, folds: int, seed: int) -> _Dealt:
    """Deal the distinct rows of each kind, or a sample of them, to the folds."""
    precomputed = spec.kernel is not None and spec.kernel.name == "precomputed"
    # rows of a kernel matrix that are equal have equal columns too: they are not looked for
    content = np.arange(table.X.shape[0])[:, None] if precomputed else table.X
    most = min(rows_limit(spec), max(_KERNEL_ROWS, _COPIED // entries_per_row(content)))
    kinds = {1: table.labelled, 0: table.unlabelled}
    if len(table.negatives) and (spec.eta > 0.0 or spec.scenario == "censored"):
        kinds[-1] = table.negatives
    sizes = [_size(rows, table.weight) for rows in kinds.values()]
    if min(sizes[:2]) < 2:
        raise ValueError(
            "lam='cv' needs at least 2 labelled positives and 2 unlabelled rows, got "
            f"{sizes[0]:g} and {sizes[1]:g}; give lam as a number"
        )
    distinct = [distinct_rows(content, rows, table.weight, seed, most) for rows in kinds.values()]
    firsts = np.cumsum([0] + [len(rows) for rows, _ in distinct])
    chosen = np.concatenate([rows for rows, _ in distinct])
    shares = [_shares(mass, folds) for _, mass in distinct]
    entry = np.concatenate([own + first for (own, _, _), first in zip(shares, firsts, strict=False)])
    kind = np.repeat(np.array(list(kinds)), [len(own) for own, _, _ in shares])
    fold = np.concatenate([part for _, _, part in shares])
    if len(np.unique(fold[kind >= 0])) < folds:
        raise ValueError(
            f"folds must be at most the {max(np.diff(firsts[:3]))} distinct rows of a kind, got {folds}"
        )
    small, rows = table, chosen[entry]
    if not precomputed:
        propensity = None if table.propensity is None else table.propensity[chosen]
        small, rows = replace(table, X=take_rows(table.X, chosen), weight=None, propensity=propensity), entry
    return _Dealt(small, rows, chosen[entry], kind, np.concatenate([mass for _, mass, _ in shares]), fold)


def _size(rows: Index, weight: Array | None) -> float:
    """The number of rows; integer weights are numbers of equal rows."""
    if weight is None or np.any(weight[rows] != np.round(weight[rows])):
        return len(rows)
    return float(weight[rows].sum())


def _rounded(x: float) -> float:
    """Ten digits of γ or π: a sum over all rows, whose last digits depend on their order. Loose fits magnify that."""
    return float(f"{x:.10g}")


def _shares(mass: Array, folds: int) -> tuple[Index, Array, Index]:
    """Row, weight and fold of each share. Rows are dealt whole, by weight; a single one goes to all folds alike."""
    if len(mass) == 1:
        return np.zeros(folds, dtype=np.intp), np.repeat(mass / folds, folds), np.arange(folds)
    fold = np.empty(len(mass), dtype=np.intp)
    fold[np.argsort(-mass, kind="stable")] = np.arange(len(mass)) % folds
    return np.arange(len(mass)), mass, fold


def _held_out_values(table: Table, spec: Specification, problems: list[Problem], held: Index) -> Array:
    """f of the fit of each problem on rows that it does not contain."""
    loose = replace(spec, tol=max(_LOOSE, spec.tol))
    table = with_trees(table, problems[0], spec)
    return path_values(table, fit_path(table, problems, loose), loose, held)


def _choose(
    lams: Array, gammas: Array, mean: Array, error: Array, rule: str, sample: _Dealt, values: Array
) -> Selection:
    """Apply the rule to the risks."""
    at = np.unravel_index(int(np.argmin(mean)), mean.shape)
    chosen = int(at[1])
    if rule == "one-se":
        chosen = int(np.flatnonzero(mean[at[0]] <= mean[at] + error[at])[0])
    return Selection(
        lams=lams,
        gammas=gammas,
        mean=mean,
        error=error,
        lam=float(lams[chosen]),
        gamma=float(gammas[int(at[0])]),
        best_lam=float(lams[at[1]]),
        rows=sample.origin,
        held_out=values[at[0], chosen],
        weight=sample.weight,
    )

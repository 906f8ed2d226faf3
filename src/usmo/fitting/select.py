"""The choice of λ and γ without negatives: the PU risk of held-out rows.

For each γ and fold all λ are fitted as a path, which shares the kernel rows, and scored by the double hinge risk
π·mean_P(-f) + mean_U max(0, f, (1+f)/2) on the fold left out. The one-standard-error rule takes the largest λ whose
risk is within one standard error of the smallest. Large tables are selected on a sample of their rows.

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
from usmo.core.problem import PUProblem
from usmo.core.table import Table
from usmo.fitting.path import fit_path, path_values
from usmo.fitting.specification import Specification
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
    jobs: list[tuple[int, Specification, Mask, list[PUProblem]]] = []
    for k in range(folds):
        problems = sample.problems_without(k, spec.scenario, _rounded(prior), lams_down)
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
    y = sample.is_p.astype(int)
    mean, error = np.empty((2, len(gammas), len(lams_down)))
    for g in range(len(gammas)):
        for j in range(len(lams_down)):
            mean[g, j], error[g, j] = risk_with_error(
                y, values[g, j], prior=prior, scenario=spec.scenario, sample_weight=sample.weight
            )
    return _choose(lams_down, np.asarray(gammas, dtype=float), mean, np.nan_to_num(error), rule, sample, values)


@dataclass(frozen=True)
class _Dealt:
    """Distinct rows dealt to folds: ``rows`` are rows of ``table``, ``origin`` the same rows in the user's table."""

    table: Table
    rows: Index
    origin: Index
    is_p: Mask
    weight: Array
    fold: Index

    def problems_without(self, k: int, scenario: str, prior: float, lams: Array) -> list[PUProblem]:
        """The problems of all λ without one fold."""
        kept = self.fold != k
        weight = np.zeros(self.table.X.shape[0])
        np.add.at(weight, self.rows[kept], self.weight[kept])
        positives, others = (np.unique(self.rows[kept & mask]) for mask in (self.is_p, ~self.is_p))
        unlabelled = np.union1d(positives, others) if scenario == "censored" else others
        return [PUProblem.from_prior(prior, lam, positives, unlabelled, weight) for lam in lams]


def _deal(table: Table, spec: Specification, folds: int, seed: int) -> _Dealt:
    """Deal the distinct rows of each kind, or a sample of them, to the folds."""
    precomputed = spec.kernel is not None and spec.kernel.name == "precomputed"
    # rows of a kernel matrix that are equal have equal columns too: they are not looked for
    content = np.arange(table.X.shape[0])[:, None] if precomputed else table.X
    most = min(rows_limit(spec), max(_KERNEL_ROWS, _COPIED // entries_per_row(content)))
    both = table.labelled, table.unlabelled
    sizes = [_size(rows, table.weight) for rows in both]
    if min(sizes) < 2:
        raise ValueError(
            "lam='cv' needs at least 2 labelled positives and 2 unlabelled rows, got "
            f"{sizes[0]:g} and {sizes[1]:g}; give lam as a number"
        )
    kinds = [distinct_rows(content, rows, table.weight, seed, most) for rows in both]
    chosen, p = np.concatenate([rows for rows, _ in kinds]), len(kinds[0][0])
    on_p, on_u = (_shares(mass, folds) for _, mass in kinds)
    entry = np.concatenate([on_p[0], on_u[0] + p])
    fold = np.concatenate([on_p[2], on_u[2]])
    if len(np.unique(fold)) < folds:
        raise ValueError(
            f"folds must be at most the {max(p, len(chosen) - p)} distinct rows of a kind, got {folds}"
        )
    if precomputed:
        small, rows = table, chosen[entry]
    else:
        everything = np.arange(len(chosen))
        small = Table(take_rows(table.X, chosen), table.classes, everything[:p], everything[p:], None)
        rows = entry
    return _Dealt(small, rows, chosen[entry], entry < p, np.concatenate([on_p[1], on_u[1]]), fold)


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


def _held_out_values(table: Table, spec: Specification, problems: list[PUProblem], held: Index) -> Array:
    """f of the fit of each problem on rows that it does not contain."""
    loose = replace(spec, tol=max(_LOOSE, spec.tol))
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

"""The choice of λ and γ without negatives: the PU risk of held-out rows.

For each γ and fold all λ are fitted as a path, which shares the kernel rows, and scored by the double hinge risk
π·mean_P(-f) + mean_U max(0, f, (1+f)/2) on the fold left out. The one-standard-error rule takes the largest λ whose
risk is within one standard error of the smallest. Large tables are selected on a sample of their rows.

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
from usmo.metrics import risk_with_error

LAMS = (0.1, 0.02, 0.005, 0.001, 0.0002)
"""The λ tried: mean F1 and AUC over 17 tables are best at neither end (``python -m benchmarks.selection``)."""

FOLDS = 3

_LOOSE = 1e-2
"""Tolerance of the fits in folds. Against 1e-5 it moves risks by less than a hundredth of their standard error."""

_KERNEL_ROWS, _LINEAR_ROWS = 8000, 80_000
"""Rows of each kind that a selection uses at most, with a kernel and for a linear function of the columns."""


@dataclass(frozen=True)
class Selection:
    """Held-out PU risks and the choice made from them.

    ``mean`` and ``error`` (its standard error) have one row per γ and one column per λ. ``lam`` and ``gamma`` are the
    choice, ``best_lam`` is the λ of the smallest risk. ``held_out`` are decision values of the choice on rows that its
    fits had not seen, ``rows`` the rows of the table they belong to.
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
    rng = np.random.default_rng(seed)
    most = rows_limit(spec)
    labelled, unlabelled = (_sample(rows, rng, most) for rows in (table.labelled, table.unlabelled))
    if min(len(labelled), len(unlabelled)) < 2:
        raise ValueError(
            "lam='cv' needs at least 2 labelled positives and 2 unlabelled rows, got "
            f"{len(labelled)} and {len(unlabelled)}; give lam as a number"
        )
    rows = np.concatenate([labelled, unlabelled])
    fold = np.concatenate([rng.permutation(len(part)) % folds for part in (labelled, unlabelled)])
    is_p = np.arange(len(rows)) < len(labelled)
    jobs: list[tuple[int, Specification, Mask, list[PUProblem]]] = []
    for k in range(folds):
        problems = _fold_problems(table, spec, prior, lams_down, rows, is_p, fold != k, folds)
        jobs += [(g, spec.with_gamma(float(gamma)), fold == k, problems) for g, gamma in enumerate(gammas)]
    # one after the other, unless a joblib back end says otherwise
    results = Parallel()(
        delayed(_held_out_values)(table, fold_spec, problems, rows[held]) for _, fold_spec, held, problems in jobs
    )
    values = np.empty((len(gammas), len(lams_down), len(rows)))
    for (g, _, held, _), held_values in zip(jobs, results, strict=True):
        values[g][:, held] = held_values
    weight = None if table.weight is None else table.weight[rows]
    mean, error = np.empty((2, len(gammas), len(lams_down)))
    for g in range(len(gammas)):
        for j in range(len(lams_down)):
            mean[g, j], error[g, j] = risk_with_error(
                is_p.astype(int), values[g, j], prior=prior, scenario=spec.scenario, sample_weight=weight
            )
    return _choose(lams_down, np.asarray(gammas, dtype=float), mean, np.nan_to_num(error), rule, rows, values)


def _fold_problems(
    table: Table, spec: Specification, prior: float, lams: Array, rows: Index, is_p: Mask, kept: Mask, folds: int
) -> list[PUProblem]:
    """The problems of all λ without one fold."""
    kept_p, kept_u = rows[kept & is_p], rows[kept & ~is_p]
    if kept.all() or not (len(kept_p) and len(kept_u)):
        raise ValueError(f"folds must be at most the {int(is_p.sum())} labelled positives, got {folds}")
    sample = np.sort(np.concatenate([kept_p, kept_u])) if spec.scenario == "censored" else kept_u
    return [PUProblem.from_prior(prior, lam, kept_p, sample, table.weight) for lam in lams]


def _held_out_values(table: Table, spec: Specification, problems: list[PUProblem], held: Index) -> Array:
    """f of the fit of each problem on rows that it does not contain."""
    loose = replace(spec, tol=max(_LOOSE, spec.tol))
    return path_values(table, fit_path(table, problems, loose), loose, held)


def _choose(
    lams: Array, gammas: Array, mean: Array, error: Array, rule: str, rows: Index, values: Array
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
        rows=rows,
        held_out=values[at[0], chosen],
    )


def _sample(rows: Index, rng: np.random.Generator, most: int) -> Index:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))

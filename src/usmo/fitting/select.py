"""The choice of λ and γ by the risk of held-out rows, which needs no negatives.

For each γ and fold all λ are fitted as a path, which shares the kernel rows, and scored by the risk that they minimise,
without the penalty, on the fold left out. Trees of the forest kernels are grown without that fold. The
one-standard-error rule takes the largest λ whose risk is within one standard error of the smallest.

Folds are fitted one after the other, each with all cores. In ``with joblib.parallel_config("dask")``, or with another
back end of joblib, they are fitted concurrently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from usmo.core.arrays import Array, Index
from usmo.core.table import Table
from usmo.fitting.folds import FOLDS, Folds, Trial, deal, held_out
from usmo.fitting.specification import Specification

LAMS = (0.1, 0.02, 0.005, 0.001, 0.0002)
"""The λ tried: mean F1 and AUC over 17 tables are best at neither end (``python -m benchmarks.selection``)."""


@dataclass(frozen=True)
class Selection:
    """Held-out PU risks and the choice made from them.

    ``mean`` and ``error`` (its standard error) have one row per γ and one column per λ. ``lam`` and ``gamma`` are the
    choice, ``best_lam`` is the λ of the smallest risk. ``held_out`` are decision values of the choice on rows that its
    fits had not seen, ``rows`` the rows of the table they belong to, each standing for all rows equal to it,
    ``weight`` their total weights, and ``propensity`` their common propensities, if there are propensities.
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
    propensity: Array | None = None

    @property
    def results(self) -> dict[str, Array]:
        """The risks as flat arrays, one entry per pair."""
        gamma, lam = (grid.ravel() for grid in np.meshgrid(self.gammas, self.lams, indexing="ij"))
        return {"lam": lam, "gamma": gamma, "mean_risk": self.mean.ravel(), "std_error": self.error.ravel()}


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
    sample = deal(table, spec, folds, seed)
    values = held_out(sample, [Trial(spec.with_gamma(gamma), lams_down) for gamma in gammas], prior)
    mean, error = np.empty((2, len(gammas), len(lams_down)))
    for g in range(len(gammas)):
        for j in range(len(lams_down)):
            mean[g, j], error[g, j] = sample.risk_of(values[g][j], prior, spec.risk)
    return _choose(lams_down, np.asarray(gammas, dtype=float), mean, np.nan_to_num(error), rule, sample, values)


def _choose(
    lams: Array, gammas: Array, mean: Array, error: Array, rule: str, sample: Folds, values: list[Array]
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
        held_out=values[at[0]][chosen],
        weight=sample.weight,
        propensity=sample.propensity,
    )

"""The choice of a kernel: how far held-out labelled positives rank above held-out unlabelled rows.

The measure is AUC(P, U), the share of pairs of a labelled positive and an unlabelled row that f orders right. If labels
are at random it equals π/2 + (1-π)·AUC in the mean, π being the share of positives among the unlabelled rows. So it
orders kernels as the AUC of the hidden classes does, and needs neither negatives nor π.

With few labelled rows the measure is noisy. So the first kernel of the list is kept unless another one is better by
more than two standard errors of their difference. Both are measured on the same rows, which makes that error small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from usmo.core.arrays import Array
from usmo.core.table import Table
from usmo.fitting.default_lam import default_lam
from usmo.fitting.folds import FOLDS, Folds, Trial, deal, held_out
from usmo.fitting.specification import Specification
from usmo.metrics.measures import share_below

_ERRORS = 2.0
"""Standard errors by which another kernel must be better than the first. With fewer, the choice follows the noise: over
20 tables and two draws it then ranks worse than forest+rbf throughout (``python -m benchmarks.forest choice``)."""


@dataclass(frozen=True)
class KernelChoice:
    """AUC(P, U) on held-out rows for each kernel, the standard error of its difference from the first, the choice."""

    kernels: tuple[str, ...]
    auc: Array
    error: Array
    chosen: int

    @property
    def kernel(self) -> str:
        """The name of the kernel that was chosen."""
        return self.kernels[self.chosen]


def choose_kernel(
    table: Table, specs: Sequence[Specification], prior: float, *, folds: int = FOLDS, seed: int = 0
) -> KernelChoice:
    """Choose one of several specifications, which differ in their kernels; each is fitted with its default λ."""
    sample = deal(table, specs[0], folds, seed)
    trials = [Trial(spec, np.array([default_lam(table, spec)])) for spec in specs]
    placements = [_placements(sample, values[0]) for values in held_out(sample, trials, prior)]
    auc = np.array([own.auc for own in placements])
    error = np.array([own.difference_error(placements[0]) for own in placements])
    best = int(np.argmax(auc))
    chosen = best if auc[best] - auc[0] > _ERRORS * error[best] else 0
    return KernelChoice(tuple(spec.kernel_name for spec in specs), auc, error, chosen)


@dataclass(frozen=True)
class _Placements:
    """For each labelled row the share of unlabelled rows below it, for each unlabelled row the share of labelled above.

    ``p`` and ``u`` are the weights of the rows, each with sum 1.
    """

    of_p: Array
    of_u: Array
    p: Array
    u: Array

    @property
    def auc(self) -> float:
        return float(self.p @ self.of_p)

    def difference_error(self, other: _Placements) -> float:
        """The standard error of the difference of two AUCs on the same rows (DeLong et al., Biometrics 1988)."""
        variance = 0.0
        for weight, own, others in ((self.p, self.of_p, other.of_p), (self.u, self.of_u, other.of_u)):
            difference = own - others
            variance += float(weight**2 @ (difference - weight @ difference) ** 2)
        return variance**0.5


def _placements(sample: Folds, f: Array) -> _Placements:
    """The placements of all rows, each compared with the rows of the other kind in its own fold.

    Decision values of different folds come from different fits, so only those of one fold are compared.
    """
    parts = []
    for k in range(sample.count):
        p, u = (np.flatnonzero((sample.fold == k) & (sample.kind == kind)) for kind in (1, 0))
        if len(p) and len(u):
            w_p, w_u = sample.weight[p], sample.weight[u]
            parts.append((share_below(f[p], f[u], w_u), 1.0 - share_below(f[u], f[p], w_p), w_p, w_u))
    of_p, of_u, w_p, w_u = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Placements(of_p, of_u, w_p / w_p.sum(), w_u / w_u.sum())

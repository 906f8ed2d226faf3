"""From labels, weights, prior, costs and propensities to b and c of every row (:class:`usmo.core.problem.Problem`).

A row that counts with weight u as positive and v as negative contributes u·ℓ(f) + v·ℓ(-f) = (u+v)·m(f) - u·f to the
risk, so c = u + v and b = u. A weight may be negative as long as c is not. With P the labelled positives (p rows), U
the unlabelled sample (n rows), N the known negatives (m rows), prior π, costs w₊ of a missed positive and w₋
of a false alarm, and all values divided by 2λ:

    risk                                               row   c                                  b
    PU, w₊ = w₋ = 1 (du Plessis et al., ICML 2015)     P     0                                  π/p
                                                       U     1/n                                0
    PU with costs, w₊ ≥ w₋                             P     (w₊-w₋)·π/p                        w₊·π/p
                                                       U     w₋/n                               0
    share η of PN risk, 1-η of PU risk                 P     (1-η)·(w₊-w₋)·π/p + η·w₊·π/p       w₊·π/p
    (PNU; Sakai et al., ICML 2017)                     U     (1-η)·w₋/n                         0
                                                       N     η·w₋·(1-π)/m                       0
    propensities e (Bekker et al., 2019): as above, censored, with the weights of P divided by e and π = Σ_P(w/e) / Σw
    soft labels q with weights w                       any   w/Σw                               q·w/Σw
    (as propensities e = 1/q of all rows with q > 0; usmo.fit_soft)

Sample weights replace the counts: a row counts w/Σw of its part instead of 1/p, 1/n or 1/m. In the censored scenario
U is the whole table, and a row that is in two parts has the sum of their c.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from usmo.core.arrays import Array, Index, exact_sum, union_of_rows
from usmo.core.problem import Problem

_ROUNDING = 1e-13
"""Relative difference of two sums that may be rounding."""

ClassWeight = Literal["balanced"] | Mapping[Any, float] | None


@dataclass(frozen=True)
class Risk:
    """Which risk is minimised: the scenario, the costs of the two errors, and the share of the PN risk."""

    scenario: str = "case-control"
    class_weight: ClassWeight = None
    eta: float = 0.0

    def costs(self, prior: float) -> tuple[float, float]:
        """w₋ and w₊. "balanced" is ½/(1-π) and ½/π for π < ½, so that Σb = ½·Σc, and 1 and 1 above."""
        if self.class_weight is None or (self.class_weight == "balanced" and prior >= 0.5):
            return 1.0, 1.0
        if isinstance(self.class_weight, str):
            return 0.5 / (1.0 - prior), 0.5 / prior
        return float(self.class_weight[0]), float(self.class_weight[1])


class Part(NamedTuple):
    """Rows of one kind, their weights, and the total weight of the kind, over all shards."""

    rows: Index
    weight: Array
    total: float

    @classmethod
    def of(cls, rows: Index, weight: Array | None = None) -> Part:
        """Rows of a table that is in one place; ``weight`` has an entry for every row of the table."""
        if weight is None or len(rows) == 0:
            return cls(rows, np.ones(len(rows)), float(len(rows)))
        own = weight[rows] / weight[rows].max()
        return cls(rows, own, exact_sum(own))


def check_class_weight(given: ClassWeight) -> None:
    """Refuse class weights that make no convex problem."""
    if given is None or given == "balanced":
        return
    if not isinstance(given, Mapping) or set(given) != {0, 1}:
        raise ValueError(
            "class_weight must be None, 'balanced' or {0: cost of a false alarm, 1: cost of a missed positive}, got "
            f"{given!r}"
        )
    low, high = float(given[0]), float(given[1])
    if not (0.0 < low < np.inf and 0.0 < high < np.inf):
        raise ValueError(f"class_weight must hold positive finite numbers, got {given!r}")
    if high < low:
        raise ValueError(
            f"class_weight must have a weight of class 1 at least that of class 0, got {given!r}: unlabelled rows hold "
            "positives, so the risk of a smaller weight is not convex"
        )


def labelled_propensity(given: Any, n: int, labelled: Any) -> Array:
    """The propensities of the labelled ones of n rows; a number stands for that of all."""
    e = np.asarray(given, dtype=np.float64)
    e = np.full(n, float(e)) if e.ndim == 0 else e
    if e.shape != (n,):
        raise ValueError(f"propensity must be a number or hold one number per row, {n}; got shape {e.shape}")
    own = e[labelled]
    outside = ~((own > 0.0) & (own <= 1.0))
    if outside.any():
        raise ValueError(f"propensity of labelled rows must lie in (0, 1], got {float(own[outside][0])}")
    return own


def label_problem(
    risk: Risk, prior: float, lam: float, positives: Part, sample: Part, negatives: Part | None = None
) -> Problem:
    """b and c of labelled positives, the unlabelled sample and known negatives, by the table above."""
    low, high = risk.costs(prior)
    eta = risk.eta if negatives is not None and negatives.total > 0 else 0.0
    scale = 2.0 * lam
    b = positives.weight * (high * prior / scale / positives.total)
    shares = [
        (sample, (1.0 - eta) * low / scale),
        (positives, ((high - low) + eta * low) * prior / scale),
    ]
    if negatives is not None:
        shares.append((negatives, eta * low * (1.0 - prior) / scale))
    parts = [(part.rows, part.weight * (share / part.total)) for part, share in shares if share > 0.0]
    return Problem(positives.rows, *_merged(parts, b))


def _merged(parts: list[tuple[Index, Array]], b: Array) -> tuple[Index, Array, Array]:
    """``c_rows``, b and c; a row that is in several parts has the sum."""
    if len(parts) == 1:
        return parts[0][0], b, parts[0][1]
    rows = union_of_rows(*(rows for rows, _ in parts))
    c = np.bincount(np.concatenate([rows for rows, _ in parts]), weights=np.concatenate([c for _, c in parts]))
    return rows, b, np.asarray(c[rows], dtype=np.float64)


def pu_problem(
    prior: float, lam: float, positives: Index, unlabelled: Index, weight: Array | None = None
) -> Problem:
    """The paper's problem, from the rows of P and U and a weight per row of the table."""
    return label_problem(Risk(), prior, lam, Part.of(positives, weight), Part.of(unlabelled, weight))


def refuse_unbounded(problem: Problem) -> None:
    """Raise an error unless 0 < Σb < Σc: without it the risk has no minimum, or f is a constant."""
    total, mass = problem.total, exact_sum(problem.c)
    if not 0.0 < total < (1.0 - _ROUNDING) * mass:
        raise ValueError(
            f"the risk has no minimum: the sum of b over that of c is {total / mass:.4g} and must lie between 0 and 1; "
            "give a prior farther from 0 and 1, or weights in class_weight that differ less"
        )

"""The likelihood of labels that depend on the class and on a propensity, and its maximum with a shrunk propensity.

A row is labelled if it is positive and its label was not missed. With s the logistic function,

    P(labelled | x) = p(x)·e(x),   p(x) = P(positive | x) = s(A·w + b),   e(x) = P(labelled | positive, x) = s(u + Z·v)

A and Z are columns of numbers. Three things make p and e separate quantities:

1. The level: the mean of p is the prior π if that is known. If it is an estimate, the mean of p has the normal
   distribution of its error.
2. The columns of Z are also among those of A, where they are hardly penalised. So e takes up only what p cannot
   explain: p alone can rise no higher than 1, and p·e no higher than e.
3. Shrinkage: v has the prior distribution N(0, τ²). τ is chosen by the evidence, the likelihood integrated over v
   (Laplace's approximation, with w, b and u at their best), and is 0, so that e is constant, unless the evidence of
   some τ is that of τ = 0 times ``SUBSTANTIAL`` at least.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from scipy.special import expit, logit

from usmo.core.arrays import Array, Mask

SPREADS = (0.25, 0.5, 1.0, 2.0)
"""τ tried beside 0, for columns of unit variance: from a hardly visible dependence to odds that change e⁴-fold between
two rows a standard deviation on either side of the mean."""

SUBSTANTIAL = math.sqrt(10.0)
"""Ratio of evidences from which Jeffreys calls the evidence substantial."""

_LEVEL = 100.0
"""Largest weight, per row, of the squared difference of mean p and π. It leaves the mean within 0.001 of a known π."""

_RIDGE = 0.01
"""Penalty of w: keeps it finite if the columns separate the labelled rows. The columns have unit variance."""

_STEP = 1e-4
"""Step of the differences that give the curvature."""


@dataclass(frozen=True)
class LabelData:
    """Columns A of p and Z of e, which rows are labelled, weights that sum to the size of the sample, and the prior.

    ``prior_error`` is the standard error of the prior, 0 if it is known. ``increasing`` restricts v to values of at
    least 0.
    """

    A: Array
    Z: Array
    labelled: Mask
    weight: Array
    prior: float
    prior_error: float = 0.0
    increasing: bool = False

    @property
    def level_weight(self) -> float:
        """The weight of the squared difference of mean p and π."""
        known = _LEVEL * float(self.weight.sum())
        return known if self.prior_error == 0.0 else min(known, self.prior_error**-2)


@dataclass(frozen=True)
class LabelModel:
    """Coefficients w, b of p and u, v of e; the spread τ; the log evidence, and that of a constant e."""

    w: Array
    b: float
    u: float
    v: Array
    spread: float
    evidence: float
    evidence_constant: float

    def positive(self, A: Array) -> Array:
        """p, the probability of being positive."""
        return expit(A @ self.w + self.b)

    def propensity(self, Z: Array) -> Array:
        """e, the probability that a positive is labelled."""
        return expit(self.u + Z @ self.v)


def fit_labels(data: LabelData) -> LabelModel:
    """The coefficients of largest penalised likelihood, with τ chosen by the evidence."""
    width, start = data.A.shape[1], _start(data)
    best = constant = _maximum(data, start, 0.0)
    evidence = base = -constant.fun
    threshold, chosen, theta = base + math.log(SUBSTANTIAL), 0.0, constant.x
    for spread in SPREADS:
        # where the prior leaves the level open, a constant e goes to 1, and there the gradient in v is 0
        found = min((_maximum(data, each, spread) for each in (start, theta)), key=lambda fit: float(fit.fun))
        theta = found.x
        value = -found.fun - _occam(data, found.x, spread)
        if value > max(threshold, evidence):
            best, evidence, chosen = found, value, spread
    w, b, u, v = np.split(best.x, [width, width + 1, width + 2])
    return LabelModel(w, float(b[0]), float(u[0]), v, chosen, evidence, base)


def _start(data: LabelData) -> Array:
    """Neither p nor e depends on the row."""
    frequency = float(data.weight @ data.labelled) / (data.prior * float(data.weight.sum()))
    ends = [logit(data.prior), logit(min(frequency, 0.95))]
    return np.concatenate([np.zeros(data.A.shape[1]), ends, np.zeros(data.Z.shape[1])])


def _maximum(data: LabelData, start: Array, spread: float) -> OptimizeResult:
    """The maximum for one τ; v is fixed at 0 if τ is 0."""
    own, k = data.A.shape[1] + 2, data.Z.shape[1]
    if spread == 0.0:
        bounds: list[tuple[float | None, float | None]] = [(0.0, 0.0)] * k
        start = np.concatenate([start[:own], np.zeros(k)])
    else:
        bounds = [(0.0 if data.increasing else None, None)] * k
    precision = 0.0 if spread == 0.0 else spread**-2
    return minimize(
        _objective, start, (data, precision), jac=True, method="L-BFGS-B", bounds=[(None, None)] * own + bounds,
        options={"maxiter": 1000, "ftol": 1e-12, "gtol": 1e-6},
    )  # fmt: skip


def _objective(theta: Array, data: LabelData, precision: float) -> tuple[float, Array]:
    """Minus the penalised log-likelihood, and its gradient. ``precision`` is τ⁻²."""
    width, n = data.A.shape[1], float(data.weight.sum())
    w, b, u, v = theta[:width], theta[width], theta[width + 1], theta[width + 2 :]
    a, g = data.A @ w + b, u + data.Z @ v
    p, e = expit(a), expit(g)
    r = np.minimum(p * e, 1.0 - 1e-12)
    log_labelled = -np.logaddexp(0.0, -a) - np.logaddexp(0.0, -g)
    value = data.weight @ np.where(data.labelled, log_labelled, np.log1p(-r))
    odds = r / (1.0 - r)
    by_a = data.weight * (1.0 - p) * np.where(data.labelled, 1.0, -odds)
    by_g = data.weight * (1.0 - e) * np.where(data.labelled, 1.0, -odds)
    miss = float(data.weight @ p) / n - data.prior
    level = data.level_weight
    by_a = -by_a + (level / n) * miss * data.weight * p * (1.0 - p)
    penalty = 0.5 * (_RIDGE * w @ w + precision * v @ v + level * miss**2)
    gradient = np.concatenate(
        [data.A.T @ by_a + _RIDGE * w, [by_a.sum(), -by_g.sum()], -(data.Z.T @ by_g) + precision * v]
    )
    return float(penalty - value), gradient


def _occam(data: LabelData, theta: Array, spread: float) -> float:
    """½·log det(I + τ²·H), H the curvature of the log-likelihood in v with the other coefficients at their best."""
    size, own = len(theta), data.A.shape[1] + 2
    curvature = np.empty((size, size))
    for j in range(size):
        step = np.zeros(size)
        step[j] = _STEP
        up, down = (_objective(theta + sign * step, data, 0.0)[1] for sign in (1.0, -1.0))
        curvature[j] = (up - down) / (2.0 * _STEP)
    curvature = 0.5 * (curvature + curvature.T)
    rest = curvature[:own, own:]
    inner = curvature[own:, own:] - rest.T @ np.linalg.pinv(curvature[:own, :own]) @ rest
    scales = np.linalg.eigvalsh(np.eye(size - own) + spread**2 * inner)
    return 0.5 * float(np.log(np.maximum(scales, 1.0)).sum())

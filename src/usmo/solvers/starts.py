"""Starting points: feasible σ that are cheap to compute and near the optimum.

``paper``    one-class SVM on P ranks U; five groups along the ranking with σ = 0, s2·c, h, s4·c, c, their
             sizes from the paper's problem for the initial point (section 4.5); then made exactly feasible
``uniform``  σ = share·c everywhere, share = Σb/Σc
``from_scores``  thresholds at ±1 of decision values from elsewhere
``previous`` σ of another problem, scaled to the bounds of this one
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from sklearn.svm import OneClassSVM

from usmo.core.arrays import Array, Index
from usmo.core.problem import Problem
from usmo.kernels.matrix import KernelMatrix

_RANKING_POSITIVES = 2000
"""Positives used to train the one-class SVM. The ranking changes little beyond, and the cost grows as the square."""

_SMALLEST_GROUPED = 8
"""Below this many rows some of the five groups would be empty; rows are then filled in order of score."""


def uniform(problem: Problem) -> Array:
    """σ = Σb/Σc·c on every row."""
    return problem.repair(problem.share * problem.c)


def previous(problem: Problem, share: Array) -> Array:
    """The start from the shares σ/c of an earlier solution on the same rows."""
    return problem.snap(share * problem.c, 1e-12)


def paper(problem: Problem, kernel: KernelMatrix) -> Array:
    """The paper's start (section 4.5)."""
    order = np.argsort(one_class_scores(problem, kernel), kind="stable")
    share = np.zeros(problem.n)
    groups = group_sizes(problem.n, problem.share)
    if groups is not None:
        counts, s2, s4 = groups
        share[order] = np.repeat([0.0, s2, 0.5, s4, 1.0], counts)
    return problem.repair(share * problem.c, order)


def sample_bounds(c: Array, sample: Index) -> tuple[Index, Array]:
    """The sample with all rows whose c is large added, and c of the sampled ones raised to represent the others.

    Large is above n/k times the mean, with k the size of the sample, so that at most k rows are added. Labelled rows
    can have a c so large that a sample without them would be another problem.
    """
    heavy = c * max(1, len(sample)) > c.sum()
    sample = np.union1d(sample, np.flatnonzero(heavy)) if heavy.any() else sample
    bounds, light = c[sample], ~heavy[sample]
    if light.any():
        bounds[light] *= c[~heavy].sum() / bounds[light].sum()
    return sample, bounds


def from_scores(problem: Problem, f: Array) -> Array:
    """σ from decision values given up to a constant: 0, h or c by thresholds at -1 and 1.

    The constant is chosen so that Σσ is right. The remainder goes to the row at the threshold.
    """
    h = 0.5 * problem.c
    shift = np.concatenate([-1.0 - f, 1.0 - f])
    order = np.argsort(shift, kind="stable")
    sums = np.cumsum(np.concatenate([h, h])[order])
    b = shift[order[min(int(np.searchsorted(sums, problem.total)), len(shift) - 1)]]
    sigma = h * ((f + b > -1.0).astype(float) + (f + b > 1.0))
    return problem.repair(sigma, np.argsort(f, kind="stable"))


def one_class_scores(problem: Problem, kernel: KernelMatrix) -> Array:
    """Decision values on U of a one-class SVM (ν = ½) trained on P.

    On an indefinite kernel a one-class SVM may not converge; the mean of k(x, ·) over P is used instead.
    """
    positives = problem.b_rows
    if len(positives) > _RANKING_POSITIVES:
        positives = positives[np.linspace(0, len(positives) - 1, _RANKING_POSITIVES).astype(np.intp)]
    if not kernel.kernel.surely_psd:
        return kernel.product(problem.c_rows, positives, np.full(len(positives), 1.0 / len(positives)))
    K = kernel.block(positives, positives)
    scale = float(np.abs(K).max()) or 1.0
    machine = OneClassSVM(kernel="precomputed", nu=0.5).fit(K / scale)
    support: Index = positives[machine.support_]
    return kernel.product(problem.c_rows, support, machine.dual_coef_[0] / scale)


def group_sizes(n: int, prior: float) -> tuple[list[int], float, float] | None:
    """Sizes of the five groups, and σ/c2 of the second and the fourth.

    They solve the paper's problem for the initial point (section 4.5).
    With s = σ/c2 and n1 = (1-π)an, n2 = bn, n3 = (1-a-b-c)n, n4 = cn, n5 = πan the squared residual of the
    equality constraint, divided by (c2·n)², is ((π-½)(1-a) - b(s2-½) - c(s4-½))². None if n or π are
    too small for the groups.
    """
    if n < _SMALLEST_GROUPED or n * min(prior, 1.0 - prior) < 1.0:
        return None
    margin = 1e-3

    def residual(x: Array) -> float:
        a, b, c, s2, s4 = x
        return float((prior - 0.5) * (1.0 - a) - b * (s2 - 0.5) - c * (s4 - 0.5))

    def gradient(x: Array) -> Array:
        _, b, c, s2, s4 = x
        return 2.0 * residual(x) * np.array([0.5 - prior, 0.5 - s2, 0.5 - s4, -b, -c])

    a_low = max(1.0 / (prior * n), 1.0 / ((1.0 - prior) * n))
    few = max(1.0, np.log(n)) / n
    bounds = [
        (min(a_low, 1.0), 1.0),
        (1.0 / n, few),
        (1.0 / n, few),
        (margin, 0.5 - margin),
        (0.5 + margin, 1.0 - margin),
    ]
    low, high = np.array(bounds).T
    nonempty = {  # the third group has a row
        "type": "ineq",
        "fun": lambda x: 1.0 - 1.0 / n - x[0] - x[1] - x[2],
        "jac": lambda x: np.array([-1.0, -1.0, -1.0, 0.0, 0.0]),
    }
    first = np.clip([1.0 - 3.0 * few, 1.0 / n, 1.0 / n, 0.25, 0.75], low, high)
    optimum = minimize(
        lambda x: residual(x) ** 2, first, jac=gradient, bounds=bounds, constraints=[nonempty], method="SLSQP"
    )
    a, b, c, s2, s4 = np.clip(optimum.x if np.isfinite(optimum.x).all() else first, low, high)
    n2, n4 = max(1, round(b * n)), max(1, round(c * n))
    n5 = min(max(1, round(prior * a * n)), n - n2 - n4 - 2)
    n3 = min(max(1, round((1.0 - a - b - c) * n)), n - n2 - n4 - n5 - 1)
    return [n - n2 - n3 - n4 - n5, n2, n3, n4, n5], float(s2), float(s4)

"""RampPUSVC: the classifier with the ramp loss, the paper's non-convex rival."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from usmo.estimators.base import KernelPUClassifier, expansion
from usmo.fitting.certify import checked
from usmo.fitting.kernel import compile_once
from usmo.kernels.matrix import KernelMatrix


class RampPUSVC(KernelPUClassifier):
    """Support vector classifier from labelled positives and unlabelled rows with the ramp loss.

    Minimises ``2π·mean_P ℓ(f) + mean_U ℓ(-f) - π + lam·‖f‖²`` with ``ℓ(z) = ½·max(0, min(2, 1 - z))`` by the
    concave-convex procedure, each convex step solved to ``tol``, from three starts. The problem is not convex: the
    result is the best of three local minima, and there is no certificate. It holds the kernel matrix, for at most
    12,000 rows.

    Parameters
    ----------
    prior : float or "estimate", default="estimate"
        π, as in :class:`PUSVC`.
    lam : float, default=1e-2
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
    gamma : {"scale", "auto"} or float, default="scale"
    degree : float, default=3
    coef0 : float, default=0.0
    threshold : "prior" or float, default="prior"
        As for :class:`PUSVC`; 0.0 is the rule of the paper.
    scenario : {"case-control", "censored"}, default="case-control"
    tol : float, default=1e-3
        Largest violation of the optimality conditions of a convex step.
    max_iter : int, default=100
        Limit on the convex steps from each start.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds when the prior is estimated.

    Attributes
    ----------
    objective_ : float
        The regularised risk reached.
    start_ : str
        The start that led to it: "zero", "one-class" (the paper's) or "double hinge" (the convex optimum).
    objectives_ : dict of str to float
        The regularised risk reached from each start.
    n_iter_ : int
        Convex steps from all starts.
    classes_, prior_, support_, support_vectors_, dual_coef_, intercept_, coef_
        As in :class:`PUSVC`.

    References
    ----------
    M. C. du Plessis, G. Niu, M. Sugiyama. Analysis of learning from positive and unlabeled data. NIPS 2014.
    R. Collobert, F. Sinz, J. Weston, L. Bottou. Trading convexity for scalability. ICML 2006.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **KernelPUClassifier._parameter_constraints,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        prior: float | str = "estimate",
        *,
        lam: float = 1e-2,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        scenario: str = "case-control",
        threshold: float | str = "prior",
        tol: float = 1e-3,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.prior = prior
        self.lam = lam
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.scenario = scenario
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, X: Any, y: Any, sample_weight: Any, context: Any) -> None:
        table, known, kernel = self._prepare(X, y, sample_weight)
        problem = table.problem(known["prior_"], self.lam, self.scenario)
        matrix = KernelMatrix(table.X, kernel)
        checked(problem, matrix)
        compile_once()
        from usmo.solvers import ramp

        found = ramp.solve(problem, matrix, tol=self.tol, max_iter=self.max_iter)
        alpha = np.zeros(table.X.shape[0])
        np.add.at(alpha, np.concatenate([problem.positives, problem.unlabelled]), found.alpha)
        scale = 2.0 * self.lam
        for name in ("prior_interval_", "coef_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(
            {
                "classes_": table.classes,
                **known,
                **expansion(table.X, kernel, alpha, found.beta),
                "objective_": scale * found.objective - known["prior_"],
                "objectives_": {name: scale * value - known["prior_"] for name, value in found.objectives.items()},
                "start_": found.start,
                "n_iter_": found.iterations,
            }
        )
        f_p, f_u = (self._values(table.X[rows]) for rows in (problem.positives, problem.unlabelled))
        self._decide(table, problem, f_p, f_u)

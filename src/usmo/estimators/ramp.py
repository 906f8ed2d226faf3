"""RampPUSVC: the classifier with the ramp loss, the paper's non-convex rival."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from usmo.estimators.base import KernelPUClassifier
from usmo.estimators.decision import set_decision
from usmo.estimators.expansion import expansion_values, kernel_expansion
from usmo.estimators.preparation import choose, prepare_table, specification
from usmo.estimators.training import replace_attributes
from usmo.estimators.types import Gamma, KernelName, Prior, Scenario, Threshold
from usmo.fitting.certify import check_kernel
from usmo.fitting.warm_up import compile_kernel_solvers
from usmo.kernels.matrix import KernelMatrix
from usmo.solvers import ramp
from usmo.system import caller


class RampPUSVC(KernelPUClassifier):
    """Support vector classifier from labelled positives and unlabelled rows with the ramp loss.

    Minimises ``2π·mean_P ℓ(f) + mean_U ℓ(-f) - π + lam·‖f‖²`` with ``ℓ(z) = ½·max(0, min(2, 1 - z))`` by the
    concave-convex procedure, each convex step solved to ``tol``, from three starts. The problem is not convex: the
    result is the best of three local minima, and there is no certificate. The kernel matrix is held in memory, for at
    most 12,000 rows. Both errors cost the same, so with few positives :class:`PUSVC` with its balanced costs is the
    better choice.

    Parameters
    ----------
    prior : float or "estimate", default="estimate"
        π, as in :class:`PUSVC`.
    lam : float, default=1e-2
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
    gamma : {"scale", "auto"} or float, default="scale"
    degree : float, default=3
    coef0 : float, default=0.0
    scenario : {"case-control", "censored"}, default="case-control"
    threshold : "prior" or float, default="prior"
        As for :class:`PUSVC`; 0.0 is the rule of the paper.
    tol : float, default=1e-3
        Largest violation of the optimality conditions of a convex step.
    max_iter : int, default=100
        Limit on the convex steps from each start.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample and the folds on which the prior is estimated.

    Attributes
    ----------
    objective_ : float
        The regularised risk at the end.
    start_ : str
        The start that led to it: "zero", "one-class" (the paper's) or "double hinge" (the convex optimum).
    objectives_ : dict of str to float
        The regularised risk at the end of each start.
    n_iter_ : int
        Convex steps from all starts.
    violation_ : float
        Violation of the optimality conditions of the last convex step. A ConvergenceWarning is issued if it exceeds
        ``tol``, or if ``max_iter`` ended the procedure.
    classes_, prior_, lam_, threshold_, support_, support_vectors_, dual_coef_, intercept_, n_features_in_
        As in :class:`PUSVC`.
    prior_interval_, coef_, drift_, feature_names_in_
        As in :class:`PUSVC`, where they apply.
    calibration_, reference_
        As in :class:`PUSVC`: what ``predict_proba`` and ``adapt`` use.

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
        prior: Prior = "estimate",
        *,
        lam: float = 1e-2,
        kernel: KernelName = "rbf",
        gamma: Gamma = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        scenario: Scenario = "case-control",
        threshold: Threshold = "prior",
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

    def _fit(self, X: Any, y: Any, sample_weight: Any, propensity: Any, groups: Any, context: Any) -> None:
        table = prepare_table(self, X, y, sample_weight, propensity, groups)
        if len(table.negatives):
            raise ValueError(
                "RampPUSVC uses labelled positives and unlabelled rows only, got known negatives in y"
            )
        spec = specification(self, table)
        choices = choose(table, spec, self.prior, self.lam)
        problem = table.problem(choices.prior, choices.lam, spec.risk)
        assert spec.kernel is not None
        matrix = KernelMatrix(table.X, spec.kernel)
        check_kernel(problem, matrix)
        compile_kernel_solvers()
        solution = ramp.solve(problem, matrix, tol=self.tol, max_iter=self.max_iter)
        self._warn_if_short(solution)
        scale, prior = 2.0 * self.lam, choices.prior
        attributes = {
            "classes_": table.classes,
            **choices.attributes(),
            **kernel_expansion(table.X, spec.kernel, solution.alpha, solution.beta),
            "objective_": scale * solution.objective - prior,
            "objectives_": {name: scale * value - prior for name, value in solution.objectives.items()},
            "start_": solution.start,
            "n_iter_": solution.iterations,
            "violation_": float(solution.violation),
        }
        replace_attributes(self, attributes)
        on_p, on_u = ((rows, expansion_values(self, table.X[rows])) for rows in (problem.b_rows, problem.c_rows))
        set_decision(self, table, on_p, on_u)

    def _warn_if_short(self, solution: ramp.RampSolution) -> None:
        if solution.status == "max_iter":
            caller.warn(
                f"max_iter={self.max_iter} ended the concave-convex procedure before it converged. Raise max_iter.",
                ConvergenceWarning,
                topic="stopped-early",
            )
        elif solution.status == "precision":
            caller.warn(
                f"the last convex step ended with a violation of {solution.violation:.2g} (tol={self.tol:g}). Scale "
                "the columns of X (for example with StandardScaler) or raise lam.",
                ConvergenceWarning,
                topic="ended-by-rounding",
            )

"""One cell of the paper's tables: a data set, a kernel, a λ and a draw of the labels, with all methods.

Setting: a fifth of the positives is labelled, the prior is the share of positives in the data set, the Gaussian
kernel is exp(-‖x-y‖²/2). Three F-measures are computed from the same decision values:

``by_position``   as the authors' public script does: predictions for all rows are compared, by position, with the
                  true classes of the unlabelled rows only, and the majority class of these counts as positive;
``aligned``       the same, every prediction compared with its own row;
``f1``            the usual F1 of the positive class on the unlabelled rows.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from usmo.core.arrays import Array
from usmo.core.dual import loss
from usmo.core.labels import pu_problem
from usmo.core.problem import Problem
from usmo.datasets import info, load, make_pu
from usmo.fitting.kernel import fit_kernel
from usmo.fitting.specification import Specification
from usmo.fitting.warm_up import compile_kernel_solvers
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix
from usmo.solvers import ramp, starts

LAMBDAS = (1e-4, 1e-3, 1e-2, 1e-1)
KERNELS = {"linear": Kernel("linear"), "gaussian": Kernel("rbf", gamma=0.5)}
METHODS = ("init", "ramp_cccp", "double_hinge_qp", "usmo")
FIELDS = (
    "kernel", "dataset", "lambda", "draw", "method", "by_position", "aligned", "f1", "auc", "objective", "seconds"
)  # fmt: skip

_LARGE_QP, _QP_DRAWS = 2000, 1
"""On data sets with more rows than this the QP is solved for the first draw only: it takes ten seconds there."""

Row = dict[str, Any]


def f_measure(truth: Any, predicted: Any) -> float:
    """F-measure in percent; 0 if there is no true positive."""
    hits = float(np.sum(truth & predicted))
    return 200.0 * hits / float(truth.sum() + predicted.sum()) if hits else 0.0


def scores(f: Array, y: Any, unlabelled: Any) -> dict[str, float]:
    """The three F-measures and the AUC from decision values on all rows."""
    truth, predicted = y[unlabelled] == 1, f > 0
    majority = bool(truth.mean() >= 0.5)
    return {
        "by_position": f_measure(truth == majority, predicted[: len(truth)] == majority),
        "aligned": f_measure(truth == majority, predicted[unlabelled] == majority),
        "f1": f_measure(truth, predicted[unlabelled]),
        "auc": 100.0 * float(roc_auc_score(truth, f[unlabelled])),
    }


def cell_problem(dataset: str, kernel: str, lam: float, draw: int) -> tuple[Problem, KernelMatrix, Any]:
    """The training problem of a cell, its kernel matrix and the true classes."""
    X, y = load(dataset)
    labels, _ = make_pu(y, fraction=0.2, random_state=draw)
    rows = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    problem = pu_problem(float(y.mean()), lam, *rows)
    return problem, KernelMatrix(X, KERNELS[kernel]), y


def methods_of(dataset: str, draw: int) -> tuple[str, ...]:
    """The methods that are run on a draw."""
    if info(dataset).rows > _LARGE_QP and draw >= _QP_DRAWS:
        return tuple(method for method in METHODS if method != "double_hinge_qp")
    return METHODS


def run_cell(dataset: str, kernel: str, lam: float, draw: int) -> list[Row]:
    """One row of results per method."""
    problem, matrix, y = cell_problem(dataset, kernel, lam, draw)
    all_rows = np.arange(len(y))
    compile_kernel_solvers()
    results = []
    for method in methods_of(dataset, draw):
        began = time.perf_counter()
        alpha, beta = fit(method, problem, matrix)
        seconds = time.perf_counter() - began
        values = matrix.product(all_rows, all_rows, alpha)
        results.append(
            {
                "kernel": kernel,
                "dataset": dataset,
                "lambda": lam,
                "draw": draw,
                "method": method,
                **scores(values + beta, y, problem.c_rows),
                "objective": _primal(problem, values, beta, alpha),
                "seconds": seconds,
            }
        )
    return results


def fit(method: str, problem: Problem, matrix: KernelMatrix) -> tuple[Array, float]:
    """α of every row of the table, and β, by one method."""
    if method == "init":
        sigma = starts.paper(problem, matrix)
        alpha = problem.table_coefficients(sigma, len(matrix))
        values = matrix.product(problem.c_rows, np.arange(len(matrix)), alpha)
        return alpha, problem.bias(sigma, values)
    if method == "ramp_cccp":
        minimum = ramp.solve(problem, matrix)
        return minimum.alpha, minimum.beta
    solver = {"double_hinge_qp": "qp", "usmo": "usmo"}[method]
    solution = fit_kernel(problem, matrix, Specification(solver=solver, tol=1e-4)).solution
    return problem.table_coefficients(solution.sigma, len(matrix)), solution.beta


def _primal(problem: Problem, values: Array, beta: float, alpha: Array) -> float:
    """The double hinge objective, for every method."""
    f = values[problem.c_rows] + beta
    risk = float(problem.c @ loss(f)) - float(problem.b @ (values[problem.b_rows] + beta))
    return risk + 0.5 * float(alpha @ values)

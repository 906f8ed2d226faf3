"""One cell of the paper's tables: a data set, a kernel, a λ, a draw of the labels, and all methods on it.

The setting: a fifth of the positives is labelled, the prior is the share of positives in the data set, the
Gaussian kernel is exp(-‖x-y‖²/2). Three F-measures are computed from the same decision values:

``published``   the way the public demonstration script does it: the predictions on all rows, taken by position,
                are compared with the true classes of the unlabelled rows, and the class that is in the majority
                among these counts as positive;
``aligned``     the same with every prediction compared with its own row;
``f1``          the usual F1 of the positive class on the unlabelled rows.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from usmo.core.arrays import Array
from usmo.core.problem import PUProblem, unlabelled_loss
from usmo.datasets import load, make_pu
from usmo.kernels.matrix import Kernel, KernelMatrix
from usmo.solvers import starts

LAMBDAS = (1e-4, 1e-3, 1e-2, 1e-1)
KERNELS = {"linear": Kernel("linear"), "gaussian": Kernel("rbf", gamma=0.5)}
METHODS = ("init", "ramp_cccp", "double_hinge_qp", "usmo")
FIELDS = (
    "kernel", "dataset", "lambda", "draw", "method", "published", "aligned", "f1", "auc", "objective", "seconds"
)  # fmt: skip

_LARGE_QP, _QP_DRAWS = 2000, 1
"""Unlabelled rows from which the dense QP is solved for the first draws only: it takes ten seconds there."""

Row = dict[str, Any]


def f_measure(truth: Any, predicted: Any) -> float:
    """In percent; 0 where nothing is found."""
    found = float(np.sum(truth & predicted))
    return 200.0 * found / float(truth.sum() + predicted.sum()) if found else 0.0


def scores(f: Array, y: Any, unlabelled: Any) -> dict[str, float]:
    """The three F-measures and the AUC from decision values on all rows."""
    from sklearn.metrics import roc_auc_score

    truth, predicted = y[unlabelled] == 1, f > 0
    majority = bool(truth.mean() >= 0.5)
    return {
        "published": f_measure(truth == majority, predicted[: len(truth)] == majority),
        "aligned": f_measure(truth == majority, predicted[unlabelled] == majority),
        "f1": f_measure(truth, predicted[unlabelled]),
        "auc": 100.0 * float(roc_auc_score(truth, f[unlabelled])),
    }


def cell_problem(dataset: str, kernel: str, lam: float, draw: int) -> tuple[PUProblem, KernelMatrix, Any]:
    """The training problem of a cell, its kernel matrix and the true classes."""
    X, y = load(dataset)
    known, _ = make_pu(y, fraction=0.2, random_state=draw)
    rows = np.flatnonzero(known == 1), np.flatnonzero(known == 0)
    problem = PUProblem.from_prior(float(y.mean()), lam, *rows)
    return problem, KernelMatrix(X, KERNELS[kernel]), y


def methods_of(dataset: str, draw: int) -> tuple[str, ...]:
    """The methods that are run on a draw."""
    from usmo.datasets import info

    if info(dataset).rows > _LARGE_QP and draw >= _QP_DRAWS:
        return tuple(method for method in METHODS if method != "double_hinge_qp")
    return METHODS


def run_cell(dataset: str, kernel: str, lam: float, draw: int) -> list[Row]:
    """All methods on one cell."""
    problem, matrix, y = cell_problem(dataset, kernel, lam, draw)
    everything = np.arange(len(y))
    rows = []
    for method in methods_of(dataset, draw):
        began = time.perf_counter()
        alpha, beta = fitted(method, problem, matrix)
        seconds = time.perf_counter() - began
        values = matrix.product(everything, everything, alpha)
        rows.append(
            {
                "kernel": kernel,
                "dataset": dataset,
                "lambda": lam,
                "draw": draw,
                "method": method,
                **scores(values + beta, y, problem.unlabelled),
                "objective": _primal(problem, values, beta, alpha),
                "seconds": seconds,
            }
        )
    return rows


def fitted(method: str, problem: PUProblem, matrix: KernelMatrix) -> tuple[Array, float]:
    """α on the table and β of one method."""
    from usmo.fitting.kernel import compile_once, train
    from usmo.solvers import ramp

    compile_once()
    if method == "init":
        sigma = starts.paper(problem, matrix)
        alpha = problem.table_coefficients(sigma, len(matrix))
        values = matrix.product(problem.unlabelled, np.arange(len(matrix)), alpha)
        return alpha, problem.bias(sigma, values)
    if method == "ramp_cccp":
        found = ramp.solve(problem, matrix)
        alpha = np.zeros(len(matrix))
        np.add.at(alpha, np.concatenate([problem.positives, problem.unlabelled]), found.alpha)
        return alpha, found.beta
    solver = {"double_hinge_qp": "qp", "usmo": "usmo"}[method]
    solution, _ = train(problem, matrix, solver=solver, tol=1e-4)
    return problem.table_coefficients(solution.sigma, len(matrix)), solution.beta


def _primal(problem: PUProblem, values: Array, beta: float, alpha: Array) -> float:
    """The double hinge objective, whatever the method minimised."""
    f = values[problem.unlabelled] + beta
    loss = float(problem.c2 @ unlabelled_loss(f))
    return loss - float(problem.c1 @ (values[problem.positives] + beta)) + 0.5 * float(alpha @ values)

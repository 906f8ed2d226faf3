"""The path shares kernel rows between its problems."""

import numpy as np

from tests.fits import train
from tests.oracles import random_problem
from usmo.core.problem import PUProblem
from usmo.core.table import Table
from usmo.fitting.path import fit_path
from usmo.fitting.specification import Specification


def test_path_computes_fewer_kernel_rows_than_separate_fits():
    problem, matrix = random_problem(2, n=3000, p=50, d=6, prior=0.2)
    problems = [
        PUProblem.from_prior(0.2, lam, problem.positives, problem.unlabelled) for lam in np.logspace(-1, -4, 10)
    ]
    table = Table(matrix.X, np.array([0, 1]), problem.positives, problem.unlabelled, None)
    fits = fit_path(table, problems, Specification(matrix.kernel))
    assert all(fit.solution.status == "optimal" for fit in fits)
    together = sum(fit.solution.kernel_rows for fit in fits)
    apart = sum(train(single, matrix)[0].kernel_rows for single in problems)
    assert together < 0.3 * apart

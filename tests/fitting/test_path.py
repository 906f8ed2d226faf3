"""The path shares kernel rows between its problems."""

import numpy as np

from tests.fits import train
from tests.oracles import random_problem
from usmo.core.labels import pu_problem
from usmo.core.table import Table
from usmo.fitting.path import fit_path
from usmo.fitting.specification import Specification


def test_path_computes_fewer_kernel_rows_than_separate_fits():
    problem, matrix = random_problem(2, n=3000, p=50, d=6, prior=0.2)
    problems = [pu_problem(0.2, lam, problem.b_rows, problem.c_rows) for lam in np.logspace(-1, -4, 10)]
    table = Table(matrix.X, np.array([0, 1]), problem.b_rows, problem.c_rows, None)
    fits = fit_path(table, problems, Specification(matrix.kernel))
    assert all(fit.solution.status == "optimal" for fit in fits)
    together = sum(fit.solution.kernel_rows for fit in fits)
    apart = sum(train(single, matrix)[0].kernel_rows for single in problems)
    assert together < 0.3 * apart

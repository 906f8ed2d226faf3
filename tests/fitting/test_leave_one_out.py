"""Held-out decision values without fitting again, against fits that leave the row out."""

from dataclasses import replace

import numpy as np
import pytest

from usmo.core.table import Table
from usmo.fitting.fit import fit_table
from usmo.fitting.leave_one_out import GatheredRows, free_rows, leave_one_out
from usmo.fitting.specification import Specification
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix

N, LABELLED, PRIOR, LAM = 80, 15, 0.4, 0.025
KERNEL = Kernel("rbf", 0.5)


def table_of(X, labelled, weight=None):
    return Table(X, np.array([0, 1]), np.flatnonzero(labelled), np.flatnonzero(~labelled), weight)


def fitted(table, scenario):
    """The fit, and its f on all rows."""
    fit = fit_table(table, Specification(KERNEL, scenario=scenario, tol=1e-8), PRIOR, LAM)
    f = KernelMatrix(table.X, KERNEL).cross_product(table.X, fit.coefficients(len(table.X))) + fit.solution.beta
    return fit, f


def held_out(table, scenario, copies):
    fit, f = fitted(table, scenario)
    every = np.arange(len(f))
    return f, leave_one_out(fit.problem, fit.solution, GatheredRows.of(table.X, KERNEL, every), every, f, copies)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    X[: N // 2, 0] += 1.5
    return X, np.arange(N) < LABELLED


@pytest.mark.parametrize("scenario", ["case-control", "censored"])
def test_values_are_those_of_fits_without_the_row(data, scenario):
    X, labelled = data
    f, values = held_out(table_of(X, labelled), scenario, np.ones(N))
    refits = np.empty(N)
    for i in range(N):
        rest = np.arange(N) != i
        fit, _ = fitted(table_of(X[rest], labelled[rest]), scenario)
        alpha = fit.coefficients(N - 1)
        refits[i] = KernelMatrix(X[rest], KERNEL).cross_product(X[i : i + 1], alpha)[0] + fit.solution.beta
    for part in (labelled, ~labelled):
        fit_error, error = (np.sqrt(np.mean((each - refits)[part] ** 2)) for each in (f, values))
        assert error < 0.35 * fit_error
    # the fit draws its labelled rows up
    assert (f - refits)[labelled].mean() > 0.1
    assert abs((values - refits)[labelled].mean()) < 0.05


def test_an_integer_weight_is_a_number_of_equal_rows_of_which_one_is_left_out(data):
    X, labelled = data
    weight = np.random.default_rng(1).integers(1, 4, N).astype(float)
    repeated = np.repeat(np.arange(N), weight.astype(int))
    f, by_weight = held_out(table_of(X, labelled, weight), "censored", weight)
    _, by_row = held_out(table_of(X[repeated], labelled[repeated]), "censored", np.ones(len(repeated)))
    # the dual variables of equal rows at a kink are not unique
    clear = (np.abs(np.abs(f) - 1.0) > 1e-3)[repeated]
    assert clear.mean() > 0.6
    np.testing.assert_allclose(by_weight[repeated][clear], by_row[clear], atol=1e-3)


def test_without_rows_between_kinks_and_with_one_labelled_row_values_are_finite(data):
    X, _ = data
    for lam in (LAM, 1e3):
        table = table_of(X, np.arange(N) == 0)
        fit = fit_table(table, Specification(KERNEL, tol=1e-8), PRIOR, lam)
        f = KernelMatrix(X, KERNEL).cross_product(X, fit.coefficients(N)) + fit.solution.beta
        every = np.arange(N)
        gathered = GatheredRows.of(X, KERNEL, every)
        assert np.isfinite(leave_one_out(fit.problem, fit.solution, gathered, every, f, np.ones(N))).all()


def test_only_labelled_rows_rows_between_kinks_and_the_rows_in_question_are_needed(data):
    X, labelled = data
    table = table_of(X, labelled)
    fit, f = fitted(table, "case-control")
    rows = np.arange(N)[::7]
    values = [
        leave_one_out(
            fit.problem, fit.solution, GatheredRows.of(X, KERNEL, *needed), rows, f[rows], np.ones(len(rows))
        )
        for needed in ((np.arange(N),), (fit.problem.b_rows, free_rows(fit.problem, fit.solution.sigma), rows))
    ]
    np.testing.assert_allclose(*values, atol=1e-9)


def test_without_the_only_row_between_kinks_the_others_grow_and_beta_stays(data):
    X, labelled = data
    fit, f = fitted(table_of(X, labelled), "case-control")
    problem, solution = fit.problem, fit.solution
    free = free_rows(problem, solution.sigma)
    assert len(free) > 1
    only = np.isin(problem.c_rows, free[:1])
    sigma = np.where(only, solution.sigma, 0.5 * problem.c * np.round(2.0 * solution.sigma / problem.c))
    K = KernelMatrix(X, KERNEL).block(np.arange(N), np.arange(N))
    q = K[:, problem.b_rows] @ problem.b
    f = q - K[:, problem.c_rows] @ sigma + solution.beta
    i, c = free[0], problem.c[only][0]
    grown = np.where(only, 0.0, sigma * (1.0 + c / (problem.c.sum() - c)))
    expected = q[i] - K[i, problem.c_rows] @ grown + solution.beta
    changed = replace(solution, sigma=sigma, G=(f - solution.beta)[problem.c_rows])
    every = np.arange(N)
    values = leave_one_out(problem, changed, GatheredRows.of(X, KERNEL, every), every, f, np.ones(N))
    assert np.isfinite(values).all()
    assert values[i] == pytest.approx(expected, abs=1e-9)

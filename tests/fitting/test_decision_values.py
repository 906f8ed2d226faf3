"""Certificates from float32 values with bounds: they never promise more than float64 confirms."""

from dataclasses import replace

import numpy as np
import pytest

from tests.fits import solve_blocks, train
from tests.oracles import random_problem
from usmo import PUSVC
from usmo.core.labels import Part, Risk, label_problem
from usmo.fitting import decision_values
from usmo.fitting.certify import certify, certify_values
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix
from usmo.solvers import blocks


@pytest.fixture
def always_bounded(monkeypatch):
    monkeypatch.setattr(decision_values, "_LARGE", 0.0)
    monkeypatch.setattr(decision_values, "_MOST_AGAIN", 1.0)


def problem_of(seed, **options):
    return random_problem(seed, **{"n": 1500, "p": 60, "d": 6, "kernel": Kernel("rbf", 0.2), **options})


@pytest.mark.parametrize(
    ("seed", "lam", "tol"), [(0, 1e-3, 1e-3), (1, 1e-4, 1e-5), (2, 1e-2, 0.3), (3, 1e-5, 1e-4)]
)
def test_gap_with_bounds_is_at_least_the_float64_gap_and_close_to_it(always_bounded, monkeypatch, seed, lam, tol):
    problem, matrix = problem_of(seed, lam=lam)
    solution = solve_blocks(problem, matrix, tol=tol)
    bounded = certify(problem, matrix, solution, True)
    monkeypatch.setattr(decision_values, "_LARGE", np.inf)
    exact = certify(problem, matrix, solution, True)
    ours, truth = bounded.certificate, exact.certificate
    assert (ours.precision, truth.precision) == ("float32 with bounds", "float64")
    assert truth.rounding == 0.0 <= ours.rounding <= ours.gap
    scale = max(1.0, abs(truth.primal))
    assert truth.gap <= ours.gap + 1e-12 * scale
    assert ours.gap <= truth.gap + 1e-9 * scale
    assert ours.kkt_violation == pytest.approx(truth.kkt_violation, abs=1e-9)
    assert ours.primal == pytest.approx(truth.primal, rel=1e-4)


def test_a_wrong_solution_is_not_certified(always_bounded):
    """σ that is feasible but not optimal keeps its large gap."""
    problem, matrix = problem_of(0, lam=1e-3)
    solution = solve_blocks(problem, matrix)
    wrong = solution.sigma[np.random.default_rng(0).permutation(problem.n)]
    certified = certify(problem, matrix, replace(solution, sigma=problem.repair(wrong)), True)
    assert certified.certificate.relative_gap > 1e-2


def test_float64_is_used_where_most_rows_lie_at_a_kink(monkeypatch):
    """At a constant optimum every row lies at f = -1: no bound keeps it away from there."""
    monkeypatch.setattr(decision_values, "_LARGE", 0.0)
    problem, matrix = problem_of(0, lam=1e3, prior=0.2)
    _, certificate = train(problem, matrix)
    assert certificate.precision == "float64"


def test_forest_kernels_have_bounds_too(always_bounded):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = (np.arange(1500) < 40).astype(int)
    X[:300] += 1.0
    model = PUSVC(0.2, kernel="forest+rbf", n_trees=20, random_state=0).fit(X, y)
    assert model.certificate_.precision == "float32 with bounds"
    assert model.certificate_.relative_gap < 1e-4


def wide_problem(seed=0, n=1200, d=80):
    """A balanced problem, in which labelled rows have a dual variable too, on a wide table; with the rows of a run."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:300] += 0.3
    kernel = KernelMatrix(X, Kernel("rbf", 0.3 / d))
    parts = Part.of(np.arange(60)), Part.of(np.arange(60, n))
    problem = label_problem(Risk(class_weight="balanced"), 0.2, 1e-3, *parts)
    rows = blocks.local_rows(problem, kernel, np.float32, 1000.0)
    return problem, kernel, blocks.solve(problem, rows), rows.kept


@pytest.fixture
def counted_products(monkeypatch):
    """The number of products with whole tables that certificates compute anew."""
    calls = []
    anew = decision_values.BoundedProducts.all
    monkeypatch.setattr(decision_values.BoundedProducts, "all", lambda self: calls.append(1) or anew(self))
    return calls


def test_gap_from_kept_rows_is_at_least_the_float64_gap_and_close_to_it(always_bounded, counted_products):
    problem, kernel, solution, kept = wide_problem()
    ours = certify(problem, kernel, solution, True, kept).certificate
    assert not counted_products
    assert ours.precision == "float32 with bounds"
    alpha = problem.table_coefficients(solution.sigma, len(kernel))[:, None]
    values = decision_values.Values(decision_values.exact_values(problem.rows, kernel, alpha)[:, 0])
    truth = certify_values(problem, solution, values, True).certificate
    scale = max(1.0, abs(truth.primal))
    assert truth.gap <= ours.gap + 1e-12 * scale
    assert ours.gap <= truth.gap + 1e-9 * scale
    assert ours.kkt_violation == pytest.approx(truth.kkt_violation, abs=1e-9)


@pytest.mark.parametrize("damage", ["two rows exchanged", "row of zeros", "small error"])
def test_kept_rows_that_disagree_with_the_table_are_not_used(always_bounded, counted_products, damage):
    problem, kernel, solution, kept = wide_problem()
    truth = certify(problem, kernel, solution, True).certificate
    before = len(counted_products)
    slots = kept.slot[np.flatnonzero((solution.sigma > 0) & (kept.slot >= 0))[:2]]
    if damage == "two rows exchanged":
        kept.values[slots] = kept.values[slots[::-1]]
    elif damage == "row of zeros":
        kept.values[slots[0]] = 0.0
    else:
        kept.values[slots[0]] += 0.01
    ours = certify(problem, kernel, solution, True, kept).certificate
    assert len(counted_products) == before + 1
    assert ours == truth


def test_kept_rows_are_not_used_where_labelled_rows_have_no_dual_variable(always_bounded, counted_products):
    problem, matrix = problem_of(0, d=80, lam=1e-3)
    rows = blocks.local_rows(problem, matrix, np.float32, 1000.0)
    solution = blocks.solve(problem, rows)
    certified = certify(problem, matrix, solution, True, rows.kept)
    assert counted_products
    assert certified.certificate.relative_gap < 1e-3

"""Certificates from float32 values with bounds: they never promise more than float64 confirms."""

from dataclasses import replace

import numpy as np
import pytest

from tests.fits import solve_blocks, train
from tests.oracles import random_problem
from usmo import PUSVC
from usmo.fitting import decision_values
from usmo.fitting.certify import certify
from usmo.kernels.kernel import Kernel


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

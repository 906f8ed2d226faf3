"""Narrowing to the rows that matter: the same optimum with a small cache, whatever the start."""

import numpy as np
import pytest

from tests.fits import solve_blocks
from tests.oracles import random_problem, shortfall
from usmo.core.dual import DualPoint
from usmo.kernels.kernel import Kernel
from usmo.solvers import blocks, starts
from usmo.solvers.narrowing import active, margins, rows_that_matter


@pytest.fixture
def early(monkeypatch):
    """Problems of tests are narrowed, to a few hundred rows."""
    monkeypatch.setattr(blocks, "_NARROW_FROM", 200)
    monkeypatch.setattr("usmo.solvers.narrowing._LEAST", 100)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("start", [None, "uniform"])
def test_narrowed_problems_end_at_the_optimum(early, seed, start):
    problem, matrix = random_problem(seed, n=900, p=40, d=4, lam=[1e-3, 1e-4][seed % 2], kernel=Kernel("rbf", 0.3))
    sigma = None if start is None else starts.uniform(problem)
    solution = solve_blocks(problem, matrix, sigma, cache_size=0.1, tol=1e-5, dtype=np.float64)
    assert solution.status == "optimal"
    assert "narrowed" in {record.kind for record in solution.history}
    assert shortfall(problem, matrix, solution.sigma) <= 1e-7


def test_objective_falls_with_every_narrowed_problem(early):
    problem, matrix = random_problem(5, n=2000, p=50, d=5, lam=1e-4, kernel=Kernel("rbf", 0.3))
    solution = solve_blocks(problem, matrix, starts.uniform(problem), cache_size=0.2, tol=1e-4)
    objectives = np.array([record.objective for record in solution.history])
    assert (np.diff(objectives) <= 1e-6 * np.abs(objectives[1:])).all()


def test_margins_are_negative_for_the_two_rows_that_violate_most_and_zero_between_bounds():
    c = np.ones(4)
    point = DualPoint(np.array([0.0, 1.0, 0.25, 0.5]), c)
    # f must be ≤ -1, ≥ 1, = -1 and between -1 and 1: the first two violate by 1 each
    margin = margins(point, np.array([0.0, 0.0, -1.0, 0.2]))
    np.testing.assert_allclose(margin, [-1.0, -1.0, 0.0, 0.8])
    assert active(margin, 1e-3) == 3


def test_the_most_violating_rows_are_always_among_those_that_matter():
    rng = np.random.default_rng(0)
    c = np.ones(20_000)
    point = DualPoint(rng.choice([0.0, 0.5, 1.0], 20_000), c)
    G = rng.normal(size=20_000)
    rows = rows_that_matter(margins(point, G), 1e-3)
    up, dn = point.slopes(G)
    assert {int(up.argmin()), int(dn.argmax())} <= set(rows.tolist())
    assert (np.diff(rows) > 0).all()

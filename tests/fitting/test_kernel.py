"""Fits with a kernel are refined until the certificate meets the tolerance."""

import numpy as np

from tests.fits import train
from tests.oracles import random_problem, shortfall
from usmo.fitting.warm_up import compile_kernel_solvers
from usmo.solvers import blocks, usmo


def test_solver_runs_again_while_the_certified_violation_exceeds_the_tolerance(monkeypatch):
    """The first run stops early, as if its G had drifted; the second continues from the certified values."""
    problem, matrix = random_problem(7, n=60, p=8, lam=1e-3)
    solve, tolerances = usmo.solve, []

    def drifting(problem, matrix, sigma, *, tol, **options):
        tolerances.append(tol)
        return solve(problem, matrix, sigma, tol=tol if len(tolerances) > 1 else 0.3, **options)

    compile_kernel_solvers()
    monkeypatch.setattr(usmo, "solve", drifting)
    solution, certificate = train(problem, matrix, solver="usmo", tol=1e-6)
    assert len(tolerances) == 2
    assert solution.status == "optimal"
    assert certificate.kkt_violation <= 1.1e-6
    steps = [record.steps for record in solution.history]
    assert steps == sorted(steps)
    assert solution.iterations == steps[-1]


def test_float32_rows_with_a_tolerance_below_their_rounding_are_refined(monkeypatch):
    problem, matrix = random_problem(3, n=800, p=30, d=5, lam=1e-5)
    compile_kernel_solvers()
    monkeypatch.setattr(blocks, "choose_float_type", lambda *_: np.float32)
    types, solve = [], blocks.solve

    def noting(problem, rows, *args, **options):
        types.append(rows.dtype)
        return solve(problem, rows, *args, **options)

    monkeypatch.setattr(blocks, "solve", noting)
    solution, certificate = train(problem, matrix, tol=1e-7)
    assert len(types) > 1
    assert types[0] == np.float32
    assert solution.status == "optimal"
    assert certificate.kkt_violation <= 1e-7 + 1e-9 * np.abs(solution.G).max()
    assert shortfall(problem, matrix, solution.sigma) <= 1e-9
    assert solution.iterations == sum(record.kind == "block" for record in solution.history)

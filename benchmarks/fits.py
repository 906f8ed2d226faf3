"""What the benchmarks of solvers share: fits with options as keywords, and the best time of several runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from usmo.core.arrays import Array
from usmo.core.certificate import Certificate
from usmo.core.problem import Problem
from usmo.core.solution import Solution
from usmo.fitting.kernel import fit_kernel
from usmo.fitting.specification import Specification
from usmo.kernels.matrix import KernelMatrix
from usmo.solvers import blocks

CACHE = 1000.0
"""Megabytes of the row cache where the block solver is measured alone."""


def fit(problem: Problem, matrix: KernelMatrix, **options: Any) -> tuple[Solution, Certificate]:
    """A solution and its certificate; options are fields of a specification."""
    certified = fit_kernel(problem, matrix, Specification(matrix.kernel, **options))
    return certified.solution, certified.certificate


def solve_blocks(
    problem: Problem, matrix: KernelMatrix, start: Array | None = None, tol: float = 1e-3
) -> Solution:
    """The solution of the block solver, without a certificate."""
    rows = blocks.local_rows(problem, matrix, blocks.choose_float_type(problem, matrix, tol), CACHE)
    return blocks.solve(problem, rows, start, tol=tol)


def best_time(work: Callable[[], object], runs: int = 3) -> float:
    """The shortest of several runs in seconds."""
    seconds = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)

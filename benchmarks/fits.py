"""What the benchmarks of solvers share: fits with options as keywords, their times and their memory."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

import psutil

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


def time_and_memory(model: Any, X: Any, y: Any) -> tuple[float, int]:
    """Seconds of a fit, and the bytes by which the peak of this process exceeds its memory before the fit.

    The peak may be an earlier one, of making the table, so the fit takes no more than that.
    """
    before = psutil.Process().memory_info().rss
    began = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - began
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before


def best_time(work: Callable[[], object], runs: int = 3) -> float:
    """The shortest of several runs in seconds."""
    seconds = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)

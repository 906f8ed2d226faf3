"""Compile the solvers before the first fit, so that compilation is announced and not counted as part of it."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from scipy import sparse

from usmo.core.labels import pu_problem
from usmo.kernels import dense_loops, tiles
from usmo.kernels.forest import Kind, grow
from usmo.kernels.kernel import Kernel
from usmo.kernels.leaf_matrix import LeafMatrix
from usmo.kernels.matrix import KernelMatrix
from usmo.solvers import blocks, interior, newton, starts, usmo
from usmo.solvers.newton_products import rows_of
from usmo.system.compilation import announced_compilation


@cache
def compile_kernel_solvers() -> None:
    """Compile them, or load them from Numba's cache, on a problem that needs passes of both kinds."""
    toy = KernelMatrix(np.arange(20.0)[:, None], Kernel("rbf"))
    problem = pu_problem(0.5, 1e-3, np.arange(5), np.arange(5, 20))
    with announced_compilation():
        usmo.solve(problem, toy, starts.uniform(problem))
        for dtype in (np.float32, np.float64):
            blocks.solve(problem, blocks.local_rows(problem, toy, dtype, 1.0))
            rows = np.zeros((1, 1), dtype=dtype)
            tiles.rbf_block(rows, rows, rows[0], rows[0], 1.0)
            tiles.rbf_sums(partial(_one_row, rows), 1, rows, rows[0], 1.0, rows)
        dense_loops.warm_up()


@cache
def compile_tree_loops() -> None:
    """Compile the loops over trees and leaves, or load them from Numba's cache."""
    X, kind = np.arange(8.0)[:, None], np.ones(4)
    with announced_compilation():
        forest = grow(X, (Kind(np.arange(4), kind), Kind(np.arange(4, 8), kind)), 2, 0)
        table = forest.table(X, columns=False)
        forest.evaluate(X, forest.leaf_values(table.leaves, np.ones(8), 1.0))
        matrix = LeafMatrix(table, Kernel("forest"))
        matrix.product(np.arange(8), np.arange(8), np.ones(8))
        for dtype in (np.float32, np.float64):
            matrix.restrict(np.arange(8), dtype).block(slice(None), slice(None))


@cache
def compile_linear_solver() -> None:
    """Compile the loops over rows of the interior point, or load them from Numba's cache."""
    with announced_compilation():
        interior.warm_up()
        dense_loops.warm_up()


@cache
def compile_newton_solver() -> None:
    """Compile the passes of the Newton solver over CSR and dense rows, or load them from Numba's cache."""
    X = np.arange(24.0).reshape(12, 2) % 5
    c = np.where(np.arange(12) < 3, 0.0, 1.0)
    with announced_compilation():
        for dtype in (np.float64, np.float32):
            for table in (X.astype(dtype), sparse.csr_matrix(X.astype(dtype))):
                newton.solve(rows_of(table), np.where(c == 0.0, 1.0, 0.0), c)


def _one_row(rows: Any, part: slice) -> tuple[Any, Any]:
    return rows, rows[0]

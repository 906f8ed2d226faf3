"""The trees of the kernels "forest" and "forest+rbf": grown from a problem, they turn its table into one of leaves.

Trees tell rows that count as positive from rows that count as negative. The problem has both weights of every row: b
counts as positive, and max(0, c - b) as negative. So unlabelled rows and known negatives stand against labelled
positives, a known negative with the weight that it has in the risk; and soft labels count on both sides.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array
from usmo.core.problem import Problem
from usmo.core.table import Table
from usmo.fitting.specification import Specification
from usmo.fitting.warm_up import compile_tree_loops
from usmo.kernels.forest import Kind, LeafTable, grow
from usmo.kernels.kernel import FORESTS

LARGEST_SPARSE = 2**26
"""Entries up to which a sparse table is accepted (512 MB dense): trees and standardised columns are dense."""

_ROUNDING = 1e-12
"""Share of the largest weight below which a difference of b and c is rounding."""


def with_trees(table: Table, problem: Problem, spec: Specification) -> Table:
    """The table for the kernel of the specification: of leaves for a forest, else unchanged.

    The trees are grown from the rows of the problem. Other rows of the table only get their leaves.
    """
    if spec.kernel is None or spec.kernel.name not in FORESTS or isinstance(table.X, LeafTable):
        return table
    X = table.X
    if sparse.issparse(X) and X.shape[0] * X.shape[1] > LARGEST_SPARSE:
        raise ValueError(
            f"kernel={spec.kernel.name!r} holds the table dense, and this sparse one of shape {X.shape} is too large "
            "for that: take kernel='linear' or 'rbf', or fewer columns"
        )
    compile_tree_loops()
    forest = grow(X, _kinds(problem, X.shape[0]), spec.n_trees, spec.seed)
    return replace(table, X=forest.table(X, columns=spec.kernel.name == "forest+rbf"))


def _kinds(problem: Problem, n: int) -> tuple[Kind, Kind]:
    """The rows that count as positive and those that count as negative, with their weights."""
    positive, negative = np.zeros((2, n))
    positive[problem.b_rows] = problem.b
    negative[problem.c_rows] = problem.c
    negative = np.maximum(negative - positive, 0.0)
    return _kind(positive), _kind(negative)


def _kind(mass: Array) -> Kind:
    rows = np.flatnonzero(mass > _ROUNDING * mass.max())
    return Kind(rows, mass[rows])

"""Kernel functions by name, with their parameters.

    linear   k(x,y) = x·y                    rbf      k(x,y) = exp(-γ‖x-y‖²)
    poly     k(x,y) = (γ x·y + r)^d          sigmoid  k(x,y) = tanh(γ x·y + r)

The kernels "forest" and "forest+rbf" compare the leaves of learned trees (:mod:`usmo.kernels.leaf_matrix`).
"precomputed" means that the table is the kernel matrix. A callable ``k(A, B)`` returns a block of kernel values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array

FIXED = ("linear", "rbf", "poly", "sigmoid", "precomputed")
"""Kernels that are not learnt from the table."""

FORESTS = ("forest", "forest+rbf")
"""Kernels of learned trees."""


@dataclass(frozen=True)
class Kernel:
    """A kernel function with its parameters. ``name`` is one of the names above or a callable."""

    name: str | Callable[[Any, Any], Any]
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 0.0

    @property
    def surely_psd(self) -> bool:
        """True when the kernel is positive semidefinite by its formula alone."""
        return self.name in ("linear", "rbf", *FORESTS) or (
            self.name == "poly" and self.coef0 >= 0 and float(self.degree).is_integer()
        )

    def of_products(self, products: Array) -> Array:
        """k(x, y) from x·y, for the linear, polynomial and sigmoid kernels."""
        if self.name == "linear":
            return products
        products = self.gamma * products + self.coef0
        return np.tanh(products) if self.name == "sigmoid" else products**self.degree

    def describe(self) -> str:
        """The kernel and its parameters as text; a callable by its name."""
        name = self.name if isinstance(self.name, str) else getattr(self.name, "__qualname__", repr(self.name))
        return repr((name, self.gamma, self.degree, self.coef0))


def checked_block(answer: Any, shape: tuple[int, int]) -> Array:
    """The kernel values that a callable returned, dense; an error if they are no finite array of this shape."""
    block = np.asarray(answer.toarray() if sparse.issparse(answer) else answer, dtype=np.float64)
    finite = bool(np.isfinite(block).all())
    if block.shape != shape or not finite:
        raise ValueError(
            f"kernel must return a finite array of shape {shape}, "
            f"got shape {block.shape}" + ("" if finite else " with non-finite values")
        )
    return block

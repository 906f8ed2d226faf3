"""What to fit and how, without data: the parameters of an estimator after validation."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from usmo.core.labels import ClassWeight, Risk
from usmo.kernels.kernel import Kernel


@dataclass(frozen=True)
class Specification:
    """Parameters of a fit. Prior and λ are separate, because a path varies them.

    ``kernel`` None means a linear function of the columns, fitted by passes over row blocks. ``cache_size`` is in
    megabytes, None for the default. The other fields are the parameters of :class:`usmo.PUSVC`.
    """

    kernel: Kernel | None = None
    scenario: str = "case-control"
    class_weight: ClassWeight = None
    eta: float = 0.0
    solver: str = "auto"
    tol: float = 1e-3
    max_iter: int = -1
    max_time: float | None = None
    cache_size: float | None = None
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_seconds: float = 30.0
    approximation: str | None = None
    n_components: int = 500
    n_trees: int = 300
    seed: int = 0

    @property
    def risk(self) -> Risk:
        """Which risk is minimised."""
        return Risk(self.scenario, self.class_weight, self.eta)

    @property
    def kernel_name(self) -> str:
        """The name of the kernel; of a callable, "callable"."""
        if self.kernel is None:
            return "linear"
        return self.kernel.name if isinstance(self.kernel.name, str) else "callable"

    def with_gamma(self, gamma: float) -> Specification:
        """The same with another kernel coefficient; unchanged for a linear function of the columns."""
        return self if self.kernel is None else replace(self, kernel=replace(self.kernel, gamma=gamma))

    def unlimited(self) -> Specification:
        """The same problem solved to the end, by the solver chosen for it and without a checkpoint."""
        return replace(self, solver="auto", max_iter=-1, max_time=None, checkpoint=None)

"""Types of the parameters of the estimators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

ClassWeight = Literal["balanced"] | dict[int, float] | None
Eta = float | Literal["auto"]
Prior = float | Literal["estimate"]
PropensityChoice = Literal["estimate"] | None
Lam = float | Literal["auto", "cv"]
KernelName = (
    Literal["linear", "rbf", "poly", "sigmoid", "forest", "forest+rbf", "precomputed"] | Callable[[Any, Any], Any]
)
Gamma = float | Literal["scale", "auto"]
Scenario = Literal["case-control", "censored"]
Threshold = float | Literal["prior"]
Solver = Literal["auto", "blocks", "usmo", "interior-point", "newton", "qp"]
LinearSolver = Literal["auto", "interior-point", "newton"]
ApproximationName = Literal["nystroem", "rff"]
Rule = Literal["one-se", "min"]
CacheSize = float | Literal["auto"]

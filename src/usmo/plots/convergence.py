"""Convergence of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from usmo.metrics import last_step
from usmo.plots.display import INSIDE, MARK, POSITIVE, Display, check_has


class ConvergenceDisplay(Display):
    """Convergence of a fit: KKT violation, and the objective above its last value, against time and kernel rows.

    For a fit without kernel rows (linear models) the second panel shows the iterations instead.

    Attributes
    ----------
    seconds, violation, objective_gap, work : ndarray
        One entry per pass; ``objective_gap`` is the dual objective minus its last value.
    work_name : str
        "kernel rows" or "iterations".
    tol : float or None
    """

    def __init__(self, history: Sequence[Any], *, tol: float | None = None) -> None:
        if not history:
            raise ValueError("history must hold at least one pass, got none")
        self.seconds, self.violation, objective, rows, steps = (
            np.array([getattr(record, name) for record in history], dtype=np.float64)
            for name in ("seconds", "violation", "objective", "kernel_rows", "steps")
        )
        self.objective_gap = objective - objective[-1]
        self.work, self.work_name = (rows, "kernel rows") if rows.any() else (steps, "iterations")
        self.tol = tol

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kw: Any) -> ConvergenceDisplay:
        """From a fitted PUSVC or LinearPUSVC."""
        model = last_step(estimator)
        check_has(model, "history_")
        return cls(model.history_, tol=getattr(model, "tol", None)).plot(ax=ax, **kw)

    def plot(self, ax: Any = None, **kw: Any) -> ConvergenceDisplay:
        """Draw on two axes; ``kw`` goes to the lines."""
        axes = self._axes(ax, 2, width=9.0)
        curves = (
            (self.violation, "KKT violation", POSITIVE, "o"),
            (self.objective_gap, "objective above its last value", MARK, "s"),
        )
        for axis, x, name in ((axes[0], self.seconds, "seconds"), (axes[1], self.work, self.work_name)):
            axis.set_yscale("log")
            for y, label, colour, marker in curves:
                # zeros, such as the last gap, cannot be drawn on a logarithmic axis
                drawn = np.where(y > 0, y, np.nan)
                if np.isnan(drawn).all():
                    continue
                style = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1.5, "label": label}
                axis.plot(x, drawn, **{**style, **kw})
            if self.tol is not None:
                axis.axhline(self.tol, color="black", linewidth=1, linestyle="--", label=f"tol = {self.tol:g}")
            axis.set_xlabel(name)
            axis.set_xlim(left=0.0)
            axis.grid(alpha=0.25)
        axes[0].set_ylabel("violation, objective")
        axes[1].legend(**INSIDE)
        return self

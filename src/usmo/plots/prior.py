"""Estimates of the prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from usmo.metrics import last_step
from usmo.plots.display import ABOVE, MARK, POSITIVE, Display, check_has, check_lengths


class PriorDisplay(Display):
    """One or several estimates of the prior with their intervals.

    Attributes
    ----------
    names : list of str
    priors : ndarray
    intervals : list of tuple or None
    true : float or None
    """

    def __init__(
        self,
        names: Sequence[str],
        priors: Any,
        intervals: Sequence[Any] | None = None,
        *,
        true: float | None = None,
    ) -> None:
        self.names, self.priors = list(names), np.asarray(priors, dtype=np.float64)
        self.intervals = [None] * len(self.names) if intervals is None else list(intervals)
        self.true = true
        check_lengths(names=self.names, priors=self.priors, intervals=self.intervals)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, true: float | None = None, ax: Any = None, **kw: Any
    ) -> PriorDisplay:
        """From a fitted prior estimator or classifier, or a mapping of names to such models."""
        named = estimator if isinstance(estimator, Mapping) else {type(last_step(estimator)).__name__: estimator}
        models = {name: last_step(model) for name, model in named.items()}
        for model in models.values():
            check_has(model, "prior_")
        intervals = [getattr(m, "interval_", getattr(m, "prior_interval_", None)) for m in models.values()]
        priors = [model.prior_ for model in models.values()]
        return cls.from_predictions(list(models), priors, intervals, true=true, ax=ax, **kw)

    @classmethod
    def from_predictions(
        cls, names: Sequence[str], priors: Any, intervals: Sequence[Any] | None = None, *,
        true: float | None = None, ax: Any = None, **kw: Any,
    ) -> PriorDisplay:  # fmt: skip
        """From numbers; an interval may be None."""
        return cls(names, priors, intervals, true=true).plot(ax=ax, **kw)

    def plot(self, ax: Any = None, **kw: Any) -> PriorDisplay:
        """Draw; ``kw`` goes to the error bars."""
        (axis,) = self._axes(ax, height=1.3 + 0.6 * len(self.names))
        heights = np.arange(len(self.names))[::-1]
        for y, prior, interval in zip(heights, self.priors, self.intervals, strict=True):
            low, high = (prior, prior) if interval is None else interval
            style = {"color": POSITIVE, "marker": "o", "markersize": 7, "capsize": 4, "linewidth": 2}
            axis.errorbar([prior], [y], xerr=[[prior - low], [high - prior]], **{**style, **kw})
            axis.annotate(
                f"{prior:.3f}", (prior, y), xytext=(0, 8), textcoords="offset points", ha="center", fontsize=9,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0},
            )  # fmt: skip
        if self.true is not None:
            label = f"true: {self.true:.3f}"
            axis.axvline(self.true, color=MARK, linewidth=1.5, linestyle="--", label=label, zorder=1)
            axis.legend(**ABOVE)
        ends = [self.priors.max(), self.true or 0.0, *(interval[1] for interval in self.intervals if interval)]
        right = min(1.0, 1.2 * float(max(ends)))
        axis.set(xlabel="prior π", xlim=(0.0, right), ylim=(-0.5, len(self.names) - 0.3))
        axis.set_yticks(heights, self.names)
        axis.grid(axis="x", alpha=0.25)
        return self

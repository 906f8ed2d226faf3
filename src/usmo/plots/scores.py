"""Densities of the decision values of P and U."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.core.arrays import Array
from usmo.metrics import PUSample, checked_prior, decision_values, last_step
from usmo.plots.display import INSIDE, POSITIVE, UNLABELLED, Display

_GRID = 512
"""Points of the curves, about one per pixel of the axes."""


class ScoreDisplay(Display):
    """Densities of the decision values: U, and below it π·P; the difference is the negatives' share of U.

    Both are smoothed by the same Gaussian, so that U = π·P + (1-π)·N holds for the curves too. Where π·P rises
    clearly above U, π is too great or P is not a random sample of the positives.

    Attributes
    ----------
    grid, density_positive, density_unlabelled : ndarray
        Points and the two densities at these points; each integrates to 1.
    positives : ndarray
        Decision values of P.
    prior, threshold : float
    """

    def __init__(
        self, grid: Array, density_positive: Array, density_unlabelled: Array, *,
        positives: Array, prior: float, threshold: float = 0.0,
    ) -> None:  # fmt: skip
        self.grid, self.positives = grid, positives
        self.density_positive, self.density_unlabelled = density_positive, density_unlabelled
        self.prior, self.threshold = prior, threshold

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, ax: Any = None, **kw: Any
    ) -> ScoreDisplay:
        """From a fitted model, and rows with their labels, preferably held-out ones."""
        f, model = decision_values(estimator, X), last_step(estimator)
        scenario = getattr(model, "scenario", "case-control")
        return cls.from_predictions(
            y, f, prior=model.prior_, scenario=scenario, sample_weight=sample_weight, ax=ax, **kw
        )

    @classmethod
    def from_predictions(
        cls, y: Any, f: Any, *,
        prior: float, threshold: float = 0.0, scenario: str = "case-control", sample_weight: Any = None,
        ax: Any = None, **kw: Any,
    ) -> ScoreDisplay:  # fmt: skip
        """From labels and decision values."""
        prior = checked_prior(prior)
        sample = PUSample.of(y, f, scenario, sample_weight)
        samples = [(sample.f[rows], sample.weight[rows]) for rows in (sample.labelled, sample.unlabelled)]
        low, high = float(sample.f.min()), float(sample.f.max())
        spreads = [float(np.sqrt(np.cov(v, aweights=w, ddof=0))) for v, w in samples]
        # Silverman's rule for P, the smaller sample, but not narrower than the grid resolves
        smooth = 0.9 * min((s for s in spreads if s > 0), default=0.0) * sample.size(sample.labelled) ** -0.2
        smooth = max(smooth, 0.005 * ((high - low) or 1.0))
        grid = np.linspace(low - 5.0 * smooth, high + 5.0 * smooth, _GRID)
        positive, unlabelled = (_density(v, w, grid, smooth) for v, w in samples)
        display = cls(grid, positive, unlabelled, positives=samples[0][0], prior=prior, threshold=threshold)
        return display.plot(ax=ax, **kw)

    def plot(self, ax: Any = None, **kw: Any) -> ScoreDisplay:
        """Draw; ``kw`` goes to the two filled curves."""
        (axis,) = self._axes(ax)
        share = self.prior * self.density_positive
        kw = {"linewidth": 1.0, "alpha": 0.55, **kw}
        axis.fill_between(self.grid, self.density_unlabelled, color=UNLABELLED, label="unlabelled", **kw)
        axis.fill_between(self.grid, share, color=POSITIVE, label=f"π · positives, π = {self.prior:.3g}", **kw)
        axis.plot(
            self.positives, np.full(len(self.positives), 0.02), "|", transform=axis.get_xaxis_transform(),
            color=POSITIVE, markersize=9, alpha=0.7, label="known positives",
        )  # fmt: skip
        axis.axvline(self.threshold, color="black", linewidth=1.2, label=f"threshold {self.threshold:.3g}")
        top = 1.05 * max(float(self.density_unlabelled.max()), float(share.max()))
        axis.set(xlabel="decision function f", ylabel="density", ylim=(0.0, top))
        axis.legend(**INSIDE)
        return self


def _density(values: Array, weight: Array, grid: Array, smooth: float) -> Array:
    """Gaussian kernel density, computed from counts in bins much narrower than the kernel."""
    edges = np.linspace(grid[0], grid[-1], 4 * _GRID + 1)
    mass, _ = np.histogram(values, edges, weights=weight / weight.sum())
    distance = (grid[:, None] - 0.5 * (edges[1:] + edges[:-1])) / smooth
    return np.asarray(np.exp(-0.5 * distance**2) @ mass) / (smooth * np.sqrt(2.0 * np.pi))

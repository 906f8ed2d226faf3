"""Sensitivity of a fitted model to the prior."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from usmo.core.arrays import Array
from usmo.estimators.sensitivity import prior_sensitivity
from usmo.metrics import PUSample, last_step, pu_f1
from usmo.plots.display import ABOVE, MARK, POSITIVE, UNLABELLED, Display, check_has


class SensitivityDisplay(Display):
    """What another π would change: rows called positive, estimated F1, and the ranking of the unlabelled rows.

    All numbers are computed on the training rows, so the F1 is too high: compare priors by it, do not quote it.

    Attributes
    ----------
    priors : ndarray
        The priors that the model was fitted with, ascending.
    positives : ndarray
        Unlabelled rows with f > 0.
    f1 : ndarray
        F1 estimated from P and U under that prior (:func:`usmo.metrics.pu_f1`).
    spearman, overlap : ndarray
        Rank correlation with the given model's f on the unlabelled rows, and the share of the ``top`` highest rows
        of that model that are among the ``top`` highest.
    prior, interval, top : float, tuple or None, int
        Prior and interval of the given model; ``top`` is by default the number of positives among the unlabelled
        rows if the prior is π.
    """

    def __init__(
        self, priors: Any, positives: Any, f1: Any, spearman: Any, overlap: Any, *,
        prior: float, interval: tuple[float, float] | None = None, top: int,
    ) -> None:  # fmt: skip
        self.priors, self.positives, self.f1 = (np.asarray(v) for v in (priors, positives, f1))
        self.spearman, self.overlap = np.asarray(spearman), np.asarray(overlap)
        self.prior, self.interval, self.top = prior, interval, top

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *,
        priors: Any = None, top: int | None = None, sample_weight: Any = None, ax: Any = None, **kw: Any,
    ) -> SensitivityDisplay:  # fmt: skip
        """Fit the model again on X, y with every prior: by default nine over the interval of its estimate.

        Without an interval they go from π/2 to 3π/2. Only the last step of a pipeline is fitted again.
        """
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        model = last_step(estimator)
        check_has(model, "prior_")
        if model is not estimator:
            X = estimator[:-1].transform(X)
        base, y = model.decision_function(X), np.asarray(y)
        sample = PUSample.of(y, base, "case-control")
        labels = sample.labelled.astype(int) - sample.negative
        refits = prior_sensitivity(
            model, X, labels, priors=priors, top=top, base=base, sample_weight=sample_weight
        )
        f1 = [
            pu_f1(y, f, prior=prior, scenario=model.scenario, sample_weight=sample_weight)
            for prior, f in zip(refits.priors, refits.f, strict=True)
        ]
        return cls(
            refits.priors, refits.positives, f1,
            [_rank_correlation(f[labels == 0], base[labels == 0]) for f in refits.f], refits.overlap,
            prior=float(model.prior_), interval=getattr(model, "prior_interval_", None), top=refits.top,
        ).plot(ax=ax, **kw)  # fmt: skip

    def plot(self, ax: Any = None, **kw: Any) -> SensitivityDisplay:
        """Draw on three axes; ``kw`` goes to the lines."""
        axes = self._axes(ax, 3, width=11.0)
        style = {"color": POSITIVE, "marker": "o", "markersize": 4, "linewidth": 1.8}
        second = {**style, "color": MARK, "marker": "s"}
        axes[0].plot(self.priors, self.positives, **{**style, **kw})
        axes[1].plot(self.priors, self.f1, **{**style, **kw})
        axes[2].plot(self.priors, self.spearman, **{**style, "label": "rank correlation", **kw})
        axes[2].plot(self.priors, self.overlap, **{**second, "label": f"same among the top {self.top}", **kw})
        lowest = float(np.nanmin(np.append(np.r_[self.spearman, self.overlap], 0.95)))
        axes[0].set(ylabel="unlabelled rows called positive", ylim=(0, None))
        axes[1].set(ylabel="F1 estimated from P and U", ylim=(0, 1.02))
        axes[2].set(ylabel="agreement with the fitted model", ylim=(lowest - 0.05, 1.02))
        own = f"π of the model, {self.prior:.3g}"
        for k, axis in enumerate(axes):
            axis.axvline(self.prior, color="black", linewidth=1.2, linestyle="--", zorder=1, label=own)
            if self.interval is not None:
                band = {"color": UNLABELLED, "alpha": 0.15, "linewidth": 0, "zorder": 0}
                axis.axvspan(*self.interval, **band, label="its interval")
            axis.set_xlabel("prior π")
            axis.grid(alpha=0.25)
            if k != 1:
                handles, labels = axis.get_legend_handles_labels()
                axis.legend(handles[:2], labels[:2], **ABOVE)
        return self


def _rank_correlation(a: Array, b: Array) -> float:
    """Spearman's rank correlation, tied values with their mean rank; NaN if one of the two is constant."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])

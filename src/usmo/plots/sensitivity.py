"""What another class prior would change."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from usmo.core.arrays import Array
from usmo.metrics import PUSample, checked_prior, last_step, pu_f1
from usmo.plots.display import ABOVE, MARK, POSITIVE, UNLABELLED, Display, check_has

_PRIORS = 9


class SensitivityDisplay(Display):
    """What another π would change: rows called positive, estimated F1, and the ranking of the unlabelled rows.

    All of it on the rows trained on, which flatter the F1: it is for comparing, not for judging.

    Attributes
    ----------
    priors : ndarray
        The priors that the model was fitted with, ascending.
    positives : ndarray
        Unlabelled rows with f > 0.
    f1 : ndarray
        F1 estimated from P and U under that prior (:func:`usmo.metrics.pu_f1`).
    spearman, overlap : ndarray
        Rank correlation with the unlabelled rows' f of the model given, and the share of its ``top`` highest rows
        that are among the ``top`` highest.
    prior, interval, top : float, tuple or None, int
        Those of the model given; ``top`` is by default the positives that π promises among the unlabelled rows.
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

        Without an interval they go from π/2 to 3π/2. Pipelines are fitted again in their last step only.
        """
        from usmo.fitting.path import path

        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        model = last_step(estimator)
        check_has(model, "prior_")
        if model is not estimator:
            X = estimator[:-1].transform(X)
        interval = getattr(model, "prior_interval_", None)
        low, high = (0.5 * model.prior_, 1.5 * model.prior_) if interval is None else interval
        if priors is None:
            half = (_PRIORS + 1) // 2
            ends = max(min(low, model.prior_), 1e-3 * model.prior_), min(max(high, model.prior_), 0.999)
            priors = [np.linspace(ends[0], model.prior_, half), np.linspace(model.prior_, ends[1], half)[1:]]
            priors = np.concatenate(priors)
        priors = np.unique(np.asarray(priors, dtype=np.float64))
        for prior in priors:
            checked_prior(prior)
        base = model.decision_function(X)
        y = np.asarray(y)
        rows = np.flatnonzero(~PUSample.of(y, base, "case-control").labelled)
        top = max(1, round(model.prior_ * len(rows))) if top is None else top
        if not 1 <= top <= len(rows):
            raise ValueError(f"top must lie between 1 and the {len(rows)} unlabelled rows, got {top}")
        lam = getattr(model, "lam_", model.lam)
        template = clone(model).set_params(prior=model.prior_)
        fits = path(template, X, y, lams=[lam], priors=priors, sample_weight=sample_weight)
        found = []
        for prior, fit in zip(priors, fits, strict=True):
            f = fit.decision_function(X)
            f1 = pu_f1(y, f, prior=prior, scenario=model.scenario, sample_weight=sample_weight)
            same = len(np.intersect1d(_highest(f[rows], top), _highest(base[rows], top))) / top
            found.append((int((f[rows] > 0).sum()), f1, _rank_correlation(f[rows], base[rows]), same))
        columns = zip(*found, strict=True)
        return cls(priors, *columns, prior=float(model.prior_), interval=interval, top=top).plot(ax=ax, **kw)

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
        mine = f"π of the model, {self.prior:.3g}"
        for k, axis in enumerate(axes):
            axis.axvline(self.prior, color="black", linewidth=1.2, linestyle="--", zorder=1, label=mine)
            if self.interval is not None:
                style = {"color": UNLABELLED, "alpha": 0.15, "linewidth": 0, "zorder": 0}
                axis.axvspan(*self.interval, **style, label="its interval")
            axis.set_xlabel("class prior π")
            axis.grid(alpha=0.25)
            if k != 1:
                handles, labels = axis.get_legend_handles_labels()
                axis.legend(handles[:2], labels[:2], **ABOVE)
        return self


def _highest(f: Array, count: int) -> Any:
    return np.argsort(-f, kind="stable")[:count]


def _rank_correlation(a: Array, b: Array) -> float:
    """Spearman's, by mean ranks of ties; NaN where one of the two does not vary."""
    from scipy.stats import rankdata

    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])

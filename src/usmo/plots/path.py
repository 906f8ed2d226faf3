"""Cross-validated risk along λ."""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.plots.display import ABOVE, MARK, POSITIVE, UNLABELLED, Display, check_has, check_lengths


class PathDisplay(Display):
    """Cross-validated PU risk along λ, with a band of one standard error, one line per γ.

    Attributes
    ----------
    lams, mean, error : ndarray
        One entry per pair of γ and λ.
    gammas : list
        γ of each entry; None throughout if there is only one.
    chosen, best, one_se : float
        λ chosen, λ of the lowest risk, and the greatest λ whose risk is within one standard error of the lowest;
        the last two on the line of ``chosen_gamma``.
    chosen_gamma : float, str or None
    """

    def __init__(
        self, lams: Any, mean: Any, error: Any, *,
        gammas: Any = None, chosen: float | None = None, chosen_gamma: Any = None, best: float | None = None,
    ) -> None:  # fmt: skip
        self.lams, self.mean, self.error = (np.asarray(v, dtype=np.float64) for v in (lams, mean, error))
        gammas = [None] * len(self.lams) if gammas is None else np.asarray(gammas).tolist()
        self.gammas = [_not_nan(gamma) for gamma in gammas]
        check_lengths(lams=self.lams, mean=self.mean, error=self.error, gammas=self.gammas)
        lowest = int(np.nanargmin(self.mean))
        self.chosen_gamma = self.gammas[lowest] if _not_nan(chosen_gamma) is None else chosen_gamma
        line = self._line(self.chosen_gamma)
        if len(line) == 0:
            raise ValueError(f"chosen_gamma must be one of the gammas, got {chosen_gamma!r}")
        lowest = int(line[np.nanargmin(self.mean[line])])
        limit = self.mean[lowest] + np.nan_to_num(self.error[lowest])
        self.one_se = float(self.lams[line][self.mean[line] <= limit].max())
        self.best = float(self.lams[lowest] if best is None else best)
        self.chosen = float(self.best if chosen is None else chosen)
        for name, lam in (("chosen", self.chosen), ("best", self.best)):
            if not np.isclose(self.lams[line], lam, rtol=1e-9, atol=0.0).any():
                raise ValueError(f"{name} must be one of the lams, got {lam:g}")

    def _line(self, gamma: Any) -> Any:
        """Indices of the entries with this γ, λ ascending."""
        entries = np.array([k for k, value in enumerate(self.gammas) if value == gamma], dtype=np.intp)
        return entries[np.argsort(self.lams[entries], kind="stable")]

    @classmethod
    def from_estimator(cls, search: Any, *, ax: Any = None, **kw: Any) -> PathDisplay:
        """From a fitted ``PUSVCCV``, or a classifier fitted with ``lam="cv"``."""
        check_has(search, "selection_")
        selection = search.selection_
        results = selection.results
        return cls.from_predictions(
            results["lam"], results["mean_risk"], results["std_error"], gammas=results["gamma"],
            chosen=selection.lam, chosen_gamma=selection.gamma, ax=ax, **kw,
        )  # fmt: skip

    @classmethod
    def from_predictions(
        cls, lams: Any, mean: Any, error: Any, *,
        gammas: Any = None, chosen: float | None = None, chosen_gamma: Any = None, best: float | None = None,
        ax: Any = None, **kw: Any,
    ) -> PathDisplay:  # fmt: skip
        """From arrays; chosen, chosen_gamma and best are by default those of the lowest risk."""
        display = cls(lams, mean, error, gammas=gammas, chosen=chosen, chosen_gamma=chosen_gamma, best=best)
        return display.plot(ax=ax, **kw)

    def plot(self, ax: Any = None, **kw: Any) -> PathDisplay:
        """Draw; ``kw`` goes to the line of the chosen γ."""
        (axis,) = self._axes(ax)
        axis.set_xscale("log")
        gammas = list(dict.fromkeys(self.gammas))
        for gamma in gammas:
            if gamma != self.chosen_gamma:
                line = self._line(gamma)
                axis.plot(self.lams[line], self.mean[line], color=UNLABELLED, linewidth=1.0, marker=".")
                axis.annotate(
                    _gamma_name(gamma), (self.lams[line[0]], self.mean[line[0]]), xytext=(-4, 0),
                    textcoords="offset points", ha="right", va="center", fontsize=8, color="#5a6875",
                )  # fmt: skip
        line = self._line(self.chosen_gamma)
        x, y, e = self.lams[line], self.mean[line], self.error[line]
        name = "mean ± standard error" + (f", {_gamma_name(self.chosen_gamma)}" if len(gammas) > 1 else "")
        axis.fill_between(x, y - e, y + e, color=POSITIVE, alpha=0.18, linewidth=0)
        style = {"color": POSITIVE, "linewidth": 2.0, "marker": "o", "markersize": 4, "label": name}
        axis.plot(x, y, **{**style, **kw})
        for lam, label, marker, size in (
            (self.best, "lowest risk", "o", 9), (self.one_se, "within one standard error", "D", 8),
        ):  # fmt: skip
            at = y[np.isclose(x, lam, rtol=1e-9, atol=0.0)][:1]
            axis.plot(
                [lam], at, marker, color="white", markeredgecolor=MARK, markeredgewidth=1.8, markersize=size,
                label=f"{label}, λ = {lam:.3g}", zorder=3,
            )  # fmt: skip
        label = f"chosen, λ = {self.chosen:.3g}"
        axis.axvline(self.chosen, color="black", linewidth=1.2, linestyle="--", label=label, zorder=1)
        if len(gammas) > 1:
            axis.margins(x=0.18)
        axis.set(xlabel="λ", ylabel="cross-validated PU risk")
        axis.legend(ncols=2, columnspacing=1.0, **ABOVE)
        axis.grid(alpha=0.25)
        return self


def _not_nan(gamma: Any) -> Any:
    """γ, or None for NaN, which stands for "no γ" in an array of numbers."""
    return None if gamma is None or gamma != gamma else gamma


def _gamma_name(gamma: Any) -> str:
    return f"γ = {gamma:.3g}" if isinstance(gamma, float | int) else f"γ = {gamma}"

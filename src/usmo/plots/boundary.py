"""The decision function of two features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from usmo.core.arrays import Array
from usmo.metrics import PUSample, decision_values, last_step
from usmo.plots.display import ABOVE, POSITIVE, Display


class BoundaryDisplay(Display):
    """The decision function of two features: filled contours, the lines f = -1, 0, 1, and the rows.

    Attributes
    ----------
    x0, x1, response : ndarray of shape (resolution, resolution)
        The grid and f there.
    X : ndarray of shape (n_samples, 2)
    labelled : ndarray of bool
    names : tuple of str
        Names of the two features.
    """

    def __init__(
        self, x0: Array, x1: Array, response: Array, *, X: Array, labelled: Any, names: tuple[str, str]
    ) -> None:
        self.x0, self.x1, self.response = x0, x1, response
        self.X, self.labelled, self.names = X, labelled, names

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, resolution: int = 200, ax: Any = None, **kw: Any
    ) -> BoundaryDisplay:
        """From a model fitted on two features, and rows with their labels."""
        check_is_fitted(last_step(estimator))
        if estimator.n_features_in_ != 2:
            raise ValueError(f"a boundary can be drawn for 2 features, the model has {estimator.n_features_in_}")
        if resolution < 2:
            raise ValueError(f"resolution must be at least 2, got {resolution}")
        points = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        labelled = PUSample.of(y, decision_values(estimator, X), "case-control").labelled
        low, high = points.min(axis=0), points.max(axis=0)
        margin = np.where(high > low, 0.06 * (high - low), 1.0)
        ticks = [np.linspace(a, b, resolution) for a, b in zip(low - margin, high + margin, strict=True)]
        x0, x1 = np.meshgrid(*ticks)
        grid: Any = np.column_stack([x0.ravel(), x1.ravel()])
        names = getattr(estimator, "feature_names_in_", None)
        if names is not None and hasattr(X, "iloc"):
            # scikit-learn warns if a model fitted with column names gets rows without them
            grid = type(X)(grid, columns=list(names))
        response = decision_values(estimator, grid).reshape(x0.shape)
        labels = ("feature 0", "feature 1") if names is None else (str(names[0]), str(names[1]))
        return cls(x0, x1, response, X=points, labelled=labelled, names=labels).plot(ax=ax, **kw)

    def plot(self, ax: Any = None, **kw: Any) -> BoundaryDisplay:
        """Draw; ``kw`` goes to the filled contours."""
        (axis,) = self._axes(ax)
        from matplotlib.ticker import MaxNLocator

        largest = max(1.5, float(np.quantile(np.abs(self.response), 0.98)))
        levels = MaxNLocator(24).tick_values(-largest, largest)
        style = {"levels": levels, "cmap": "RdBu", "alpha": 0.6, "extend": "both"}
        filled = axis.contourf(self.x0, self.x1, self.response, **{**style, **kw})
        lines = axis.contour(
            self.x0, self.x1, self.response, levels=[-1.0, 0.0, 1.0], colors="black",
            linewidths=[1.0, 2.0, 1.0], linestyles=["dashed", "solid", "dashed"],
        )  # fmt: skip
        axis.clabel(lines, fmt={-1.0: "f = −1", 0.0: "f = 0", 1.0: "f = 1"}, fontsize=9)
        others, positives = self.X[~self.labelled].T, self.X[self.labelled].T
        axis.scatter(*others, s=12, color="#4a5560", alpha=0.6, linewidths=0, label="unlabelled")
        axis.scatter(*positives, s=34, color=POSITIVE, edgecolors="white", linewidths=0.8, label="known positives")
        self.figure_.colorbar(filled, ax=axis, label="decision function f")
        axis.set(xlabel=self.names[0], ylabel=self.names[1])
        axis.legend(ncols=2, **ABOVE)
        return self

"""Base class of the displays, with their colours, legends and checks."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from usmo.system.extras import load_extra

# the colour-blind can tell these apart
POSITIVE = "#0072b2"
"""Colour of labelled positives."""
UNLABELLED = "#8796a5"
"""Colour of unlabelled rows."""
MARK = "#d55e00"
"""Colour of a line or point that stands out."""
INSIDE: dict[str, Any] = {"framealpha": 0.9, "edgecolor": "none"}
"""Legend in a corner of the axes, over the drawing."""
ABOVE: dict[str, Any] = {
    "loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "frameon": False, "fontsize": 8, "borderaxespad": 0.3
}  # fmt: skip
"""Legend above the axes, for curves that leave no corner free."""


class Display:
    """A plot and the axes it is drawn on."""

    ax_: Any
    figure_: Any

    def _axes(self, ax: Any, columns: int = 1, width: float = 6.4, height: float = 4.0) -> Any:
        """Array of the axes to draw on, given or new; sets ``ax_`` and ``figure_``."""
        plt = load_extra("matplotlib.pyplot", "plots need matplotlib", "plot")
        if ax is None:
            figure, ax = plt.subplots(1, columns, figsize=(width, height), squeeze=False)
            figure.set_layout_engine("constrained", w_pad=0.1)
        axes = np.atleast_1d(ax).ravel()
        if len(axes) != columns:
            raise ValueError(f"ax must be {columns} axes for {type(self).__name__}, got {len(axes)}")
        for axis in axes:
            axis.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = (axes[0] if columns == 1 else axes), axes[0].figure
        return axes


def check_has(model: Any, attribute: str) -> None:
    """Raise NotFittedError if the model lacks the attribute that is drawn."""
    if not hasattr(model, attribute):
        raise NotFittedError(f"{type(model).__name__} has no {attribute}; call fit first")


def check_lengths(**sequences: Any) -> None:
    """Raise ValueError if the arguments differ in length or are empty."""
    lengths = [len(sequence) for sequence in sequences.values()]
    if len(set(lengths)) != 1 or lengths[0] == 0:
        *names, last = sequences
        raise ValueError(f"{', '.join(names)} and {last} must be of one length, at least 1; got {lengths}")

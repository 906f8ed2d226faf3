"""What the displays share: axes, colours, legends, checks."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from usmo.system.extras import load_extra

POSITIVE, UNLABELLED, MARK = "#0072b2", "#8796a5", "#d55e00"
"""Colours that the colour-blind tell apart: P, U, and what is to be noticed."""
INSIDE: dict[str, Any] = {"framealpha": 0.9, "edgecolor": "none"}
ABOVE: dict[str, Any] = {
    "loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "frameon": False, "fontsize": 8, "borderaxespad": 0.3
}  # fmt: skip
"""Legends: in a corner over what is drawn there, or above the axes where curves go everywhere."""


class Display:
    """A picture with the axes it is drawn on."""

    ax_: Any
    figure_: Any

    def _axes(self, ax: Any, columns: int = 1, width: float = 6.4, height: float = 4.0) -> Any:
        """The axes to draw on, given or new, as an array; sets ``ax_`` and ``figure_``."""
        plt = load_extra("matplotlib.pyplot", "pictures need matplotlib", "plot")
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
    """Refuse a model without what a picture is made from."""
    if not hasattr(model, attribute):
        raise NotFittedError(f"{type(model).__name__} has no {attribute}; call fit first")


def check_lengths(**columns: Any) -> None:
    """Refuse columns of different lengths, and empty ones."""
    lengths = [len(column) for column in columns.values()]
    if len(set(lengths)) != 1 or lengths[0] == 0:
        *names, last = columns
        raise ValueError(f"{', '.join(names)} and {last} must be of one length, at least 1; got {lengths}")

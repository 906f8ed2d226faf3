"""Small plots as inline SVG.

Across, everything is in per cent of the width, down in pixels: a plot fills its place on a wide screen and on a
phone, and its text keeps its size. Colours are classes of the page's style sheet, so that they follow light,
dark and print.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from usmo.core.arrays import Array
from usmo.report.formatting import esc, number

_POINTS = 120
"""Points of a curve; longer ones are thinned."""


@dataclass
class Panel:
    """A rectangle with its two scales and what is drawn in it."""

    x: tuple[float, float]
    y: tuple[float, float]
    top: float
    height: float
    log: bool = False
    parts: list[str] = field(default_factory=list)

    def across(self, value: float) -> float:
        low, high = self.x
        return 100.0 * (value - low) / (high - low)

    def down(self, value: float) -> float:
        low, high = self.y
        if self.log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return self.top + self.height * (1.0 - (value - low) / (high - low))

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """Between points given in per cent and pixels."""
        self.parts.append(
            f'<line class="{kind}" x1="{_n(x1)}%" y1="{_n(y1)}" x2="{_n(x2)}%" y2="{_n(y2)}"></line>'
        )

    def text(self, x: str, y: float, text: str, kind: str) -> None:
        self.parts.append(f'<text class="{kind}" x="{x}" y="{_n(y)}">{esc(text)}</text>')

    def vertical(self, value: float, kind: str, label: str = "") -> None:
        at = self.across(value)
        self.line(at, self.top, at, self.bottom, kind)
        if label:
            self.text(f"{_n(at)}%", self.top - 6, label, "end" if at > 75 else "start" if at < 25 else "mid")

    def band(self, low: float, high: float, kind: str) -> None:
        left, right = (min(max(self.across(v), 0.0), 100.0) for v in (low, high))
        self.parts.append(
            f'<rect class="{kind}" x="{_n(left)}%" y="{_n(self.top)}" '
            f'width="{_n(right - left)}%" height="{_n(self.height)}"></rect>'
        )

    def bars(self, edges: Array, counts: Array, kinds: Sequence[str]) -> None:
        for left, right, size, kind in zip(edges[:-1], edges[1:], counts, kinds, strict=True):
            if size > 0:
                # a bar that stands for a single row among thousands must still be seen
                height = max(1.5, self.bottom - self.down(float(size)))
                a, b = self.across(float(left)), self.across(float(right))
                gap = 0.12 * (b - a)
                self.parts.append(
                    f'<rect class="{kind}" x="{_n(a + gap / 2)}%" y="{_n(self.bottom - height)}" '
                    f'width="{_n(b - a - gap)}%" height="{_n(height)}"></rect>'
                )

    def curve(self, x: Array, y: Array, kind: str) -> None:
        """Points joined by lines; points that have no place on the scale are left out."""
        seen = np.isfinite(x) & np.isfinite(y) & ((y > 0) if self.log else True)
        x, y = x[seen], y[seen]
        if len(x) > _POINTS:
            keep = np.unique(np.linspace(0, len(x) - 1, _POINTS).round().astype(np.intp))
            x, y = x[keep], y[keep]
        at = [(self.across(float(a)), self.down(float(b))) for a, b in zip(x, y, strict=True)]
        for (x1, y1), (x2, y2) in itertools.pairwise(at):
            self.line(x1, y1, x2, y2, f"curve {kind}")
        if len(at) <= 40:
            self.parts += [
                f'<circle class="dot {kind}" cx="{_n(a)}%" cy="{_n(b)}" r="3.5"></circle>' for a, b in at
            ]

    def bottom_axis(self, label: str, *, ticks: bool = True, whole: bool = False) -> None:
        self.line(0, self.bottom, 100, self.bottom, "axis")
        for value in nice(*self.x, 5, whole=whole) if ticks else []:
            at = self.across(value)
            self.line(at, self.bottom, at, self.bottom + 4, "axis")
            self.text(f"{_n(at)}%", self.bottom + 17, _tick(value), "mid")
        if label:
            self.text("50%", self.bottom + 36, label, "mid label")

    def left_axis(self, *, whole: bool = False) -> None:
        ticks = decades(*self.y) if self.log else nice(*self.y, 3 if self.height < 90 else 4, whole=whole)
        for value in ticks:
            at = self.down(value)
            self.line(0, at, 100, at, "grid")
            self.text("-8", at + 4, _tick(value), "end")


def draw(name: str, height: float, title: str, description: str, panels: Sequence[Panel]) -> str:
    """The plot, with a name and a description for those who do not see it."""
    body = "".join(part for panel in panels for part in panel.parts)
    return (
        f'<div class="frame"><svg class="plot" id="{name}" role="img" aria-labelledby="{name}-t {name}-d" '
        f'width="100%" height="{_n(height)}"><title id="{name}-t">{esc(title)}</title>'
        f'<desc id="{name}-d">{esc(description)}</desc>{body}</svg></div>'
    )


def nice(low: float, high: float, most: int, *, whole: bool = False) -> list[float]:
    """Round values between low and high, about as many as asked for."""
    rough = (high - low) / max(1, most)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough * 0.999)
    if whole:
        step = max(1.0, step)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def decades(low: float, high: float) -> list[float]:
    """Powers of ten between low and high, at most about five."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = max(1, math.ceil((last - first) / 4))
    return [10.0**k for k in range(first, last + 1, step)]


def log_range(*series: Array) -> tuple[float, float] | None:
    """Whole decades around all positive values; None if there are none."""
    values = np.concatenate([np.asarray(s, dtype=np.float64).ravel() for s in series])
    values = values[np.isfinite(values) & (values > 0)]
    if len(values) == 0:
        return None
    low, high = math.floor(math.log10(values.min())), math.ceil(math.log10(values.max()))
    return 10.0**low, 10.0 ** max(high, low + 1)


def _tick(value: float) -> str:
    if value != 0 and not 1e-3 <= abs(value) < 1e5:
        return number(value, 3)
    return f"{value:,.10g}".replace("-", "−") if abs(value) >= 1000 else number(round(value, 10), 6)


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")

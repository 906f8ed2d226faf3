"""Small plots as lists of SVG shapes; ``templates/macros.html`` turns them into markup.

Horizontal positions are percentages of the width, vertical ones pixels: a plot fills its place on a wide screen
and on a phone, and its text keeps its size. Colours are classes of the page's style sheet, so that they follow
the light, dark and print styles.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from usmo.core.arrays import Array
from usmo.report.formatting import number

_POINTS = 120
"""Points of a curve; longer curves are thinned."""

_SHORTEST_BAR = 1.5
"""Pixels: a bar of one row among thousands must still be visible."""


class Shape(NamedTuple):
    """One SVG element."""

    tag: str
    attributes: dict[str, Any]
    text: str = ""


@dataclass
class Panel:
    """A rectangle with two scales and the shapes drawn in it."""

    x: tuple[float, float]
    y: tuple[float, float]
    top: float
    height: float
    log: bool = False
    shapes: list[Shape] = field(default_factory=list)

    def across(self, value: float) -> float:
        """The horizontal position of a value, in per cent."""
        low, high = self.x
        return 100.0 * (value - low) / (high - low)

    def down(self, value: float) -> float:
        """The vertical position of a value, in pixels."""
        low, high = self.y
        if self.log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return self.top + self.height * (1.0 - (value - low) / (high - low))

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        """A line between points given in per cent and pixels."""
        ends = {"x1": f"{_n(x1)}%", "y1": _n(y1), "x2": f"{_n(x2)}%", "y2": _n(y2)}
        self.shapes.append(Shape("line", {"class": style, **ends}))

    def text(self, x: str, y: float, text: str, style: str) -> None:
        self.shapes.append(Shape("text", {"class": style, "x": x, "y": _n(y)}, text))

    def rectangle(self, left: float, right: float, top: float, height: float, style: str) -> None:
        """A filled rectangle; its sides in per cent, top and height in pixels."""
        place = {"x": f"{_n(left)}%", "y": _n(top), "width": f"{_n(right - left)}%", "height": _n(height)}
        self.shapes.append(Shape("rect", {"class": style, **place}))

    def vertical(self, value: float, style: str, label: str = "") -> None:
        """A vertical line over the whole height, with a label above it."""
        at = self.across(value)
        self.line(at, self.top, at, self.bottom, style)
        if label:
            self.text(f"{_n(at)}%", self.top - 6, label, "end" if at > 75 else "start" if at < 25 else "mid")

    def band(self, low: float, high: float, style: str) -> None:
        """A shaded range of x."""
        left, right = (min(max(self.across(v), 0.0), 100.0) for v in (low, high))
        self.rectangle(left, right, self.top, self.height, style)

    def bars(self, edges: Array, counts: Array, styles: Sequence[str]) -> None:
        for left, right, size, style in zip(edges[:-1], edges[1:], counts, styles, strict=True):
            if size > 0:
                height = max(_SHORTEST_BAR, self.bottom - self.down(float(size)))
                a, b = self.across(float(left)), self.across(float(right))
                gap = 0.12 * (b - a)
                self.rectangle(a + gap / 2, b - gap / 2, self.bottom - height, height, style)

    def curve(self, x: Array, y: Array, style: str) -> None:
        """Points joined by lines; points without a place on the scale are left out."""
        seen = np.isfinite(x) & np.isfinite(y) & ((y > 0) if self.log else True)
        x, y = x[seen], y[seen]
        if len(x) > _POINTS:
            keep = np.unique(np.linspace(0, len(x) - 1, _POINTS).round().astype(np.intp))
            x, y = x[keep], y[keep]
        at = [(self.across(float(a)), self.down(float(b))) for a, b in zip(x, y, strict=True)]
        for (x1, y1), (x2, y2) in itertools.pairwise(at):
            self.line(x1, y1, x2, y2, f"curve {style}")
        if len(at) <= 40:
            for a, b in at:
                place = {"cx": f"{_n(a)}%", "cy": _n(b), "r": "3.5"}
                self.shapes.append(Shape("circle", {"class": f"dot {style}", **place}))

    def bottom_axis(self, label: str, *, ticks: bool = True, whole: bool = False) -> None:
        self.line(0, self.bottom, 100, self.bottom, "axis")
        for value in round_values(*self.x, 5, whole=whole) if ticks else []:
            at = self.across(value)
            self.line(at, self.bottom, at, self.bottom + 4, "axis")
            self.text(f"{_n(at)}%", self.bottom + 17, _tick(value), "mid")
        if label:
            self.text("50%", self.bottom + 36, label, "mid label")

    def left_axis(self, *, whole: bool = False) -> None:
        ticks = 3 if self.height < 90 else 4
        for value in decades(*self.y) if self.log else round_values(*self.y, ticks, whole=whole):
            at = self.down(value)
            self.line(0, at, 100, at, "grid")
            self.text("-8", at + 4, _tick(value), "end")


class Plot(NamedTuple):
    """Panels with an id, and a title and a description for readers who cannot see them."""

    name: str
    height: int
    title: str
    description: str
    panels: Sequence[Panel]


def round_values(low: float, high: float, most: int, *, whole: bool = False) -> list[float]:
    """Round values between low and high, about ``most`` of them."""
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
    """Whole decades around all positive values; None if no value is positive."""
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

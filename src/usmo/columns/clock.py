"""The clock of a column of dates: the hour of the day and the day of the week, beside the days since 1970-01-01.

    hour       0 to 24, with fractions
    weekday    0 on Monday to 6 on Sunday

Both are those of the moment that was read, which is UTC if it had a time zone. Only columns whose times of day differ
have a clock; a column of plain dates, or of dates at one same time, has none. Two times an hour apart are the same time
in a zone with summer time. A part that is constant is left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from usmo.columns.scaling import scaling, standardise

PARTS = ("hour", "weekday")
"""The parts of a clock, in the order of their output columns."""

_DAY, _HOUR = 86_400e6, 3_600e6
"""Microseconds: a sum of days and fractions is rounded to whole ones, so that midnight is not a moment before it."""

_EPOCH = 3
"""The day of the week of 1970-01-01, a Thursday."""

_SAME = 0.5 / 3600
"""Hours up to which times of day count as the same: half a second, more than the rounding of any date."""


def clock_of(days: np.ndarray) -> list[dict[str, Any]]:
    """The parts of the clock of a column of dates, each with its median, mean and scale; none for plain dates."""
    values = _values(days)
    hours = values["hour"][~np.isnan(days)]
    apart = (hours - hours[:1] + 12) % 24 - 12  # across midnight too
    apart = apart - apart.min(initial=0.0)
    if (np.minimum(apart, np.abs(apart - 1.0)) <= _SAME).all():  # an hour apart: summer time
        return []
    varying = [part for part, x in values.items() if np.nanmin(x) < np.nanmax(x)]
    scalings = np.transpose(scaling(np.array([values[part] for part in varying]))).tolist()
    return [
        {"part": part, "median": median, "mean": mean, "scale": scale}
        for part, (median, mean, scale) in zip(varying, scalings, strict=True)
    ]


def clock_columns(clock: list[dict[str, Any]], days: np.ndarray) -> list[np.ndarray]:
    """The standardised parts of a clock, a missing date at the median of each."""
    if not clock:
        return []
    values, missing = _values(days), np.isnan(days)
    return [
        standardise(np.where(missing, own["median"], values[own["part"]]), own["mean"], own["scale"])
        for own in clock
    ]


def _values(days: np.ndarray) -> dict[str, np.ndarray]:
    """The parts of dates, nan where a date is missing."""
    moments = np.round(days * _DAY)
    return {"hour": moments % _DAY / _HOUR, "weekday": (moments // _DAY + _EPOCH) % 7}

"""Columns of whole numbers that are no quantities: ids are not learnt from, postal codes are categories."""

from __future__ import annotations

import re

import numpy as np

ID_ROWS, ID_SHARE = 10, 0.9
"""A column with at least this many values, and more than this share of them different texts, looks like ids."""

_COLLISIONS = 10.0
"""Pairs of equal values that a quantity must be expected to have, where it has none: by chance that is exp(-10)."""

_DIGITS = 8
"""Digits from which whole numbers that fill their range evenly are ids; amounts and counts do not fill it evenly."""

_ID_NAME = re.compile(
    r"(^|[\W_])(id|ids|uid|uuid|guid|key|pk|rowid|nr|no|number|index|nummer|unnamed: ?0)$", re.IGNORECASE
)
_CAMEL = re.compile(r"(?<=[a-z])(ID|Id|Nr|No|Key|Number)$")
_POSTAL = re.compile(
    r"(^|[\W_])(zip|zip ?code|postal ?code|post ?code|plz|postleitzahl|code ?postal|pin ?code|eircode)($|[\W_])",
    re.IGNORECASE,
)
_EPOCH_2000, _EPOCH_2038 = 946_684_800, 2_147_483_647
"""Seconds since 1970, as which times are often stored."""


def is_postal(name: str) -> bool:
    """Whether a column is called a postal code."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").replace("-", " ")
    return _POSTAL.search(spaced) is not None


def id_reason(name: str, x: np.ndarray) -> str | None:
    """Why a column of whole numbers, in the order of the rows, looks like ids; None if it does not."""
    n = len(x)
    if n < ID_ROWS or np.isnan(x).any():
        return None
    different = np.unique(x)
    if len(different) == n:
        steps = np.diff(x)
        if (steps == steps[0]).all():
            step = "" if steps[0] == 1 else f" in steps of {steps[0]:.0f}"
            return f"counts the rows from {x[0]:.0f}{step}: looks like an id"
        gaps = np.diff(different)
        if different[-1] < 2.0**62 and different[0] > -(2.0**62):
            unit = int(np.gcd.reduce(gaps.astype(np.int64)))
            if n * (n - 1) / 2 / ((different[-1] - different[0]) / unit + 1) >= _COLLISIONS:
                return f"{n:,} different whole numbers, none twice: looks like an id"
        if _is_random_number(different):
            return f"{n:,} different numbers of {_DIGITS} digits or more: looks like an id"
    if len(different) > ID_SHARE * n and (_ID_NAME.search(name.strip()) or _CAMEL.search(name.strip())):
        return f"{len(different):,} different whole numbers, called {name.strip()}: looks like an id"
    return None


def _is_random_number(different: np.ndarray) -> bool:
    """Whether sorted different numbers are long and fill their range as evenly as random ones do, and are no times."""
    low, high = different[0], different[-1]
    if low < 10.0 ** (_DIGITS - 1) or high >= 100 * low:
        return False
    seconds = (low >= _EPOCH_2000 and high <= _EPOCH_2038) or (
        low >= 1000 * _EPOCH_2000 and high <= 1000 * _EPOCH_2038
    )
    if seconds:
        return False
    n = len(different)
    distance = np.abs((different - low) / (high - low) - np.arange(n) / (n - 1)).max()
    return bool(distance * n**0.5 < 1.36)  # Kolmogorov-Smirnov, 5 %

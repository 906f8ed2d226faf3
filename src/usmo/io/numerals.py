"""Numbers, truth values and missing values as people write them into tables."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import numpy as np

MISSING = frozenset({"", "na", "n/a", "nan", "null", "?", "-"})
"""Texts that stand for a missing value, in any case and with spaces around them."""

MARKERS = sorted(
    "".join(letters) for text in MISSING for letters in itertools.product(*({c, c.upper()} for c in text))
)
"""The same in all their forms."""

USUAL = ["", "NA", "na", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?", "-"]
"""The forms that the parser looks for; each costs time on every field, the others are found in text columns."""

PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE | re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", re.ASCII)
_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?([eE][+-]?\d+)?", re.ASCII)

MIXED = "stands among numbers: write a number or leave it empty (codes: put a letter before all of them)"
"""What to say of a text in a column of numbers."""


def mostly_numbers(bad: np.ndarray, counts: np.ndarray) -> bool:
    """Whether the texts that are no numbers look like slips: few rows, or few words among many numbers."""
    return bool(counts[bad].sum() <= 0.1 * counts.sum() or (bad.sum() <= 5 and (~bad).sum() >= 20))


def parse_numbers(texts: Sequence[str], *, comma: bool = False) -> tuple[np.ndarray, bool]:
    """The numbers in the texts of one column, nan where there is none, and whether they have a decimal comma.

    Tried are 1234.5, then 1,234.5 and 1.234,5 (the other way round if ``comma``); most numbers win.
    """

    def point(text: str) -> float:
        return float(text.replace(",", "")) if PLAIN.fullmatch(text) or _GROUPED.fullmatch(text) else np.nan

    def decimal_comma(text: str) -> float:
        return float(text.replace(".", "").replace(",", ".")) if _COMMA.fullmatch(text) else np.nan

    best, with_comma = np.array([float(t) if PLAIN.fullmatch(t) else np.nan for t in texts], dtype=float), False
    for form in (decimal_comma, point) if comma else (point, decimal_comma):
        if not np.isnan(best).any():
            break
        numbers = np.array([form(text) for text in texts], dtype=float)
        if np.isnan(numbers).sum() < np.isnan(best).sum():
            best, with_comma = numbers, form is decimal_comma
    return best, with_comma


def truth(text: str) -> float:
    """1 and 0 for true and false, nan for anything else."""
    return {"true": 1.0, "false": 0.0}.get(text.lower(), np.nan)

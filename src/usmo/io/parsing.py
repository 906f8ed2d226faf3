"""Numbers, booleans, dates and missing values written as text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import numpy as np

MISSING = frozenset({"", "na", "n/a", "nan", "null", "?", "-"})
"""Texts that mean a missing value, in lower case; upper case and spaces around them make no difference."""

MISSING_SPELLINGS = sorted(
    "".join(letters) for text in MISSING for letters in itertools.product(*({c, c.upper()} for c in text))
)
"""MISSING in every mixture of upper and lower case."""

USUAL_SPELLINGS = ["", "NA", "na", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?", "-"]
"""The spellings given to the CSV parser, where each costs time on every field; ``infer_types`` handles the rest."""

PLAIN_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE | re.ASCII)
_COMMA_GROUPS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?([eE][+-]?\d+)?", re.ASCII)

_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_ISO_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:\.(\d{1,6})\d*)?(Z|[+-]\d\d:?\d\d)?)?",
    re.ASCII | re.IGNORECASE,
)


def parse(kind: str, texts: Sequence[str], *, comma: bool = False) -> tuple[np.ndarray, bool]:
    """Texts as numbers, nan where one is not of the kind ("number", "boolean", "date"); whether with decimal comma.

    Booleans are 0 or 1, dates are days since 1970-01-01.
    """
    if kind == "number":
        return parse_numbers(texts, comma=comma)
    parse_one = parse_boolean if kind == "boolean" else parse_date
    return np.array([parse_one(text) for text in texts], dtype=float), False


def parse_numbers(texts: Sequence[str], *, comma: bool = False) -> tuple[np.ndarray, bool]:
    """The texts of one column as numbers, nan where a text is not a number; whether they have a decimal comma.

    All texts are read in the same notation, the one that reads the most of them: 1234.5, else 1,234.5, else
    1.234,5 (the last two in the opposite order if ``comma``).
    """

    def decimal_point(text: str) -> float:
        is_number = PLAIN_NUMBER.fullmatch(text) or _COMMA_GROUPS.fullmatch(text)
        return float(text.replace(",", "")) if is_number else np.nan

    def decimal_comma(text: str) -> float:
        return float(text.replace(".", "").replace(",", ".")) if _DECIMAL_COMMA.fullmatch(text) else np.nan

    best = np.array([float(text) if PLAIN_NUMBER.fullmatch(text) else np.nan for text in texts], dtype=float)
    with_comma = False
    for notation in (decimal_comma, decimal_point) if comma else (decimal_point, decimal_comma):
        if not np.isnan(best).any():
            break
        numbers = np.array([notation(text) for text in texts], dtype=float)
        if np.isnan(numbers).sum() < np.isnan(best).sum():
            best, with_comma = numbers, notation is decimal_comma
    return best, with_comma


def parse_boolean(text: str) -> float:
    """1 for "true", 0 for "false" in upper or lower case, nan for anything else."""
    return {"true": 1.0, "false": 0.0}.get(text.lower(), np.nan)


def parse_date(text: str) -> float:
    """Days since 1970-01-01 for an ISO date or time (UTC if it names no zone), nan for anything else."""
    match = _ISO_TIME.fullmatch(text)
    if not match:
        return np.nan
    day, minutes, seconds, fraction, zone = match.groups()
    zone = "+00:00" if zone in (None, "Z", "z") else f"{zone[:3]}:{zone[-2:]}"
    try:
        time = datetime.fromisoformat(
            f"{day}T{minutes or '00:00'}{seconds or ':00'}.{(fraction or '').ljust(6, '0')}{zone}"
        )
    except ValueError:
        return np.nan
    return (time - _EPOCH) / _DAY

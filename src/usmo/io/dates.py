"""Dates and times as people write them, as days since 1970-01-01. A column has one format."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from functools import cache

import numpy as np

from usmo.io.notation import sample_of

_EPOCH = date(1970, 1, 1).toordinal()
_CENTURY = 69
"""Years of two digits from here on are 19.., others 20.., as POSIX has it."""

_TIME = (
    r"(?:(?:[T\s]|,\s)\s?(?P<H>\d{1,2}):(?P<M>\d\d)(?::(?P<S>\d\d)(?:[.,](?P<f>\d{1,9}))?)?"
    r"(?:\s?(?P<half>[ap])\.?m\.?)?(?:\s?(?P<zone>[a-z]{1,4}|[+-]\d\d(?::?\d\d)?))?)?"
)
_MARK = r"[-/.]"
_NAME = r"(?P<name>[^\W\d_]{3,10})\.?"
_WEEKDAY = r"(?:[^\W\d_]{2,10}\.?,?\s)?"
_YEAR_FIRST = rf"(?P<y>\d{{4}})(?P<mark>{_MARK})(?P<m>\d{{1,2}})(?P=mark)(?P<d>\d{{1,2}})"
_COMPACT = r"(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)"
FORMATS = {
    "year-first": [_YEAR_FIRST, _COMPACT],
    "day-first": [
        rf"{_WEEKDAY}(?P<d>\d{{1,2}})(?P<mark>{_MARK})\s?(?P<m>\d{{1,2}})(?P=mark)\s?(?P<y>\d{{4}}|\d\d)"
    ],
    "month-first": [rf"{_WEEKDAY}(?P<m>\d{{1,2}})(?P<mark>{_MARK})(?P<d>\d{{1,2}})(?P=mark)(?P<y>\d{{4}}|\d\d)"],
    "month-name": [
        rf"{_WEEKDAY}(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?[-/\s]?(?:de\s)?{_NAME}[-/\s,]{{0,2}}(?:de\s)?(?P<y>\d{{4}}|\d\d)",
        rf"{_WEEKDAY}{_NAME}\s?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?\s(?P<y>\d{{4}})",
        rf"{_NAME}[-/\s'’]{{1,2}}(?P<y>\d{{4}}|\d\d)",
        rf"(?P<y>\d{{4}})[-/\s]?{_NAME}[-/\s]?(?P<d>\d{{1,2}})",
    ],
    "year-month": [r"(?P<y>\d{4})[-/](?P<m>\d{1,2})"],
    "month-year": [r"(?P<m>\d{1,2})[-/.](?P<y>\d{4})"],
    "compact": [_COMPACT, _YEAR_FIRST],
}
"""The formats of a column by name. "compact", 20200331, is a date if every value of a column of numbers is. It cannot
be mistaken for another date than 2020-03-31: a column of either reads both."""

_CHOICES = ("year-first", "day-first", "month-first", "month-name", "year-month", "month-year")
"""Formats that a column of texts may have, the first of equals preferred."""

_MONTHS = [
    "january jan januar jänner janvier janv enero ene gennaio gen januari janeiro",
    "february feb februar février févr fév febrero febbraio februari fevereiro fev",
    "march mar märz mär mrz mars marzo maart mrt março",
    "april apr avril avr abril abr aprile",
    "may mai mayo maggio mag mei maio",
    "june jun juni juin junio giugno giu junho",
    "july jul juli juillet juil julio luglio lug julho",
    "august aug août aoû agosto ago augustus",
    "september sep sept septembre septiembre settembre set setembro",
    "october oct oktober okt octobre octubre ottobre ott outubro out",
    "november nov novembre noviembre novembro",
    "december dec dezember dez décembre déc diciembre dic dicembre dezembro",
]
_MONTH_OF = {word: i + 1 for i, words in enumerate(_MONTHS) for word in words.split()}
_ZONES = {
    "": 0, "z": 0, "utc": 0, "gmt": 0, "uhr": 0, "wet": 0, "cet": 1, "cest": 2, "mez": 1, "mesz": 2, "bst": 1, "eet": 2,
    "eest": 3, "msk": 3, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
    "jst": 9,
}  # fmt: skip
"""Hours ahead of UTC."""


@cache
def _patterns(name: str) -> list[re.Pattern[str]]:
    return [re.compile(pattern + _TIME, re.IGNORECASE) for pattern in FORMATS[name]]


def parse_dates(texts: Sequence[str], name: str) -> np.ndarray:
    """Days since 1970-01-01 of texts in a format, UTC if they name no zone; nan for other texts."""
    patterns = _patterns(name)
    is_iso = name == "year-first"
    return np.array([(is_iso and _iso_days(text)) or _days(text, patterns) for text in texts], dtype=np.float64)


def _iso_days(text: str) -> float:
    """Days of a date or time such as 2020-03-31 10:00:00, ten times as fast as by the patterns; 0 for other texts."""
    if len(text) not in (10, 19) or not text[:4].isdecimal():
        return 0.0
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    return time.toordinal() - _EPOCH + (3600 * time.hour + 60 * time.minute + time.second) / 86400


def _days(text: str, patterns: list[re.Pattern[str]]) -> float:
    if len(text) > 60:
        return np.nan
    for pattern in patterns:
        match = pattern.fullmatch(text)
        if match is not None:
            days = _value(match.groupdict())
            if days == days:
                return days
    return np.nan


def _value(found: dict[str, str | None]) -> float:
    year, month = int(found["y"] or 0), found.get("m")
    if len(found["y"] or "") == 2:
        year += 1900 if year >= _CENTURY else 2000
    try:
        number = int(month) if month else _MONTH_OF[(found["name"] or "").lower()]
        days = date(year, number, int(found.get("d") or 1)).toordinal() - _EPOCH
    except (KeyError, ValueError):
        return np.nan
    if found["H"] is None:
        return float(days)
    hour, minute, second = int(found["H"]), int(found["M"] or 0), int(found["S"] or 0)
    if found["half"]:
        if not 1 <= hour <= 12:
            return np.nan
        hour = hour % 12 + 12 * (found["half"].lower() == "p")
    ahead = _hours_ahead((found["zone"] or "").lower())
    if hour > 23 or minute > 59 or second > 60 or ahead is None:
        return np.nan
    fraction = float(f"0.{found['f']}") if found["f"] else 0.0
    return days + (3600 * (hour - ahead) + 60 * minute + second + fraction) / 86400


def _hours_ahead(zone: str) -> float | None:
    if zone[:1] in ("+", "-"):
        digits = zone[1:].replace(":", "")
        hours = int(digits[:2]) + int(digits[2:] or 0) / 60
        return -hours if zone[0] == "-" else hours
    return _ZONES.get(zone)


def recognise_format(texts: Sequence[str], counts: np.ndarray) -> tuple[str, bool] | None:
    """The format that reads the most rows, and whether the column decides between day and month; None if none does.

    A column of which every date can be read both ways has the day first, or the month if its times have AM and PM.
    """
    texts, counts = sample_of(texts, counts)
    rows = {name: int(counts[~np.isnan(parse_dates(texts, name))].sum()) for name in _CHOICES}
    best = max(_CHOICES, key=lambda name: rows[name])
    if not rows[best]:
        return None
    sure = best not in ("day-first", "month-first") or rows["day-first"] != rows["month-first"]
    if not sure:
        american = any(re.search(r"\d\s?[ap]\.?m", text, re.IGNORECASE) for text in texts)
        best = "month-first" if american else "day-first"
    return best, sure


def are_compact(x: np.ndarray) -> bool:
    """Whether whole numbers are dates such as 20200331, from 1900 to 2100: at least ten different ones, and all."""
    if not len(x) or x.min() < 19_000_101 or x.max() > 21_001_231 or (x % 1 != 0).any():
        return False
    different = np.unique(x)
    return len(different) >= 10 and not np.isnan(compact_days(different)).any()


def compact_days(x: np.ndarray) -> np.ndarray:
    """Numbers such as 20200331 as days since 1970-01-01; nan for others."""
    different, place = np.unique(x, return_inverse=True)
    texts = [f"{number:.0f}" if number == number else "" for number in different.tolist()]
    return parse_dates(texts, "compact")[place.reshape(np.shape(x))]

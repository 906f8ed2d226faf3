"""Numbers as people write them: currencies, units, thousands, decimal comma, percent, accounting negatives.

A column has one notation: its decimal mark and its unit. A number without the unit belongs to it too. Thousands may
be grouped by a comma or point (the one that is not the decimal mark), a space of any width, or an apostrophe. No group
follows a leading zero: 0,261 has a decimal comma.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

PLAIN_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE | re.ASCII)

CLOCK = "h:mm"
"""The unit of times of day and durations such as 14:30 and 1:05:20, in hours."""

_SAMPLE = 2000
"""Different texts of a column by which its notation is decided."""

_LONGEST = 60
"""Characters of a number with a unit; a longer text is a number only if it is plain."""

_MINUS = r"\-\u2212\u2013"
"""Hyphen, minus and dash, for a class of a regular expression."""

_APOSTROPHE = "'\u2019"
_PIECES = re.compile(
    rf"""([+{_MINUS}]?)\s?
    ([^\W\d][^\W\d]{{0,3}}\.?|[^\w\s.,()+{_MINUS}{_APOSTROPHE}]|[A-Z]{{1,2}}[^\w\s.,()+{_MINUS}{_APOSTROPHE}])?\s?
    ([+{_MINUS}]?)\s?
    ([0-9](?:[0-9.,{_APOSTROPHE}]|\s(?=[0-9]))*|[.,][0-9]+)([eE][+-]?[0-9]+)?
    (?:(\s*)([^\W\d]|[^\w\s.,()+{_MINUS}{_APOSTROPHE}])([^\d()]{{0,14}}?))?\s?
    ([{_MINUS}]?)""",
    re.VERBOSE,
)
_POINT = re.compile(
    rf"[1-9][0-9]{{0,2}}([,\s{_APOSTROPHE}])[0-9]{{3}}(?:\1[0-9]{{3}})*(?:\.[0-9]*)?"
    r"|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]*)?|[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
)
_COMMA = re.compile(
    rf"[1-9][0-9]{{0,2}}([.\s{_APOSTROPHE}])[0-9]{{3}}(?:\1[0-9]{{3}})*(?:,[0-9]*)?|[0-9]+(?:,[0-9]*)?|,[0-9]+"
)
_USUAL_POINT = re.compile(r"-?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]{1,15})(?:\.[0-9]{1,15})?")
_USUAL_COMMA = re.compile(r"-?(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})+|[0-9]{1,15})(?:,[0-9]{1,15})?")
_CODE = re.compile(r"0[0-9]+")
_WHOLE = re.compile(rf"[.,][{_MINUS}]{{1,2}}(?=\s|$)")
"""What stands for no cents: 5,- and 5.--"""

_CLOCK = re.compile(r"([0-9]{1,3}):([0-5][0-9])(?::([0-5][0-9](?:[.,][0-9]+)?))?")
_MARKS = str.maketrans("", "", " \u00a0\u202f\u2009\t" + _APOSTROPHE)

_CURRENCIES = {
    "$": "us$ usd dollar", "€": "eur euro", "£": "gbp", "¥": "jpy yen", "CNY": "cny rmb", "₹": "inr rs",
    "CHF": "chf fr sfr", "kr": "kr", "SEK": "sek", "NOK": "nok",
    "DKK": "dkk", "zł": "zl pln", "R$": "brl", "A$": "aud", "C$": "cad",
    "HK$": "hkd", "S$": "sgd", "₽": "rub", "₩": "krw", "₺": "try tl", "Kč": "czk kc", "Ft": "huf", "ZAR": "zar",
    "₪": "ils", "MX$": "mxn",
}  # fmt: skip
_UNITS = {
    "%": "percent pct prozent", "‰": "", "°": "deg", "°C": "degc", "°F": "degf", "kg": "kilo", "g": "gr gram", "mg": "",
    "t": "ton tonne", "lb": "pound", "oz": "ounce", "km": "kilometer kilometre", "m": "meter metre", "cm": "", "mm": "",
    "µm": "", "nm": "", "mi": "mile", "ft": "foot feet", "in": "inch", "yd": "yard", "m²": "sqm qm", "m³": "cbm",
    "km²": "", "ha": "", "sqft": "", "l": "liter litre", "ml": "", "h": "hr hour std stunde", "min": "minute",
    "s": "sec second sek", "ms": "", "d": "day tag", "week": "wk woche", "month": "mo mon monat", "yr": "y year jahr",
    "km/h": "kmh kph", "mph": "", "m/s": "", "kw": "", "kwh": "", "w": "", "v": "", "mv": "", "hz": "", "khz": "",
    "mhz": "", "ghz": "", "kb": "", "mb": "", "gb": "", "tb": "", "bar": "", "hpa": "", "kpa": "", "mmhg": "",
    "kcal": "", "kj": "", "mg/dl": "", "mmol/l": "", "px": "pixel", "dpi": "", "db": "", "pcs": "pc. st stk stück",
    "x": "",
}  # fmt: skip


class Pieces(NamedTuple):
    """A written number: whether it is negative, its digits and marks, its exponent and its unit."""

    negative: bool
    body: str
    exponent: str
    unit: str


class Notation(NamedTuple):
    """The decimal mark and the unit of a column; whether the column decides them; units of a column that mixes them."""

    decimal: str = "."
    unit: str = ""
    sure: bool = True
    mixed: dict[str, int] | None = None

    @property
    def code(self) -> str:
        """The notation as a model file stores it."""
        return self.decimal + self.unit


@cache
def _known_units() -> dict[str, str]:
    """The unit or currency that each spelling, in lower case, stands for."""
    spellings: dict[str, str] = {}
    for unit, others in (*_CURRENCIES.items(), *_UNITS.items()):
        for spelling in (unit, *others.split()):
            spellings.setdefault(spelling.lower(), unit)
    return {**spellings, "sq ft": "sqft"}


@cache
def _unit_of(text: str, apart: bool) -> str:
    """The unit that a text behind a number means: a known one, or any word if it stands apart; "" for none."""
    plain = " ".join(text.split()).lower().rstrip(".")
    known = _known_units().get(plain) or _known_units().get(plain.removesuffix("s"))
    if known or _currency_of(text):
        return known or _currency_of(text)
    is_word = apart and len(plain) >= 2 and plain.replace("/", "").isalpha()
    return (plain.removesuffix("s") if len(plain) > 3 else plain) if is_word else ""


@cache
def _currency_of(text: str) -> str:
    """The currency that a text in front of a number means; "" for none."""
    plain = text.strip().rstrip(".")
    for currency, others in _CURRENCIES.items():
        if plain == currency or plain.lower() in others.split():
            return currency
    return plain if len(plain) == 1 and unicodedata.category(plain) == "Sc" else ""


def pieces(text: str) -> Pieces | None:
    """The pieces of a written number; None if the text is none."""
    if not 0 < len(text) <= _LONGEST:
        return None
    is_enclosed = text[0] == "(" and text[-1] == ")"
    match = _PIECES.fullmatch(_WHOLE.sub("", text[1:-1].strip() if is_enclosed else text))
    if match is None:
        return None
    sign, before, second, body, exponent, space, first, rest, trailing = match.groups()
    unit = _currency_of(before) if before else ""
    behind = _unit_of(first + rest, bool(space)) if first else ""
    if (before and not unit) or (first and not behind) or (unit and behind and unit != behind):
        return None
    signs = sum(bool(each) for each in (sign, second, trailing)) + is_enclosed
    if signs > 1:
        return None
    negative = is_enclosed or bool(trailing) or (sign or second or "+") != "+"
    return Pieces(negative, body.rstrip(), exponent or "", unit or behind)


def value(number: Pieces, decimal: str) -> float:
    """The number with this decimal mark; nan if its marks do not fit."""
    if not (_POINT if decimal == "." else _COMMA).fullmatch(number.body):
        return np.nan
    body = number.body.translate(_MARKS)
    body = body.replace(",", "") if decimal == "." else body.replace(".", "").replace(",", ".")
    size = float(body + number.exponent)
    return -size if number.negative else size


def parse_written(texts: Sequence[str], code: str) -> np.ndarray:
    """The texts as numbers in the notation of a code; nan for other texts and other units."""
    decimal, unit = code[:1], code[1:]
    ends, grouping = f"{unit} \u00a0\u202f", "," if decimal == "." else "."
    usual = (_USUAL_POINT if decimal == "." else _USUAL_COMMA).fullmatch
    numbers = np.empty(len(texts))
    for i, text in enumerate(texts):
        bare = text.strip(ends)  # the usual spellings of a column, ten times as fast as the pieces
        if usual(bare):
            bare = bare.replace(grouping, "")
            numbers[i] = float(bare if decimal == "." else bare.replace(",", "."))
        else:
            numbers[i] = _number(text, decimal, unit)
    return numbers


def _number(text: str, decimal: str, unit: str) -> float:
    if PLAIN_NUMBER.fullmatch(text) and (decimal == "." or "." not in text):
        return float(text)
    if unit == CLOCK:
        return _hours(text)
    number = pieces(text)
    return np.nan if number is None or number.unit not in ("", unit) else value(number, decimal)


def _hours(text: str) -> float:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return np.nan
    hours, minutes, seconds = match.groups()
    return float(hours) + float(minutes) / 60 + float((seconds or "0").replace(",", ".")) / 3600


def sample_of(texts: Sequence[str], counts: np.ndarray) -> tuple[list[str], np.ndarray]:
    """At most 2,000 of the different texts, evenly spaced, and their numbers of rows."""
    if len(texts) <= _SAMPLE:
        return list(texts), counts
    places = np.unique(np.linspace(0, len(texts) - 1, _SAMPLE).astype(int))
    return [texts[i] for i in places], counts[places]


def is_code(texts: Sequence[str]) -> bool:
    """Whether texts of digits are codes: some have leading zeros, none has a decimal mark."""
    return any(_CODE.fullmatch(text) for text in texts) and not any("." in text or "," in text for text in texts)


def recognise(texts: Sequence[str], counts: np.ndarray, decimal: str) -> Notation | None:
    """The notation of numbers that reads the most rows; None if it reads none.

    ``decimal`` is the decimal mark of the table, if it is known.
    """
    texts, counts = sample_of(texts, counts)
    with_point, with_comma = (all(map(usual.fullmatch, texts)) for usual in (_USUAL_POINT, _USUAL_COMMA))
    if with_point != with_comma:
        return Notation("." if with_point else ",")
    numbers = [pieces(text) for text in texts]
    clocks = sum(int(n) for text, n in zip(texts, counts, strict=True) if _CLOCK.fullmatch(text))
    if clocks > counts.sum() / 2:
        return Notation(".", CLOCK)
    if not any(numbers):
        plain = any(PLAIN_NUMBER.fullmatch(text) for text in texts)
        return Notation() if plain else None
    units: Counter[str] = Counter()
    for number, n in zip(numbers, counts.tolist(), strict=True):
        if number is not None and number.unit:
            units[number.unit] += n
    point, comma = (
        np.array([np.nan if number is None else value(number, mark) for number in numbers]) for mark in ".,"
    )
    rows = {mark: int(counts[~np.isnan(x)].sum()) for mark, x in ((".", point), (",", comma))}
    undecided = bool((~np.isnan(point) & ~np.isnan(comma) & (point != comma)).any())
    if rows["."] == rows[","]:
        mark, sure = ("," if decimal == "," and undecided else "."), not undecided
    else:
        mark, sure = max(rows, key=lambda each: rows[each]), True
    unit = units.most_common(1)[0][0] if units else ""
    known = {each: n for each, n in units.most_common() if each in {*_CURRENCIES, *_UNITS}}
    return Notation(mark, unit, sure, known if len(known) > 1 else None)

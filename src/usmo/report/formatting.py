"""Numbers and texts in the form the page shows them: the filters of the templates."""

from __future__ import annotations

import math
import re
from typing import Any

from usmo.system.words import quantity

_LONGEST = 120
"""Characters shown of a user's text; the rest is cut, so that one cell cannot swell the page."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")


def clean(value: Any) -> Any:
    """A text without control characters and lone surrogates; markup made by a template is returned unchanged.

    Jinja2 passes every value through this function before it escapes it.
    """
    if hasattr(value, "__html__"):
        return value
    text = str(value).encode("utf-8", "replace").decode("utf-8")
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def shorten(value: Any, longest: int = _LONGEST) -> str:
    """A user's text, cut to a length."""
    text = str(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def number(value: float, digits: int = 3) -> str:
    """A number rounded to significant digits, with a true minus sign."""
    if not math.isfinite(value):
        return "–"
    text = f"{value:.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        text = f"{mantissa}e{int(exponent)}"
    return text.replace("-", "−")


def score(value: float, decimals: int = 3) -> str:
    """A decision value with some decimals; very large and very small ones with four significant digits."""
    if abs(value) >= 1000 or 0 < abs(value) < 0.5 * 10.0**-decimals:
        return number(value, 4)
    return f"{value:.{decimals}f}".replace("-", "−")


def cell(value: Any) -> str:
    """A value of the table: numbers with at most six significant digits and separators, a dash if it is missing."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return shorten(value, 40)
    if value and not 1e-4 <= abs(value) < 1e12:
        return number(value, 6)
    places = 0 if value == 0 else max(0, 5 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{places}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    # a year or a code has no separators
    return (text.replace(",", "") if abs(value) < 10_000 else text).replace("-", "−")


def percent(share: float) -> str:
    """A share as a percentage: two significant digits, more where these would round to 0 or 100."""
    value = 100.0 * share
    if value != 0 and abs(value) < 1e-8:
        return "less than 0.00000001\N{NO-BREAK SPACE}%"
    if 10.0 <= abs(value) <= 99.0 or value in (0.0, 100.0):
        return f"{value:.0f}\N{NO-BREAK SPACE}%"
    if abs(value) > 99.0:
        return f"{value:.3g}\N{NO-BREAK SPACE}%" if abs(value) < 99.95 else f"{value:.5g}\N{NO-BREAK SPACE}%"
    places = 1 - math.floor(math.log10(abs(value)))
    return f"{value:.{places}f}\N{NO-BREAK SPACE}%"


def chance(value: float) -> str:
    """A probability in two decimals that never claims certainty."""
    if value > 0.99:
        return ">\N{NO-BREAK SPACE}0.99"
    return "<\N{NO-BREAK SPACE}0.01" if value < 0.01 else f"{value:.2f}"


FILTERS = {
    "count": quantity, "number": number, "score": score, "percent": percent, "chance": chance, "shorten": shorten,
    "cell": cell,
}  # fmt: skip

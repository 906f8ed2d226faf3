"""Numbers and texts as they stand on the page. Everything that comes from the user passes through ``esc``."""

from __future__ import annotations

import html
import math
import re
from typing import Any

_LONGEST = 120
"""Characters of a user's text that are shown; the rest is cut, so that one cell cannot swell the page."""

_SHORT = 20
"""Characters up to which it is not broken over lines."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")


def esc(text: Any, longest: int | None = None) -> str:
    """Any text as HTML text or attribute value: escaped, encodable, without control characters."""
    clean = str(text).encode("utf-8", "replace").decode("utf-8")
    clean = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", clean)
    if longest is not None and len(clean) > longest:
        clean = clean[: longest - 1] + "…"
    return html.escape(clean, quote=True)


def user(text: Any) -> str:
    """A user's text, cut to a bearable length and kept from turning the direction of what follows."""
    kind = ' class="short"' if len(str(text)) <= _SHORT else ""
    return f"<bdi{kind}>{esc(text, _LONGEST)}</bdi>"


def count(value: float, one: str = "", many: str = "") -> str:
    """A whole number with separators, and the noun in its number: "1 row", "1,757 rows"."""
    whole = round(value)
    noun = one if whole == 1 else (many or f"{one}s")
    return f"{whole:,} {noun}" if one else f"{whole:,}"


def number(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, with a true minus sign."""
    if not math.isfinite(value):
        return "–"
    text = f"{value:.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        text = f"{mantissa}e{int(exponent)}"
    return text.replace("-", "−")


def score(value: float) -> str:
    """A decision value: three decimals where these say something."""
    if abs(value) >= 1000 or 0 < abs(value) < 0.0005:
        return number(value, 4)
    return f"{value:.3f}".replace("-", "−")


def percent(share: float) -> str:
    """A share as a percentage, with two significant digits but never so few as to say 0 or 100 wrongly."""
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
    return (
        ">\N{NO-BREAK SPACE}0.99"
        if value > 0.99
        else "<\N{NO-BREAK SPACE}0.01"
        if value < 0.01
        else f"{value:.2f}"
    )

"""Numbers with nouns: "1 row", "1,757 rows"."""

from __future__ import annotations


def quantity(value: float, one: str = "", many: str | None = None) -> str:
    """A whole number with separators, and the noun in its number; the plural adds an s unless it is given."""
    whole = round(value)
    if not one:
        return f"{whole:,}"
    return f"{whole:,} {one if whole == 1 else many or one + 's'}"

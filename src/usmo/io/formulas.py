"""Text that a spreadsheet would run as a formula, written so that it shows it instead.

Excel, LibreOffice and others evaluate a cell of a CSV file that begins with =, +, -, @, a tab or a carriage return. A
leading apostrophe makes it text. Numbers, also those with a sign, are left as they are.
"""

from __future__ import annotations

from typing import Any

_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def shown_as_text(value: Any) -> Any:
    """The value; a text that a spreadsheet would run gets a leading apostrophe."""
    if not isinstance(value, str) or not value.startswith(_STARTS):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value if value[0] in "+-" else f"'{value}"


def without_formulas(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """A table whose texts, names of columns included, a spreadsheet shows as they are."""
    return {shown_as_text(name): [shown_as_text(value) for value in values] for name, values in columns.items()}

"""Labels: the rows of a table that have given values in the label column."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from usmo.io.errors import TableError, did_you_mean, quote
from usmo.io.notation import PLAIN_NUMBER
from usmo.io.parsing import MISSING, parse_boolean
from usmo.io.sheet import Sheet

_SHOWN = 10
"""Values of the label column that messages show at most."""


def labels(sheet: Sheet, column: str, positive: str, negative: str | None = None) -> np.ndarray:
    """The kind of each row: 1 with the value ``positive``, -1 with the value ``negative``, else 0, unlabelled.

    It is an error if no row is positive, none is unlabelled, or none is negative although a value is given for that.
    """
    kinds = label_kinds(sheet, column, positive, negative)
    for value, kind in ((positive, 1), (negative, -1)):
        if value is not None and (not (kinds == kind).any() or _is_missing(value)):
            counts = value_counts(sheet, column)
            shown = ", ".join(f"{quote(text)} in {n:,} rows" for text, n in list(counts.items())[:_SHOWN])
            more = f" and {len(counts) - _SHOWN} more" if len(counts) > _SHOWN else ""
            raise TableError(
                f"no row has {value!r} in column {column!r} of {sheet.source}: {did_you_mean(value, counts)} "
                f"(values: {shown or 'all missing'}{more})".replace(":  (", " (")
            )
    if (kinds == 1).all():
        raise TableError(
            f"all {len(kinds):,} rows have {positive!r} in column {column!r} of {sheet.source}: add rows that are "
            "not known to be positive, with another value in this column or none"
        )
    if not (kinds == 0).any():
        raise TableError(
            f"all {len(kinds):,} rows have {positive!r} or {negative!r} in column {column!r} of {sheet.source}: add "
            "rows without a label; with all labels known, a supervised classifier is the right tool"
        )
    return kinds


def value_counts(sheet: Sheet, column: str) -> dict[str, int]:
    """The values of a column that are not missing, most frequent first, and their numbers of rows."""
    counts = Counter(value for value in sheet.column(column).tolist() if not _is_missing(value))
    return {f"{value:g}" if isinstance(value, float) else str(value): n for value, n in counts.most_common()}


def other_values(sheet: Sheet, column: str, kinds: np.ndarray) -> dict[str, int]:
    """The values of unlabelled rows beside missing ones, if there are both: maybe they are known negatives."""
    values = np.array(sheet.column(column).tolist(), dtype=object)[kinds == 0]
    counts = Counter(str(value) for value in values if not _is_missing(value))
    return dict(counts.most_common(_SHOWN)) if 0 < sum(counts.values()) < len(values) else {}


def label_kinds(sheet: Sheet, column: str, positive: str, negative: str | None = None) -> np.ndarray:
    """``labels`` without the errors, for one file of a larger table."""
    kinds = _mask(sheet, column, positive).astype(np.int8)
    return kinds if negative is None else kinds - _mask(sheet, column, negative).astype(np.int8)


def _mask(sheet: Sheet, column: str, label: str) -> np.ndarray:
    """The rows with this value."""
    values, meaning = sheet.column(column).tolist(), _meaning(label)
    equal = {value for value in set(values) if value == value and value is not None and _meaning(value) == meaning}
    return np.array([value in equal for value in values])


def _is_missing(value: Any) -> bool:
    return value is None or str(value).strip().lower() in MISSING


def _meaning(value: Any) -> float | str:
    """A label for comparison: 1, 1.0, "1" and "true" are equal."""
    text = str(value).strip()
    number = float(text) if PLAIN_NUMBER.fullmatch(text) else parse_boolean(text)
    return text if np.isnan(number) else number

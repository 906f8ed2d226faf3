"""Labelled positives: the rows of a table that have a given value in the label column."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from usmo.io.errors import TableError, did_you_mean, quote
from usmo.io.parsing import MISSING, PLAIN_NUMBER, parse_boolean
from usmo.io.sheet import Sheet


def labels(sheet: Sheet, column: str, positive: str) -> np.ndarray:
    """Mask of the labelled positives: the rows with the value ``positive``.

    Rows with any other value, or none, are unlabelled. It is an error if no row or every row is positive.
    """
    mask = positive_mask(sheet, column, positive)
    if not mask.any() or _is_missing(positive):
        counts = Counter(value for value in sheet.column(column).tolist() if not _is_missing(value))
        texts = {
            f"{value:g}" if isinstance(value, float) else str(value): n for value, n in counts.most_common(10)
        }
        shown = ", ".join(f"{quote(text)} in {n:,} rows" for text, n in texts.items())
        more = f" and {len(counts) - 10} more" if len(counts) > 10 else ""
        raise TableError(
            f"no row has {positive!r} in column {column!r} of {sheet.source}: {did_you_mean(positive, texts)} "
            f"(values: {shown or 'all missing'}{more})".replace(":  (", " (")
        )
    if mask.all():
        raise TableError(
            f"all {len(mask):,} rows have {positive!r} in column {column!r} of {sheet.source}: add rows that are "
            "not known to be positive, with another value in this column or none"
        )
    return mask


def positive_mask(sheet: Sheet, column: str, positive: str) -> np.ndarray:
    """``labels`` without the errors, for one file of a larger table."""
    values, meaning = sheet.column(column).tolist(), _meaning(positive)
    equal = {value for value in set(values) if value == value and value is not None and _meaning(value) == meaning}
    return np.array([value in equal for value in values])


def _is_missing(value: Any) -> bool:
    return value is None or str(value).strip().lower() in MISSING


def _meaning(value: Any) -> float | str:
    """A label for comparison: 1, 1.0, "1" and "true" are equal."""
    text = str(value).strip()
    number = float(text) if PLAIN_NUMBER.fullmatch(text) else parse_boolean(text)
    return text if np.isnan(number) else number

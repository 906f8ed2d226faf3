"""Labels: the rows of a table that have given values in the label column."""

from __future__ import annotations

import difflib
import shlex
from collections import Counter
from typing import Any

import numpy as np

from usmo.io.errors import TableError, did_you_mean, quote
from usmo.io.notation import PLAIN_NUMBER
from usmo.io.parsing import is_missing, parse_boolean
from usmo.io.sheet import Sheet
from usmo.system.words import quantity

_SHOWN = 10
"""Values of the label column that messages show at most."""

_SIMILAR = 0.75
"""Share of common letters from which a value is a likely misspelling."""

_NEGATIVE = ("negative", "neg", "irrelevant", "not relevant", "rejected", "healthy", "control", "benign")
"""Words for known negatives, besides those for false."""


def labels(
    sheet: Sheet, column: str, positive: str, negative: str | None = None, *, options: bool = False
) -> np.ndarray:
    """The kind of each row: 1 with the value ``positive``, -1 with the value ``negative``, else 0, unlabelled.

    It is an error if no row is positive, none is unlabelled, or none is negative although a value is given for that.
    With ``options``, the error names the option of the command line that gives the value.
    """
    for value, word in ((positive, "positive"), (negative, "negative")):
        if value is not None and _is_missing(value):
            raise TableError(
                f"{value!r} stands for a missing value, and a row without a value in column {column!r} is not known to "
                f"be {word}: write another word for these rows in {sheet.source}"
            )
    if negative is not None and _meaning(positive) == _meaning(negative):
        raise TableError(
            f"{positive!r} and {negative!r} in column {column!r} mean the same: known negatives need another value "
            "than known positives"
        )
    kinds = label_kinds(sheet, column, positive, negative)
    for value, kind, option in ((positive, 1, "--positive: "), (negative, -1, "--negative: ")):
        if value is not None and not (kinds == kind).any():
            counts = value_counts(sheet, column)
            shown = ", ".join(
                f"{quote(text)} in {quantity(n, 'row')}" for text, n in list(counts.items())[:_SHOWN]
            )
            more = f" and {len(counts) - _SHOWN} more" if len(counts) > _SHOWN else ""
            named = option if options else ""
            raise TableError(
                f"{named}no row has {value!r} in column {column!r} of {sheet.source}: {did_you_mean(value, counts)} "
                f"(values: {shown or 'all missing'}{more})".replace(":  (", " (")
            )
    every = f"all {len(kinds):,} rows have" if len(kinds) > 1 else "the only row has"
    if (kinds == 1).all():
        raise TableError(
            f"{every} {positive!r} in column {column!r} of {sheet.source}: add rows that are "
            "not known to be positive, with another value in this column or none"
        )
    if not (kinds == 0).any():
        raise TableError(
            f"{every} {positive!r} or {negative!r} in column {column!r} of {sheet.source}: add "
            "rows without a label; with all labels known, a supervised classifier is the right tool"
        )
    return kinds


def value_counts(sheet: Sheet, column: str) -> dict[str, int]:
    """The values of a column that are not missing, most frequent first, and their numbers of rows."""
    counts = Counter(value for value in sheet.column(column).tolist() if not _is_missing(value))
    return {f"{value:g}" if isinstance(value, float) else str(value): n for value, n in counts.most_common()}


def label_remarks(
    sheet: Sheet,
    column: str,
    positive: str,
    negative: str | None,
    kinds: np.ndarray,
    *,
    others: str = "unlabelled",
) -> list[str]:
    """What the values of the label column were taken for, where that is not plain; likely typos and negatives.

    ``others`` is what rows with other values are: unlabelled, or negative if the column has the label of every row.
    """
    values = sheet.column(column).tolist()
    spelled: dict[int, Counter[str]] = {kind: Counter() for kind in (1, 0, -1)}
    for value, kind in zip(values, kinds.tolist(), strict=True):
        if not (kind == 0 and _is_missing(value)):
            spelled[kind][f"{value:g}" if isinstance(value, float) else str(value)] += 1
    remarks = []
    for kind, word, given in ((1, "positive", positive), (-1, "negative", negative)):
        spellings = {text: n for text, n in spelled[kind].items() if text != given}
        if spellings and set(spellings) != {"true", "True"}:
            remarks.append(f"{column}: {_rows(spellings)} count as {word}, as {given!r} does")
    rest = spelled[0]
    typos = {text: n for text, n in rest.items() if negative != text and _is_typo(text, positive)}
    if typos:
        remarks.append(f"{column}: {_rows(typos)} count as {others}; misspelt {positive!r}? Then correct them")
    rest = Counter({text: n for text, n in rest.items() if text not in typos})
    empty = int(np.count_nonzero(kinds == 0)) - sum(rest.values()) - sum(typos.values())
    if others == "negative":
        gaps = [f"{column}: {quantity(empty, 'row')} without a value count as negative"]
        return [
            *remarks,
            *(gaps if empty else []),
            *([f"{column}: {_rows(rest)} count as negative"] if len(rest) > 1 else []),
        ]
    if not rest:
        return remarks
    likely = [text for text, _ in rest.most_common() if _meaning(text) in (0.0, -1.0) or text.lower() in _NEGATIVE]
    if _meaning(positive) == 1.0 and {_meaning(text) for text in rest} == {0.0, -1.0}:
        likely = [text for text in likely if _meaning(text) == -1.0]
    if negative is None and empty:
        first = (likely or [rest.most_common(1)[0][0]])[0]
        remarks.append(
            f"{column}: {_rows(rest)} count as unlabelled, as empty cells do; if they are known negatives, say so "
            f"with --negative {shlex.quote(first)}"
        )
    elif len(rest) > 1 or negative is not None:
        is_hint = likely and negative is None
        hint = f"; {likely[0]!r} may mean known negatives: --negative {shlex.quote(likely[0])}" if is_hint else ""
        remarks.append(f"{column}: {_rows(rest)} count as unlabelled{hint}")
    return remarks


def _rows(counts: dict[str, int]) -> str:
    """The most frequent texts with their numbers of rows."""
    most = Counter(counts).most_common()
    more = f" and {len(most) - _SHOWN} more" if len(most) > _SHOWN else ""
    return ", ".join(f"{quote(text)} ({quantity(n, 'row')})" for text, n in most[:_SHOWN]) + more


def _is_typo(text: str, word: str) -> bool:
    """Whether a text is nearly a word of at least three letters."""
    text, word = text.strip().casefold(), word.strip().casefold()
    return len(word) >= 3 and difflib.SequenceMatcher(None, text, word).ratio() >= _SIMILAR


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
    return value is None or is_missing(str(value))


def _meaning(value: Any) -> float | str:
    """A label for comparison: 1, 1.0, "1", "true" and "Yes" are equal, as are texts in upper and lower case."""
    text = str(value).strip()
    number = float(text) if PLAIN_NUMBER.fullmatch(text) else parse_boolean(text)
    return text.casefold() if np.isnan(number) else number

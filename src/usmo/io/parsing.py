"""Booleans and missing values written as text; texts of a column of known kind and notation as numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from usmo.io.dates import parse_dates
from usmo.io.notation import parse_written, recognise

MISSING = frozenset(
    {
        "", "na", "n/a", "nan", "null", "?", "-", "#n/a", "#na", "#n/v", "#nv", "n.a.", "n. a.", "n.a", "n.v.", "na.",
        "<na>", "none", "nil", "nat", "\\n", "--", "---", "–", "—", ".", "..", "...", "…", "??", "???",
        "unknown", "missing", "unbekannt",
        "k.a.", "k. a.", "keine angabe", "inconnu", "inconnue", "desconocido", "n/d", "n.d.", "nd",
        "s/d", "not available", "not applicable", "no answer", "no data", "no response", "not reported", "not stated",
        "(null)", "(blank)", "(empty)", "(missing)", "(none)", "(leer)", "(unknown)", "[null]", "#null!", "#div/0!",
        "#ref!", "#value!", "#wert!", "#num!", "#zahl!", "#name?", "#bezug!", "1.#qnan", "-1.#ind", "1.#ind",
    }
)  # fmt: skip
"""Texts that mean a missing value, in lower case; upper case and spaces around them make no difference."""

USUAL_SPELLINGS = ["", "NA", "na", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?", "-"]
"""The spellings given to the CSV parser, where each costs time on every field.
:func:`usmo.io.infer_types.convert_text_columns` handles the rest."""

_LONGEST_MIXED = 4


def _spellings(text: str) -> Iterable[str]:
    if len(text) <= _LONGEST_MIXED:
        return map("".join, itertools.product(*({c, c.upper()} for c in text)))
    words = itertools.product(*({word, word.capitalize()} for word in text.split(" ")))
    return [text.upper(), text.title(), *map(" ".join, words)]


MISSING_SPELLINGS = sorted({spelling for text in MISSING for spelling in _spellings(text)})
"""MISSING in upper and lower case, short ones in every mixture, words with and without a capital letter."""

_TRUE = "true t yes y on ja j wahr oui vrai si sí sì sim vero verdadero verdadeiro tak да"
_FALSE = "false f no n off nein falsch non faux não nao falso nee nie нет"
_TRUTH = {**dict.fromkeys(_TRUE.split(), 1.0), **dict.fromkeys(_FALSE.split(), 0.0)}


def is_missing(text: str) -> bool:
    """Whether a text means a missing value."""
    return text.strip().lower() in MISSING


def parse(kind: str, texts: Sequence[str], notation: str) -> np.ndarray:
    """Texts as numbers, nan where one is not of the kind ("number", "boolean", "date") in this notation.

    Booleans are 0 or 1, dates are days since 1970-01-01. The notation of a number is its decimal mark and unit, that
    of a date the name of its format.
    """
    if kind == "number":
        return parse_written(texts, notation)
    if kind == "date":
        return parse_dates(texts, notation)
    return np.array([parse_boolean(text) for text in texts], dtype=float)


def parse_numbers(texts: Sequence[str], *, comma: bool = False) -> tuple[np.ndarray, bool]:
    """The texts of one column as numbers, nan where a text is not a number; whether they have a decimal comma.

    All texts are read in the notation that reads the most of them; 1,234 is 1234, with ``comma`` 1.234.
    """
    found = recognise(texts, np.ones(len(texts), dtype=np.int64), "," if comma else "") if len(texts) else None
    if found is None:
        return np.full(len(texts), np.nan), False
    return parse_written(texts, found.code), found.decimal == ","


def parse_boolean(text: str) -> float:
    """1 for "true", "yes" and words like them, 0 for "false", "no", ..., nan for anything else; in any case."""
    return _TRUTH.get(text.lower(), np.nan)

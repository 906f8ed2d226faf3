"""Which columns hold text to read, such as titles and abstracts, and not ids, codes, addresses of pages or names."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

UNSPACED = (
    "\u0e01-\u0eff\u1000-\u109f\u1780-\u17d3"  # Thai and Lao, Burmese, Khmer
    "\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # Hiragana and Katakana, without marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese characters
    "\uac00-\ud7a3"  # Hangul: it has spaces, but its words carry their particles
)
"""Letters of languages that are written without spaces between words, as ranges of a regular expression."""

_UNSPACED = re.compile(f"[{UNSPACED}]")
_WORD = re.compile(r"[^\W\d_]{2,}")

_SAMPLE = 1000
"""Most texts of a column that are examined: the share of texts with few words is then known to 2 %."""

_WORDS = 4
"""Median number of words from which a column is text: names of people have two or three, titles mostly more."""

_LETTERS_OF_A_WORD = 2.0
"""Letters that make a word of a language without spaces, on average."""


def is_prose(texts: Sequence[str]) -> bool:
    """Whether at least half of the texts have four words or more."""
    if not texts:
        return False
    places = np.unique(np.linspace(0, len(texts) - 1, _SAMPLE).astype(int))
    return float(np.median([_n_words(texts[i]) for i in places])) >= _WORDS


def _n_words(text: str) -> float:
    """The number of words. Codes such as "a1b2" or "x-17" and addresses of pages do not count."""
    text = text[:_SAMPLE]
    unspaced, text = len(_UNSPACED.findall(text)), _UNSPACED.sub(" ", text)
    return unspaced / _LETTERS_OF_A_WORD + sum(map(_is_word, text.split()))


def _is_word(piece: str) -> bool:
    """Whether a piece between white space is a word, or words with hyphens or an apostrophe."""
    words = _WORD.findall(piece)
    return bool(words) and "://" not in piece and sum(map(len, words)) >= 0.7 * len(piece)

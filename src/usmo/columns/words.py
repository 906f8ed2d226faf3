"""Text columns: words and pairs of words, weighted by TF-IDF.

One tokeniser serves all languages. A word is two or more letters or digits; a letter of a language without spaces
(Chinese, Japanese, Thai; Korean too) is a token of its own, so that the pairs are its character bigrams. There is no
list of stop words. Several text columns are one text: with a row of length 1 for each, a title of ten words would
weigh as much as an abstract of two hundred, and a word of a title would not match the same word in an abstract. Pairs
of words count half, because they repeat what their words say (``python -m benchmarks.texts``). A row has the length
1, or 0 if it has no word that the training table had.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.preprocessing import normalize

from usmo.columns.frames import ColumnValues
from usmo.io.markup import is_marked_up, without_markup
from usmo.io.prose import UNSPACED

Schema = dict[str, Any]

MOST_TERMS = 50_000
"""Words and pairs of words of a column, the most frequent: a model file grows by at most about 2 MB for each column."""

HASHED_TERMS = 1 << 16
"""Columns of a hashed text column: as many as the largest vocabulary, rounded up to a power of 2."""

PAIR_WEIGHT = 0.5
"""Weight of a pair of words beside that of a word: worth 0.003 of AUC (``python -m benchmarks.texts``)."""

LONGEST_WORD = 100
"""Letters after which a word is cut; German has words of 80."""

_FEW_ROWS, _MANY_ROWS, _VERY_MANY_ROWS = 20, 10_000, 100_000
"""From these rows on a term must occur in 2, 3 and 5 texts. One that occurs once says nothing of another row; among
more rows there are more typing errors that occur twice."""


@cache
def token_pattern() -> str:
    """The regular expression of a token: an unspaced letter, or letters, digits and the marks that belong to them."""
    is_mark = lambda code: unicodedata.category(chr(code)) in ("Mn", "Mc")  # noqa: E731
    runs = [[*run] for marked, run in groupby(range(0x300, 0xFFFF), key=is_mark) if marked]
    marks = "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)
    letter = rf"[^\W_{UNSPACED}]"
    # \w lacks the vowel signs of Hindi, Tamil and others, which would cut their words to pieces
    return rf"[{UNSPACED}]|{letter}(?:{letter}|[{marks}]){{1,{LONGEST_WORD - 1}}}"


def normalised(text: str) -> str:
    """Text in lower case, with one code for each spelling of a character (é, full-width letters)."""
    return unicodedata.normalize("NFKC", text).lower()


def fewest_texts(n_rows: int) -> int:
    """How many texts a term must occur in, by the number of rows (``min_df``)."""
    return 1 + (n_rows >= _FEW_ROWS) + (n_rows >= _MANY_ROWS) + 2 * (n_rows >= _VERY_MANY_ROWS)


def text_schemas(columns: dict[str, ColumnValues], method: str) -> list[Schema] | None:
    """The schemas of all text columns of a table; None if they have no words.

    That of the first column has the terms of all, and their idf, log((1 + n) / (1 + df)) + 1. ``joined`` are the names
    of these columns; the others have no output columns of their own, and nothing in ``joined``.
    """
    together = joined_texts(list(columns.values()))
    schemas: list[Schema] = []
    for name, values in columns.items():
        assert values.codes is not None
        first = not schemas
        schemas.append({
            "name": name, "kind": "text", "method": method, "terms": [], "idf": np.empty(0),
            "different": len(values.texts), "n_missing": int(np.count_nonzero(values.codes < 0)),
            "markup": first and is_marked_up(together.texts), "pair_weight": 1.0 if method == "hash" else PAIR_WEIGHT,
            "joined": list(columns) if first else [],
        })  # fmt: skip
    leader, texts = schemas[0], _plain(schemas[0], together.texts)
    counter = _counter(leader).transform
    counts, leader["terms"] = (counter(texts), []) if method == "hash" else _learnt_terms(texts)
    if not counts.nnz:
        return None
    df = np.bincount(counts.indices, minlength=counts.shape[1])
    leader["idf"] = np.log((1 + len(texts)) / (1 + df)) + 1
    return schemas


def joined_texts(columns: Sequence[ColumnValues]) -> ColumnValues:
    """The texts of each row, one below the other; missing where all are."""
    padded = [[*values.texts, ""] for values in columns]  # code -1 is the last text
    rows = zip(*(values.codes.tolist() for values in columns if values.codes is not None), strict=True)
    texts = ["\n".join(own[code] for own, code in zip(padded, row, strict=True) if code >= 0) for row in rows]
    present = np.array([bool(text) for text in texts], dtype=bool)
    codes = np.where(present, np.cumsum(present) - 1, -1)
    return ColumnValues("text", codes=codes, texts=[text for text in texts if text])


def _plain(schema: Schema, texts: Sequence[str]) -> list[str]:
    """The texts without markup, if the training table had any in this column."""
    return [without_markup(text) for text in texts] if schema["markup"] else list(texts)


def _learnt_terms(texts: list[str]) -> tuple[Any, list[str]]:
    """The counts of the terms that occur often enough, or of all if none does, and these terms."""
    for least in sorted({1, fewest_texts(len(texts))}, reverse=True):
        counter = CountVectorizer(min_df=least, max_features=MOST_TERMS, **_tokens())
        try:
            return counter.fit_transform(texts), counter.get_feature_names_out().tolist()
        except ValueError:  # the vocabulary is empty
            continue
    return sparse.csr_matrix((len(texts), 0)), []


def _tokens() -> dict[str, Any]:
    return {
        "ngram_range": (1, 2), "preprocessor": normalised, "token_pattern": token_pattern(), "dtype": np.float64
    }  # fmt: skip


def _counter(schema: Schema) -> Any:
    if schema["method"] == "hash":
        return HashingVectorizer(n_features=HASHED_TERMS, alternate_sign=False, norm=None, **_tokens())
    return CountVectorizer(vocabulary=schema["terms"], **_tokens())


def text_block(schema: Schema, values: ColumnValues) -> Any:
    """The rows of a text column in CSR form: (1 + log count) · idf, scaled to length 1; empty where it is missing."""
    assert values.codes is not None
    block = sparse.csr_matrix((0, len(schema["idf"])))
    if values.texts:
        block = _counter(schema).transform(_plain(schema, values.texts))
        block.data = (1 + np.log(block.data)) * _weights(schema)[block.indices]
        block = normalize(block, copy=False)
    empty = sparse.csr_matrix((1, block.shape[1]))
    return sparse.vstack([block, empty], format="csr")[values.codes]  # code -1 is the last row


def _weights(schema: Schema) -> np.ndarray:
    """The weight of each term: its idf, times the weight of pairs if it is one. Hashed terms do not tell."""
    weights = np.array([schema["pair_weight"] if " " in term else 1.0 for term in schema["terms"]])
    return schema["idf"] * weights if len(weights) else schema["idf"]


def term_names(schema: Schema) -> list[str]:
    """The terms of a text column, as people read them: pairs of unspaced letters without the space between them."""
    if schema["method"] == "hash":
        return [f"#{i}" for i in range(len(schema["idf"]))]
    return [_shown(term) for term in schema["terms"]]


def _shown(term: str) -> str:
    first, _, second = term.partition(" ")
    joined = len(first) == len(second) == 1
    return first + second if joined else term


def is_vocabulary(terms: Any) -> bool:
    """Whether these are terms that a fit can make: sorted texts, each once, of at most two words."""
    if not isinstance(terms, list) or not 0 < len(terms) <= MOST_TERMS or not all(type(t) is str for t in terms):
        return False
    longest = max(map(len, terms))
    return "" not in terms and longest <= 2 * LONGEST_WORD + 1 and all(a < b for a, b in pairwise(terms))


MOST_IDF = np.log(float(sys.maxsize)) + 1
"""An idf that no table reaches."""

"""Text columns: words and pairs of words, weighted by TF-IDF.

One tokeniser serves all languages. A word is two or more letters or digits; a letter of a language without spaces
(Chinese, Japanese, Thai; Korean too) is a token of its own, so that the pairs are its character bigrams. There is no
list of stop words. A row of a text column has the length 1, or 0 if it has no word that the training table had.
"""

from __future__ import annotations

import sys
import unicodedata
from functools import cache
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.preprocessing import normalize

from usmo.columns.frames import ColumnValues
from usmo.io.prose import UNSPACED

Schema = dict[str, Any]

MOST_TERMS = 50_000
"""Words and pairs of words of a column, the most frequent: a model file grows by at most about 2 MB for each column."""

HASHED_TERMS = 1 << 16
"""Columns of a hashed text column: as many as the largest vocabulary, rounded up to a power of 2."""

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


def text_schema(name: str, values: ColumnValues, method: str) -> Schema | None:
    """The schema of a text column: its terms and their idf, log((1 + n) / (1 + df)) + 1; None if it has no words."""
    assert values.codes is not None
    codes = values.codes[values.codes >= 0]
    if not len(codes):
        return None
    schema: Schema = {
        "name": name, "kind": "text", "method": method, "terms": [], "idf": np.empty(0),
        "different": len(values.texts), "n_missing": len(values.codes) - len(codes),
    }  # fmt: skip
    texts = [values.texts[code] for code in codes]
    counts, schema["terms"] = (_counter(schema).transform(texts), []) if method == "hash" else _learnt_terms(texts)
    if not counts.nnz:
        return None
    df = np.bincount(counts.indices, minlength=counts.shape[1])
    schema["idf"] = np.log((1 + len(codes)) / (1 + df)) + 1
    return schema


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
        block = _counter(schema).transform(values.texts)
        block.data = (1 + np.log(block.data)) * schema["idf"][block.indices]
        block = normalize(block, copy=False)
    empty = sparse.csr_matrix((1, block.shape[1]))
    return sparse.vstack([block, empty], format="csr")[values.codes]  # code -1 is the last row


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

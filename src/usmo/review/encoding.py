"""A table as the matrix that a review learns from.

Text columns are joined to one text before they are encoded. A column of text has rows of length 1 whatever it holds:
a title of ten words would weigh as much as an abstract of two hundred. Over three collections of abstracts, work saved
at 95 % recall is 0.80 with one text and 0.77 with two. Pairs of words count half: they repeat what their words say, and
with full weight the work saved is 0.01 less.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import normalize

from usmo.columns import TableEncoder
from usmo.columns.schema import width
from usmo.io import Sheet
from usmo.io.libraries import polars


def encoded(table: Any, encoder: TableEncoder | None = None) -> tuple[TableEncoder | None, Any]:
    """The encoder, fitted to the table with its texts joined, and the matrix.

    A CSR matrix is used as it is, with no encoder; one that is fitted already encodes the table as it is.
    """
    if sparse.issparse(table) and encoder is None:
        return None, sparse.csr_matrix(table, dtype=np.float64)
    if encoder is not None and hasattr(encoder, "columns_"):
        return encoder, encoder.transform(table)
    encoder = clone(TableEncoder() if encoder is None else encoder).fit(table)
    texts = encoder.named("text")
    if len(texts) > 1 and encoder.text == "tfidf":
        table, name = join_texts(table, texts)
        encoder = clone(encoder).set_params(text_columns=[name]).fit(table)
    return encoder, half_pairs(encoder, encoder.transform(table))


def half_pairs(encoder: TableEncoder, X: Any) -> Any:
    """X with the columns of pairs of words at half their weight, and texts of length 1 again."""
    blocks, at = [], 0
    for schema in encoder.columns_:
        block = X[:, at : at + width(schema)]
        at += width(schema)
        if schema["kind"] == "text" and schema["method"] == "tfidf":
            scale = np.where([" " in term for term in schema["terms"]], 0.5, 1.0)
            block = normalize(block @ sparse.diags(scale))
        blocks.append(block)
    return sparse.hstack(blocks, format="csr") if encoder.named("text") else X


def join_texts(table: Any, names: list[str]) -> tuple[Any, str]:
    """The table with these columns replaced by one text, and the name of that."""
    joined = " + ".join(names)
    if isinstance(table, Sheet):
        pl = polars()
        texts = table.frame.select(pl.concat_str(pl.col(names).cast(pl.String), separator="\n", ignore_nulls=True))
        return table.drop(names).with_column(joined, texts.to_series()), joined
    if hasattr(table, "with_columns"):
        pl = polars()
        text = pl.concat_str(pl.col(names).cast(pl.String), separator="\n", ignore_nulls=True).alias(joined)
        return table.with_columns(text).drop(names), joined
    text = table[names].fillna("").astype(str).agg("\n".join, axis=1)
    return table.drop(columns=names).assign(**{joined: text}), joined

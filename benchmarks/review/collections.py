"""Collections to review: abstracts, and tables with a rare class."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler

from usmo.datasets import load
from usmo.io import read
from usmo.review.encoding import encoded

TEXT = ("kitchenham", "radjenovic", "medical")
RARE = {
    "shuttle": (2, 3, 6, 7), "mnist": (3,), "bank-marketing": (1,), "adult-a9a": (1,), "krvskp": (1,), "spectf": (0,)
}  # fmt: skip
"""The tables and their positive classes."""

_NEGATIVES, _SHARE = 1500, 0.05
"""Negatives drawn from a table, and the share of positives if it has more. All of shuttle's and spectf's are kept."""


class Collection(NamedTuple):
    """What the review sees, what the SVM of the rivals sees, and the truth."""

    X: Any
    plain: Any
    truth: np.ndarray


def text(name: str) -> Collection:
    """Abstracts as our encoder turns them into columns, and as TF-IDF of words and pairs of words for the rival."""
    sheet = read(Path(os.environ["USMO_DATA"]) / "text" / f"{name}.csv.gz", text=["id", "relevant"])
    truth = np.array([value == "yes" for value in sheet.column("relevant").tolist()])
    columns = [[value or "" for value in sheet.column(column).tolist()] for column in ("title", "abstract")]
    documents = [" ".join(parts) for parts in zip(*columns, strict=True)]
    plain = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_df=0.95).fit_transform(documents)
    return Collection(encoded(sheet.drop(["id", "relevant"]))[1], plain.tocsr(), truth)


def table(name: str, draw: int = 0) -> Collection:
    """Rows of a table with its positives thinned out, standardised."""
    rng = np.random.default_rng(draw)
    X, y = load(name)
    positive = np.isin(y, RARE[name])
    rows, others = np.flatnonzero(positive), np.flatnonzero(~positive)
    others = rng.choice(others, min(_NEGATIVES, len(others)), replace=False)
    if name not in ("shuttle", "spectf"):
        rows = rng.choice(rows, round(_SHARE / (1 - _SHARE) * len(others)), replace=False)
    chosen = rng.permutation(np.concatenate([rows, others]))
    X = X[chosen].toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)[chosen]
    X = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0])
    return Collection(X, X, positive[chosen])

"""Tables for tests: files with given contents, a small mixed table, rows of bank-marketing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

SMALL = {
    "age": [20.0, 30.0, 45.5],
    "job": ["a", "b", "a"],
    "on": [True, False, True],
    "day": ["2020-01-01"] * 2 + ["2021-01-01"],
}
"""A number, a category, a boolean and a date."""


def weighted_rows():
    """X, y and weights between 0.1 and 1.1 of 300 rows, of which a part of the positives is labelled."""
    rng = np.random.default_rng(0)
    positive = rng.random(300) < 0.4
    X = rng.normal(size=(300, 3)) + 2.0 * positive[:, None] * [1, 1, 0]
    y = np.where(positive & (rng.random(300) < 0.4), 1, 0)
    return X, y, rng.random(300) + 0.1


WEIGHT_SCALES = (1e-3, 1e-200, 1e200)
"""Factors that no result may depend on."""


def put(folder: Path, text: str | bytes, name: str = "data.csv") -> Path:
    """Write a file and return its path."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def bank_table(rows: int, seed: int, *, truth: bool = False) -> Any:
    """Random rows of bank-marketing: categories as text, an id, a date, missing values, and labelled positives.

    The column "known" is "yes" for half of the positives and empty for all other rows. With ``truth``, the mask of
    all positives is returned too.
    """
    rng = np.random.default_rng(seed)
    with np.load(Path(os.environ["USMO_DATA"]) / "bank-marketing.npz") as stored:
        chosen = np.sort(rng.choice(len(stored["y"]), rows, replace=False))
        X, y = stored["X"][chosen], stored["y"][chosen]
        columns: dict[str, Any] = {"id": [f"client-{i:05d}" for i in chosen]}
        for j, name in enumerate(stored["feature_names"].tolist()):
            whole = (X[:, j] % 1 == 0).all()
            columns[name] = X[:, j].astype(np.int64) if whole else X[:, j]
            if stored["is_categorical"][j]:
                columns[name] = stored[f"cat_{name}"][X[:, j].astype(int)].tolist()
    columns["since"] = np.datetime64("2008-05-01") + rng.integers(0, 900, rows)
    columns["known"] = ["yes" if labelled else None for labelled in (y == 1) & (rng.random(rows) < 0.5)]
    table = pl.DataFrame(columns)
    gaps = {name: pl.Series(rng.random(rows) < 0.05) for name in ("age", "job", "euribor3m", "since")}
    table = table.with_columns(
        pl.when(gap).then(None).otherwise(pl.col(name)).alias(name) for name, gap in gaps.items()
    )
    return (table, y == 1) if truth else table

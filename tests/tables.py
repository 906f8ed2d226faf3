"""Tables as users have them: text, ids, dates, missing values."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl


def bank_table(rows: int, seed: int, *, truth: bool = False) -> Any:
    """Rows of bank-marketing with its categories as text, an id, a date, missing values, and known positives.

    The column "known" is "yes" for half of the positives and empty for all other rows. With ``truth`` also which
    rows are positive.
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
    columns["known"] = ["yes" if each else None for each in (y == 1) & (rng.random(rows) < 0.5)]
    table = pl.DataFrame(columns)
    gaps = {name: pl.Series(rng.random(rows) < 0.05) for name in ("age", "job", "euribor3m", "since")}
    table = table.with_columns(
        pl.when(gap).then(None).otherwise(pl.col(name)).alias(name) for name, gap in gaps.items()
    )
    return (table, y == 1) if truth else table

"""Polars and pandas data frames, sheets and matrices as the encoder sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from usmo.io import MISSING, Sheet, TableError

_DAY = 86_400e6
"""Microseconds of a day."""


@dataclass(frozen=True)
class Values:
    """One column of any data frame: numbers with nan for missing, or codes (-1 for missing) into texts."""

    kind: str  # "number", "boolean", "date", "text", or the name of a type that cannot be used
    numbers: np.ndarray | None = None
    integer: bool = False
    codes: np.ndarray | None = None
    texts: Sequence[str] = ()

    @property
    def counts(self) -> np.ndarray:
        """In how many rows each text stands."""
        assert self.codes is not None
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))


@dataclass(frozen=True)
class View:
    """A data frame as the encoder sees it."""

    names: list[str]
    n_rows: int
    column: Callable[[str], Values]
    place: Callable[[int], str]
    source: str


def matrix_of(X: Any) -> tuple[Any, list[str]]:
    """A matrix of finite numbers or nan with its names, None if X is a data frame."""
    names: list[str] | None = None
    if isinstance(X, Sheet):
        if X.matrix is None:
            return None, []
        X, names = X.matrix, X.matrix_names
    elif hasattr(X, "columns"):
        return None, []
    try:
        X = sparse.csr_matrix(X, dtype=np.float64) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise TableError(f"X holds more than numbers ({error}): give it as a data frame") from None
    if X.ndim != 2 or not X.shape[0]:
        raise TableError(f"X must be a matrix with rows and columns, got shape {X.shape}")
    stored = X.data if sparse.issparse(X) else X
    if np.isinf(stored).any() or (sparse.issparse(X) and np.isnan(stored).any()):
        raise TableError(f"X holds {'infinite values' if np.isinf(stored).any() else 'nan in a CSR matrix'}")
    return X, Sheet(X, names).matrix_names


def view_of(X: Any) -> View:
    """A sheet or data frame, its columns converted when they are asked for."""
    source, place = "the table", lambda row: f"row {row} (counted from 0)"
    if isinstance(X, Sheet):
        source, place, X = X.source, X.place, X.frame
    module = type(X).__module__.split(".")[0]
    if module not in ("polars", "pandas") or not hasattr(X, "shape"):
        raise TableError(f"X must be a Sheet, a Polars or pandas data frame, or a matrix, got {type(X).__name__}")
    labels = {str(label): label for label in X.columns}
    if len(labels) != len(X.columns):
        raise TableError(f"{source} has several columns of one name: give every column a name of its own")
    convert = _from_pandas if module == "pandas" else _from_polars
    return View(list(labels), len(X), lambda name: convert(X[labels[name]]), place, source)


def _from_polars(column: Any) -> Values:
    import polars as pl

    dtype = column.dtype
    if dtype == pl.Boolean or dtype.is_numeric():
        numbers = column.cast(pl.Float64).to_numpy()
        return Values("boolean" if dtype == pl.Boolean else "number", numbers, dtype.is_integer())
    if dtype in (pl.Date, pl.Datetime, pl.Duration, pl.Time):
        kind, unit = ("date", pl.Datetime) if dtype in (pl.Date, pl.Datetime) else ("number", pl.Duration)
        return Values(kind, column.cast(unit("us")).to_physical().cast(pl.Float64).to_numpy() / _DAY)
    if dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        column = column.cast(pl.String)
        texts = column.drop_nulls().unique()
        codes = column.cast(pl.Enum(texts)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        return text_values(codes, texts.to_list())
    return Values(str(dtype))


def _from_pandas(column: Any) -> Values:
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object).infer_objects()
    types, dtype = pd.api.types, column.dtype
    if types.is_bool_dtype(dtype) or (types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype)):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return Values(
            "boolean" if types.is_bool_dtype(dtype) else "number", numbers, types.is_integer_dtype(dtype)
        )
    if types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype):
        if getattr(column.dt, "tz", None) is not None:
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        kind, unit = ("number", "m8[us]") if types.is_timedelta64_dtype(dtype) else ("date", "M8[us]")
        times = column.to_numpy(dtype=unit)
        return Values(kind, np.where(np.isnat(times), np.nan, times.astype(np.int64) / _DAY))
    try:
        codes, texts = pd.factorize(column)
    except TypeError:  # lists and the like
        return Values(str(dtype))
    return text_values(codes, [str(text) for text in texts])


def text_values(codes: np.ndarray, raw: list[str]) -> Values:
    """Texts without spaces around them, each once, in order; markers of missing values taken out."""
    raw = [text.strip() for text in raw]
    texts = sorted({text for text in raw if text.lower() not in MISSING and text != "(missing)"})
    place = {text: i for i, text in enumerate(texts)}
    new = np.array([*(place.get(text, -1) for text in raw), -1])  # the last one for code -1
    return Values("text", codes=new[codes], texts=texts)

"""One interface to the inputs of the encoder: Polars and pandas data frames, sheets and matrices.

pandas is optional and imported only by the function that gets one of its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from usmo.io import MISSING, Sheet, TableError
from usmo.io.errors import one_line, short
from usmo.io.infer_types import groups_of, stack, text_codes, texts_by_column
from usmo.io.libraries import polars

_DAY = 86_400e6
"""Microseconds per day."""


@dataclass(frozen=True)
class ColumnValues:
    """One column of any data frame: numbers with nan for missing, or codes (-1 for missing) into texts."""

    kind: str  # "number", "boolean", "date", "text", or the name of a type that cannot be encoded
    numbers: np.ndarray | None = None
    integer: bool = False
    codes: np.ndarray | None = None
    texts: Sequence[str] = ()
    lists: Any = None  # a Polars or pandas column whose values are lists


@dataclass(frozen=True)
class FrameView:
    """The same interface to a data frame of any library."""

    names: list[str]
    n_rows: int
    groups: Callable[[Sequence[str]], Iterator[list[tuple[str, ColumnValues]]]]  # the columns with these names
    place: Callable[[int], str]
    source: str
    decimal: str = ""  # the decimal mark of the table, if it is known


def matrix_of(X: Any) -> tuple[Any, list[str]]:
    """X as a matrix of finite numbers or nan, and the names of its columns; None and [] if X is a data frame."""
    names: list[str] | None = None
    if isinstance(X, Sheet):
        if X.matrix is None:
            return None, []
        X, names = X.matrix, X.matrix_names
    elif hasattr(X, "columns"):
        return None, []
    try:
        X = X if sparse.issparse(X) else np.asarray(X)
        if X.dtype.kind == "c":
            raise TypeError("Complex data not supported")
        X = sparse.csr_matrix(X, dtype=np.float64) if sparse.issparse(X) else X.astype(np.float64, copy=False)
    except (ValueError, TypeError) as error:
        why = one_line(error)
        raise TableError(f"X holds values that are not numbers ({why}): give it as a data frame") from None
    if X.ndim != 2:
        raise TableError(f"X must be a matrix with rows and columns, got shape {X.shape}: Reshape your data")
    for side, what in zip(X.shape, ("sample(s)", "feature(s)"), strict=True):
        if not side:
            raise TableError(f"X has 0 {what} (shape={X.shape}) while a minimum of 1 is required.")
    stored = X.data if sparse.issparse(X) else X
    if np.isinf(stored).any() or (sparse.issparse(X) and np.isnan(stored).any()):
        raise TableError(f"X holds {'infinite values' if np.isinf(stored).any() else 'nan in a CSR matrix'}")
    return X, Sheet(X, names).matrix_names


def view_of(X: Any) -> FrameView:
    """The view of a sheet or data frame, which converts a group of columns when it is reached."""
    source, place, decimal = "the table", lambda row: f"row {row} (counted from 0)", ""
    if isinstance(X, Sheet):
        source, place, decimal, X = X.source, X.place, X.decimal, X.frame
    module = type(X).__module__.split(".")[0]
    if module not in ("polars", "pandas") or not hasattr(X, "shape"):
        raise TableError(f"X must be a Sheet, a Polars or pandas data frame, or a matrix, got {type(X).__name__}")
    labels = {str(label): label for label in X.columns}
    if len(labels) != len(X.columns):
        raise TableError(f"{source} has several columns with the same name: give every column its own name")
    convert = _from_pandas if module == "pandas" else _from_polars

    def groups(names: Sequence[str]) -> Iterator[list[tuple[str, ColumnValues]]]:
        for group in groups_of(names, len(X)):
            yield list(zip(group, convert([X[labels[name]] for name in group]), strict=True))

    return FrameView(list(labels), len(X), groups, place, source, decimal)


def _from_polars(columns: list[Any]) -> list[ColumnValues]:
    pl = polars()
    is_text = [column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null) for column in columns]
    texts = [column.cast(pl.String) for column, each in zip(columns, is_text, strict=True) if each]
    different, codes = text_codes(stack(texts)) if texts else ([], np.empty(0, np.int64))
    coded = iter(text_columns(codes.reshape(len(texts), len(columns[0])), different))
    return [next(coded) if each else _numbers_of(column) for column, each in zip(columns, is_text, strict=True)]


def _numbers_of(column: Any) -> ColumnValues:
    pl, dtype = polars(), column.dtype
    if dtype == pl.Boolean or dtype.is_numeric():
        numbers = column.cast(pl.Float64).to_numpy()
        return ColumnValues("boolean" if dtype == pl.Boolean else "number", numbers, dtype.is_integer())
    if dtype in (pl.Date, pl.Datetime, pl.Duration, pl.Time):
        kind, unit = ("date", pl.Datetime) if dtype in (pl.Date, pl.Datetime) else ("number", pl.Duration)
        return ColumnValues(kind, column.cast(unit("us")).to_physical().cast(pl.Float64).to_numpy() / _DAY)
    return ColumnValues(short(str(dtype)), lists=column if dtype in (pl.List, pl.Array) else None)


def _from_pandas(columns: list[Any]) -> list[ColumnValues]:
    return [_from_pandas_column(column) for column in columns]


def _from_pandas_column(column: Any) -> ColumnValues:
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object).infer_objects()
    types, dtype = pd.api.types, column.dtype
    if types.is_bool_dtype(dtype) or (types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype)):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return ColumnValues(
            "boolean" if types.is_bool_dtype(dtype) else "number", numbers, types.is_integer_dtype(dtype)
        )
    if types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype):
        if getattr(column.dt, "tz", None) is not None:
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        kind, unit = ("number", "m8[us]") if types.is_timedelta64_dtype(dtype) else ("date", "M8[us]")
        times = column.to_numpy(dtype=unit)
        return ColumnValues(kind, np.where(np.isnat(times), np.nan, times.astype(np.int64) / _DAY))
    try:
        codes, texts = pd.factorize(column)
    except TypeError:  # lists and other values without a hash
        return ColumnValues(str(dtype), lists=column)
    return text_columns(codes[None], [str(text) for text in texts])[0]


def as_text(values: ColumnValues) -> ColumnValues | None:
    """A column of numbers, booleans or texts as texts; None for other values."""
    if values.numbers is not None and values.kind != "date":
        numbers, codes = np.unique(values.numbers, return_inverse=True)
        shown = [str(bool(v)) if values.kind == "boolean" else f"{v:.0f}" if v % 1 == 0 else repr(float(v))
                 for v in numbers]  # fmt: skip
        return text_columns(codes[None], shown)[0]
    return None if values.codes is None else values


def text_columns(codes: np.ndarray, raw: list[str]) -> list[ColumnValues]:
    """Text columns from codes into raw texts, one row of codes for each column.

    The texts of a column are stripped, sorted, each once, without markers of missing values.
    """
    raw = [text.strip() for text in raw]
    texts = sorted({text for text in raw if text.lower() not in MISSING})
    position = {text: i for i, text in enumerate(texts)}
    codes = np.array([*(position.get(text, -1) for text in raw), -1])[codes]  # the last entry maps -1 to itself
    return [ColumnValues("text", codes=column, texts=own) for own, column in texts_by_column(texts, codes)]

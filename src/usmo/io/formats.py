"""Formats of columns and matrices: Parquet and Feather hold data frames, ``.npz`` and svmlight matrices."""

from __future__ import annotations

import io
import operator
import sys
from typing import Any

import numpy as np
from scipy import sparse

from usmo.io.errors import TableError, one_line, short
from usmo.io.feather import buffer_sizes
from usmo.io.libraries import load_svmlight, polars
from usmo.io.limits import FRAME_COLUMN, MATRIX_COLUMN, TEXT_ROW, Limit
from usmo.io.notation import PLAIN_NUMBER
from usmo.io.sheet import Sheet

_ARRAYS = ("X", "X_data", "X_indices", "X_indptr", "X_shape", "feature_names", "ids", "y", "label")
"""The arrays that are read from a .npz file."""

_MAX_INDEX = 2**31
"""Indices of svmlight files end below, as columns of SciPy's CSR matrices of usual size do."""


def read_frame(data: bytes, limit: Limit, format: str) -> Sheet:
    """Read a "Parquet" or "Feather" file."""
    pl = polars()
    scan, load = (pl.scan_parquet, pl.read_parquet) if format == "Parquet" else (pl.scan_ipc, pl.read_ipc)
    try:
        if format == "Feather":  # before Polars counts the rows: for that, it reads the categories
            limit.check(sum(buffer_sizes(data)), "the decompressed columns")
        table = scan(io.BytesIO(data))
        rows = table.select(pl.len()).collect().item()
        limit.check_table(rows, len(table.collect_schema()), per_column=FRAME_COLUMN)
        frame = load(io.BytesIO(data))
    except (KeyboardInterrupt, MemoryError, TableError):
        raise
    except BaseException as error:  # a panic in Polars is not an Exception
        raise TableError(
            f"{limit.source} is damaged or not a {format} file ({one_line(error)}): write it again"
        ) from None
    # pandas stores the index of a data frame as this column
    return Sheet(frame.drop("__index_level_0__", strict=False), source=limit.source)


def read_npz(data: bytes, limit: Limit) -> Sheet:
    """Read the matrix X, or X_data, X_indices, ... in CSR form; feature_names, ids, y and label are optional."""
    name, arrays = limit.source, _arrays(data, limit)
    X: Any = _csr(arrays, limit) if "X_indptr" in arrays else arrays["X"]
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise TableError(f"{name}: X must be a matrix of numbers, got {short(str(X.dtype))} of shape {X.shape}")
    cells = X.nnz if sparse.issparse(X) else None
    limit.check_table(*X.shape, cells=cells, per_column=MATRIX_COLUMN)
    beside: dict[str, np.ndarray] = {key: arrays[key] for key in ("ids", "y", "label") if key in arrays}
    for key, values in beside.items():
        if values.shape != X.shape[:1]:
            raise TableError(f"{name}: {key} must hold one value per row of X {X.shape}, got shape {values.shape}")
    names: list[str] | None = None
    if (stored := arrays.get("feature_names")) is not None:
        names = [str(feature) for feature in stored.ravel()] if stored.size == X.shape[1] else []
        if len(names) != X.shape[1] or len({*names, *beside}) != len(names) + len(beside):
            raise TableError(
                f"{name}: feature_names must be {X.shape[1]} different names, none of them {list(beside)}"
            )
    return Sheet(X.astype(np.float64), names, beside=beside, source=name)


def _arrays(data: bytes, limit: Limit) -> dict[str, np.ndarray]:
    """The arrays of a .npz file that make a table: X, or those of a CSR matrix, and what belongs to them."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            sizes = {member.filename.removesuffix(".npy"): member.file_size for member in stored.zip.infolist()}
            limit.check(sum(sizes.values()), "the decompressed arrays")
            arrays = {key: _checked_text(np.asarray(stored[key])) for key in _ARRAYS if key in sizes}
    except TableError:
        raise
    except Exception as error:  # a dozen types; a MemoryError if a header claims more than the file holds
        raise TableError(
            f"{limit.source} is damaged or not a .npz file of plain arrays ({one_line(error)}): write it with savez"
        ) from None
    needed = ("X_indices", "X_shape") if "X_indptr" in arrays else ("X",)
    for key in needed:
        if key not in arrays:
            shown = ", ".join(short(each) for each in sorted(sizes)[:10])
            raise TableError(
                f"{limit.source} holds {shown or 'nothing'} but no {key!r}: name the matrix X "
                "(or X_data, X_indices, X_indptr, X_shape)"
            )
    return arrays


def _checked_text(array: np.ndarray) -> np.ndarray:
    """The array; a ValueError if it is text of numbers that are no characters, which Python cannot hold."""
    if array.dtype.kind == "U" and array.itemsize:
        codes = array.ravel().view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if codes.max(initial=0) > sys.maxunicode:
            raise ValueError(f"text with the character number {codes.max()}")
    return array


def _csr(arrays: dict[str, np.ndarray], limit: Limit) -> Any:
    """The CSR matrix of the arrays X_...; its values are 1 if X_data is not stored."""
    try:
        values = arrays.get("X_data", np.ones(len(arrays["X_indices"])))
        rows, columns = (operator.index(side) for side in arrays["X_shape"])
        X = sparse.csr_matrix((values, arrays["X_indices"], arrays["X_indptr"]), shape=(rows, columns))
        X.check_format()
        if (
            X.indptr[1:] < X.indptr[:-1]
        ).any():  # SciPy does not look if the last one is 0, or differences overflow
            raise ValueError("X_indptr falls")
    except (ValueError, TypeError, OverflowError) as error:
        raise TableError(f"{limit.source}: the arrays X_... are not a CSR matrix ({one_line(error)})") from None
    return X


def read_svmlight(data: bytes, limit: Limit) -> Sheet:
    """Read a CSR matrix and the column "label"."""
    try:
        X, y = load_svmlight(io.BytesIO(data))
    except (ValueError, OverflowError) as error:
        for line, text in enumerate(io.BytesIO(data), 1):
            label, *pairs = text.decode(errors="replace").split("#")[0].split() or ["0"]
            entries = [pair.partition(":") for pair in pairs]
            valid = all(_is_index(i) and PLAIN_NUMBER.fullmatch(x) for i, _, x in entries)
            if not (valid and PLAIN_NUMBER.fullmatch(label)):
                raise TableError(
                    f"{limit.source}: line {line} is not 'label index:value ...' with indices below "
                    f"{_MAX_INDEX:,}: correct it"
                ) from None
        raise TableError(f"{limit.source} is not an svmlight file ({one_line(error)})") from None
    row = np.searchsorted(X.indptr, np.argmax(X.indices), side="right") if X.nnz else 0
    widest = f" (the largest index is in row {row})"
    limit.check_table(*X.shape, cells=X.nnz, per_column=MATRIX_COLUMN, per_row=TEXT_ROW, where=widest)
    return Sheet(X.tocsr(), beside={"label": y}, source=limit.source)


def _is_index(text: str) -> bool:
    return text.isdecimal() and len(text) <= 10 and int(text) < _MAX_INDEX

"""Formats other than CSV and JSON lines: Parquet and Feather hold data frames, ``.npz`` and svmlight matrices."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

import numpy as np
from scipy import sparse

from usmo.io.errors import TableError, one_line
from usmo.io.libraries import load_svmlight, polars
from usmo.io.parsing import PLAIN_NUMBER
from usmo.io.sheet import Sheet


def read_frame(data: bytes, name: str, format: str) -> Sheet:
    """Read a "Parquet" or "Feather" file."""
    pl = polars()
    try:
        frame = (pl.read_parquet if format == "Parquet" else pl.read_ipc)(io.BytesIO(data))
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # a panic in Polars is not an Exception
        raise TableError(f"{name} is damaged or not a {format} file ({one_line(error)}): write it again") from None
    # pandas stores the index of a data frame as this column
    return Sheet(frame.drop("__index_level_0__", strict=False), source=name)


def read_npz(data: bytes, name: str) -> Sheet:
    """Read the matrix X, or X_data, X_indices, ... in CSR form; feature_names, ids, y and label are optional."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, AttributeError) as error:
        raise TableError(
            f"{name} is damaged or not a .npz file of plain arrays ({one_line(error)}): write it with savez"
        ) from None
    try:
        if "X_indptr" in arrays:
            values = arrays.get("X_data", np.ones(len(arrays["X_indices"])))
            X: Any = sparse.csr_matrix(
                (values, arrays["X_indices"], arrays["X_indptr"]), shape=tuple(arrays["X_shape"].tolist())
            )
            X.check_format()
        else:
            X = arrays["X"]
    except KeyError as error:
        raise TableError(
            f"{name} holds {', '.join(sorted(arrays)) or 'nothing'} but no {error}: name the matrix X "
            "(or X_data, X_indices, X_indptr, X_shape)"
        ) from None
    except ValueError as error:
        raise TableError(f"{name}: the arrays X_... are not a CSR matrix ({one_line(error)})") from None
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise TableError(f"{name}: X must be a matrix of numbers, got {X.dtype} of shape {X.shape}")
    beside = {key: arrays[key] for key in ("ids", "y", "label") if key in arrays}
    for key, values in beside.items():
        if values.shape != X.shape[:1]:
            raise TableError(f"{name}: {key} must hold one value per row of X {X.shape}, got shape {values.shape}")
    names = [str(feature) for feature in arrays["feature_names"].ravel()] if "feature_names" in arrays else None
    if names is not None and (len(names) != X.shape[1] or len({*names, *beside}) != len(names) + len(beside)):
        raise TableError(
            f"{name}: feature_names must be {X.shape[1]} different names, none of them {list(beside)}"
        )
    return Sheet(X.astype(np.float64), names, beside=beside, source=name)


def read_svmlight(data: bytes, name: str) -> Sheet:
    """Read a CSR matrix and the column "label"."""
    try:
        X, y = load_svmlight(io.BytesIO(data))
    except (ValueError, OverflowError) as error:
        for line, text in enumerate(data.decode(errors="replace").split("\n"), 1):
            label, *pairs = text.split("#")[0].split() or ["0"]
            entries = [pair.partition(":") for pair in pairs]
            valid = all(i.isdigit() and PLAIN_NUMBER.fullmatch(x) for i, _, x in entries)
            if not (valid and PLAIN_NUMBER.fullmatch(label)):
                raise TableError(f"{name}: line {line} is not 'label index:value ...': correct it") from None
        raise TableError(f"{name} is not an svmlight file ({one_line(error)})") from None
    return Sheet(X.tocsr(), beside={"label": y}, source=name)

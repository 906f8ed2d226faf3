"""Files other than lines of fields: Parquet and Feather, which hold frames; ``.npz`` and svmlight, matrices."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

import numpy as np
from scipy import sparse

from usmo.io.errors import TableError, one_line
from usmo.io.libraries import polars
from usmo.io.numerals import PLAIN
from usmo.io.sheet import Sheet


def read_frame(data: bytes, name: str, kind: str) -> Sheet:
    """A "Parquet" or "Feather" file."""
    pl = polars()
    try:
        frame = (pl.read_parquet if kind == "Parquet" else pl.read_ipc)(io.BytesIO(data))
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # a panic of Polars is no Exception
        raise TableError(f"{name} is damaged or no {kind} file ({one_line(error)}): write it again") from None
    # the index that pandas stores is no column of the table
    return Sheet(frame.drop("__index_level_0__", strict=False), source=name)


def read_npz(data: bytes, name: str) -> Sheet:
    """The matrix X or the parts X_data, ... of a CSR one, with feature_names, and ids, y, label beside it."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            parts = {key: stored[key] for key in stored.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, AttributeError) as error:
        raise TableError(
            f"{name} is damaged or no .npz file of plain arrays ({one_line(error)}): write it with savez"
        ) from None
    try:
        if "X_indptr" in parts:
            values = parts.get("X_data", np.ones(len(parts["X_indices"])))
            X: Any = sparse.csr_matrix(
                (values, parts["X_indices"], parts["X_indptr"]), shape=tuple(parts["X_shape"].tolist())
            )
            X.check_format()
        else:
            X = parts["X"]
    except KeyError as error:
        raise TableError(
            f"{name} holds {', '.join(sorted(parts)) or 'nothing'}, no {error}: name the matrix X "
            "(or X_data, X_indices, X_indptr, X_shape)"
        ) from None
    except ValueError as error:
        raise TableError(f"{name}: the parts of X make no CSR matrix ({one_line(error)})") from None
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise TableError(f"{name}: X must be a matrix of numbers, got {X.dtype} of shape {X.shape}")
    beside = {key: parts[key] for key in ("ids", "y", "label") if key in parts}
    for key, values in beside.items():
        if values.shape != X.shape[:1]:
            raise TableError(f"{name}: {key} must hold one value per row of X {X.shape}, got shape {values.shape}")
    names = [str(each) for each in parts["feature_names"].ravel()] if "feature_names" in parts else None
    if names is not None and (len(names) != X.shape[1] or len({*names, *beside}) != len(names) + len(beside)):
        raise TableError(
            f"{name}: feature_names must be {X.shape[1]} different names, none of them {list(beside)}"
        )
    return Sheet(X.astype(np.float64), names, beside=beside, source=name)


def read_svmlight(data: bytes, name: str) -> Sheet:
    """A CSR matrix with its column "label"."""
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(io.BytesIO(data))
    except (ValueError, OverflowError) as error:
        for line, text in enumerate(data.decode(errors="replace").split("\n"), 1):
            label, *pairs = text.split("#")[0].split() or ["0"]
            parts = [pair.partition(":") for pair in pairs]
            if not PLAIN.fullmatch(label) or any(not i.isdigit() or not PLAIN.fullmatch(x) for i, _, x in parts):
                raise TableError(f"{name}: line {line} is not 'label index:value ...': mend it") from None
        raise TableError(f"{name} is no svmlight file ({one_line(error)})") from None
    return Sheet(X.tocsr(), beside={"label": y}, source=name)

"""Fingerprints of training tables: they tell later which table a model was fitted to."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from scipy import sparse

from usmo.kernels.row_blocks import PartFeatures

_ENTRIES = 2**22
"""Entries of a table hashed at a time."""


def fingerprint(X: Any, y: Any) -> dict[str, Any]:
    """Rows, columns, SHA-256 of X and of y, and the names of the columns if X has any, as JSON values.

    The digest of X covers its type and its numbers row by row, whatever their layout in memory; that of a sparse
    table its non-zeros in canonical order. X may be a :class:`usmo.kernels.row_blocks.PartFeatures`.
    """
    columns = getattr(X, "columns", None)
    if not isinstance(X, PartFeatures) and not sparse.issparse(X):
        X = np.asarray(X)
    y = np.asarray(y)
    if len(X.shape) != 2:
        raise ValueError(f"X must be a table, got shape {X.shape}")
    if y.shape != (X.shape[0],):
        raise ValueError(f"y must have one label per row, {X.shape[0]}; got shape {y.shape}")
    return {
        "rows": int(X.shape[0]),
        "columns": int(X.shape[1]),
        "sha256_X": _sparse_digest(X)
        if sparse.issparse(X) or getattr(X, "is_sparse", False)
        else _dense_digest(X),
        "sha256_y": _dense_digest((y.astype(str) if y.dtype.kind == "O" else y)[:, None]),
        "feature_names": None if columns is None else [str(name) for name in columns],
    }


def _dense_digest(X: Any) -> str:
    if X.dtype.kind not in "biufU":
        raise ValueError(f"X and y must hold numbers or text, got the type {X.dtype}")
    digest = hashlib.sha256(f"{X.shape} {X.dtype.str}".encode())
    step = max(1, _ENTRIES // max(1, X.shape[1]))
    for start in range(0, X.shape[0], step):
        span = slice(start, min(start + step, X.shape[0]))
        block = X.read(span).astype(X.dtype) if isinstance(X, PartFeatures) else X[span]
        digest.update(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _sparse_digest(X: Any) -> str:
    digest = hashlib.sha256(f"csr {X.shape} {X.dtype.str}".encode())
    for name in ("data", "indices", "indptr"):
        end = 0
        for block in [X] if sparse.issparse(X) else (X.read(slice(*span)) for span in X.spans()):
            part = block.tocsr(copy=True)
            part.sum_duplicates()
            part.eliminate_zeros()
            array = getattr(part, name).astype(X.dtype if name == "data" else np.int64)
            if name == "indptr":
                array = array[1 if end else 0 :] + end
                end = int(array[-1]) if len(array) else end
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()

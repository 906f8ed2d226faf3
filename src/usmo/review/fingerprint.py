"""What identifies a table: the number of its rows, and a digest of each column and of the labels."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from scipy import sparse

from usmo.io import Sheet


def fingerprint(table: Any, labels: np.ndarray) -> dict[str, str]:
    """A digest of each column of a sheet or data frame, or of a matrix, with the number of rows and the labels."""
    own = {"rows": str(len(labels)), "labels": _digest(np.asarray(labels))}
    if isinstance(table, Sheet):
        return own | {f"column {name!r}": _digest(table.column(name)) for name in table.names}
    if hasattr(table, "columns"):
        return own | {f"column {name!r}": _digest(np.asarray(table[name])) for name in table.columns}
    if sparse.issparse(table):
        parts = (np.array(table.shape), table.indptr, table.indices, table.data)
        return own | {"matrix": "-".join(_digest(part) for part in parts)}
    return own | {"matrix": _digest(np.asarray(table))}


def _digest(values: np.ndarray) -> str:
    digest = hashlib.blake2b(repr(values.shape).encode(), digest_size=12)
    if values.dtype.kind == "O":
        for value in values.ravel().tolist():
            text = repr(value).encode("utf-8", "surrogatepass")
            digest.update(len(text).to_bytes(8, "little") + text)
    else:
        wide = values.astype(np.int64) if values.dtype.kind in "iub" else values  # index types vary by machine
        digest.update(np.ascontiguousarray(wide).tobytes())
    return digest.hexdigest()

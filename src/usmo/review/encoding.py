"""A table as the matrix that a review learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from usmo.columns import TableEncoder


def encoded(table: Any, encoder: TableEncoder | None = None) -> tuple[TableEncoder | None, Any]:
    """The encoder, fitted to the table unless it is fitted already, and the matrix.

    A CSR matrix is used as it is, with no encoder.
    """
    if sparse.issparse(table) and encoder is None:
        return None, sparse.csr_matrix(table, dtype=np.float64)
    if encoder is None or not hasattr(encoder, "columns_"):
        encoder = clone(TableEncoder() if encoder is None else encoder).fit(table)
    return encoder, encoder.transform(table)

"""Latent columns of sparse tables: what words have in common, learnt from all rows without labels.

The first singular vectors of the table (latent semantic analysis; Deerwester et al. 1990) turn each row into
coordinates of topics. Rows that share no word may share a topic, which matters most while few positives are known.
The first coordinate is left out: it is what all rows have in common. The kernel is that of the columns plus ``weight``
times the cosine in these coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

_LEAST_COLUMNS = 4
"""Times as many columns and rows as coordinates are needed, or there are none."""


@dataclass
class LatentColumns:
    """Puts latent columns beside a sparse matrix, and keeps the result for the next call with the same matrix."""

    n_columns: int = 100
    weight: float = 0.3
    _kept: tuple[Any, Any] | None = field(default=None, repr=False)

    def beside(self, X: Any) -> Any:
        """X with its latent columns to the right; X itself if it is too small for them."""
        if not sparse.issparse(X) or self.weight == 0.0 or min(X.shape) < _LEAST_COLUMNS * self.n_columns:
            return X
        if self._kept is None or self._kept[0] is not X:
            self._kept = X, sparse.hstack([X, sparse.csr_matrix(self._coordinates(X))], format="csr")
        return self._kept[1]

    def _coordinates(self, X: Any) -> Any:
        svd = TruncatedSVD(self.n_columns + 1, n_iter=2, random_state=0)
        length = np.sqrt(self.weight * X.multiply(X).sum() / X.shape[0])  # of a row, so that weights compare
        return length * normalize(svd.fit_transform(X)[:, 1:])

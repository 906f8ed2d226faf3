"""The encoder: learns a record of every column and puts the columns that it makes of them side by side."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from usmo.columns.encoding import encode, first_ten
from usmo.columns.frames import matrix_of, view_of
from usmo.columns.scaling import matrix_scaling, standardised
from usmo.columns.schema import learn, line, outputs
from usmo.io import Sheet, TableError, no_column

_SPARSE_WIDTH, _SPARSE_SHARE = 200, 0.3
"""Output columns above which, and share of non-zeros below which, the output is a CSR matrix."""


class TableEncoder(TransformerMixin, BaseEstimator):
    """Numbers for a classifier from a table of numbers, booleans, text and dates.

    Takes a :class:`usmo.io.Sheet`, a Polars or pandas data frame, or a matrix of numbers, dense or CSR. A matrix
    is only scaled: dense columns to mean 0 and variance 1, columns of a CSR matrix to a largest magnitude of 1,
    which keeps zeros and does not blow up rare entries. The columns beside the matrix of a sheet are left out.

    Parameters
    ----------
    max_categories : int
        Text columns with more different values keep the most frequent ones and "(other)", this many in all.
    unknown : {"error", "ignore"}
        What a category that was not in the training table does: raise an error, or count as no category.

    Attributes
    ----------
    columns_ : list of dict
        For each input column its name and kind ("number", "boolean", "category", "date", "ignored"), why it is
        ignored, and what transforming it needs. Empty for a matrix.
    matrix_names_, matrix_median_, matrix_mean_, matrix_scale_ : list and arrays
        Names, fillings for nan and scaling of the columns of a matrix. Empty for a data frame.
    sparse_output_ : bool
        Whether ``transform`` gives a CSR matrix.
    n_features_in_ : int
        Columns of the training table.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "max_categories": [Interval(Integral, 2, None, closed="left")],
        "unknown": [StrOptions({"error", "ignore"})],
    }

    def __init__(self, *, max_categories: int = 50, unknown: str = "error") -> None:
        self.max_categories = max_categories
        self.unknown = unknown

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.requires_fit = True
        return tags

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Recognise the columns of a table."""
        self._validate_params()
        columns: list[dict[str, Any]] = []
        matrix, names = matrix_of(X)
        if matrix is None:
            view = view_of(X)
            if not view.n_rows:
                raise TableError(f"{view.source} has no rows: at least one is needed")
            columns = [learn(name, view, self.max_categories) for name in view.names]
            if all(record["kind"] == "ignored" for record in columns):
                why = "; ".join(line(record) for record in columns[:5])
                raise TableError(
                    f"no column of {view.source} can be learnt from ({why or 'it has none'}): add one"
                )
            width = sum(len(outputs(record)) for record in columns)
            filled = sum(1 for record in columns if record["kind"] != "ignored") + sum(
                1 for record in columns if record["kind"] in ("number", "date", "boolean") and record["missing"]
            )
            self.sparse_output_ = width > _SPARSE_WIDTH and filled <= _SPARSE_SHARE * width
            self.n_features_in_ = len(columns)
            names, scaling = [], (np.empty(0), np.empty(0), np.empty(0))
        else:
            scaling = matrix_scaling(matrix)
            self.sparse_output_ = bool(sparse.issparse(matrix))
            self.n_features_in_ = int(matrix.shape[1])
        self.columns_, self.matrix_names_ = columns, names
        self.matrix_median_, self.matrix_mean_, self.matrix_scale_ = scaling
        return self

    def transform(self, X: Any) -> Any:
        """The rows as numbers: a dense matrix, or CSR if ``sparse_output_``."""
        check_is_fitted(self)
        matrix, names = matrix_of(X)
        if (matrix is None) != bool(self.columns_):
            got, fitted = ("a matrix", "a data frame") if self.columns_ else ("a data frame", "a matrix")
            raise TableError(f"X is {got}, the encoder was fitted to {fitted}: give the same kind of table")
        if matrix is not None:
            return self._transform_matrix(matrix, names, isinstance(X, Sheet))
        view, used = view_of(X), [record for record in self.columns_ if record["kind"] != "ignored"]
        for record in used:
            if record["name"] not in view.names:
                raise TableError(no_column(record["name"], view.names, view.source))
        self._warn_of_extra([name for name in view.names if name not in {r["name"] for r in self.columns_}])
        width = sum(len(outputs(record)) for record in used)
        out = None if self.sparse_output_ else np.zeros((view.n_rows, width))
        entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        start = 0
        for record in used:
            for rows, columns, values in encode(record, view, self.unknown):
                if out is not None:
                    out[rows, columns + start] = values
                else:
                    entries.append((rows, np.broadcast_to(columns + start, rows.shape), values))
            start += len(outputs(record))
        if out is not None:
            return out
        rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
        found = sparse.csr_matrix((values, (rows, columns)), shape=(view.n_rows, width))
        found.eliminate_zeros()
        return found

    def _transform_matrix(self, matrix: Any, names: list[str], named: bool) -> Any:
        known, width = self.matrix_names_, self.n_features_in_
        is_sparse = sparse.issparse(matrix)
        if is_sparse != self.sparse_output_:
            raise TableError(
                f"X is {'CSR' if is_sparse else 'dense'}, the encoder was fitted to the other: convert it"
            )
        if named and not is_sparse and set(names) >= set(known):
            self._warn_of_extra([name for name in names if name not in set(known)])
            matrix = matrix[:, [names.index(name) for name in known]]
        elif is_sparse and named and matrix.shape[1] < width:
            # svmlight files leave out zeros, so that the last columns may not occur
            matrix = sparse.csr_matrix(
                (matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width)
            )
        elif is_sparse and named and matrix.shape[1] > width:
            self._warn_of_extra(names[width:])
            matrix = matrix[:, :width]
        if matrix.shape[1] != width:
            raise TableError(f"X has {matrix.shape[1]} columns, the encoder was fitted to {width}")
        if is_sparse:
            return sparse.csr_matrix(matrix @ sparse.diags(1 / self.matrix_scale_))
        filled = np.where(np.isnan(matrix), self.matrix_median_, matrix)
        return standardised(filled, self.matrix_mean_, self.matrix_scale_)

    @staticmethod
    def _warn_of_extra(names: list[str]) -> None:
        if names:
            shown = first_ten(names)
            warnings.warn(f"columns that the training table did not have are ignored: {shown}", stacklevel=3)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """A name for each output column: "age", "age=(missing)", "job=admin"."""
        check_is_fitted(self)
        if not self.columns_:
            return np.array(self.matrix_names_, dtype=object)
        return np.array([name for record in self.columns_ for name in outputs(record)], dtype=object)

    def summary(self) -> list[str]:
        """A line for each column: what it was taken for."""
        check_is_fitted(self)
        if not self.columns_:
            kind = "sparse matrix, scaled to magnitude 1" if self.sparse_output_ else "matrix, standardised"
            return [f"{self.n_features_in_:,} columns of a {kind}"]
        return [line(record) for record in self.columns_]

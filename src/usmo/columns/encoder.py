"""The encoder: ``fit`` makes the schema of every column, ``transform`` puts their output columns side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from usmo.columns.blocks import weight_beside
from usmo.columns.encoding import Entries, encode, first_ten
from usmo.columns.frames import matrix_of, view_of
from usmo.columns.scaling import matrix_scaling, standardise
from usmo.columns.schema import KINDS, Choice, Schema, column_schemas, output_names, summary_line, width
from usmo.columns.words import term_names
from usmo.io import Sheet, TableError, no_column
from usmo.system.caller import warn
from usmo.system.rollback import unchanged_on_failure

_SPARSE_WIDTH, _SPARSE_SHARE = 200, 0.3
"""The output is a CSR matrix if it has more columns than this and at most this share of non-zeros."""


_DOCUMENTS = ("text", "vector")
"""Kinds of columns that are blocks of many output columns, beside which the others are scaled."""


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a table of numbers, booleans, text and dates as a matrix of numbers.

    Accepts a :class:`usmo.io.Sheet`, a Polars or pandas data frame, or a matrix of numbers, dense or CSR. A matrix
    is only scaled: dense columns to mean 0 and variance 1, columns of a CSR matrix to a largest magnitude of 1,
    which keeps zeros and does not inflate rare entries. The columns ``beside`` the matrix of a sheet are ignored.

    Parameters
    ----------
    max_categories : int, default=50
        Text columns with more different values keep the most frequent ones and "(other)", this many together.
    unknown : {"error", "ignore"}, default="error"
        A category that was not in the training table raises an error, or is encoded as no category.
    text : {"tfidf", "hash", "none"}, default="tfidf"
        Columns of text are encoded together, as one text per row, by its words and pairs of words: by a vocabulary of
        at most 50,000, by 65,536 hashed columns, which need no vocabulary, or not at all.
    text_columns : sequence of str, optional
        Columns that are text, whatever they look like; others are recognised by their many different values of
        several words.
    embedding_columns : sequence of str, optional
        Columns that hold a list of numbers in every row, all of the same length.
    kinds : mapping of str to str, optional
        The kind of columns that are not what they look like: "number", "category", "date", "text", "boolean" or
        "ignore"; or how their numbers or dates are written: "decimal-comma", "decimal-point", "day-first",
        "month-first".

    Attributes
    ----------
    columns_ : list of dict
        The schema of each input column: its name and kind ("number", "boolean", "category", "date", "text", "vector",
        "ignored"), why it is ignored, and the values that transforming it needs. Empty for a matrix.
    matrix_names_, matrix_median_, matrix_mean_, matrix_scale_ : list and arrays
        Names of the columns of a matrix, the values that replace nan, and the scaling. Empty for a data frame.
    sparse_output_ : bool
        Whether ``transform`` returns a CSR matrix. It does if there is a text column.
    other_scale_ : float
        Beside text and vectors, the factor of all other columns (:mod:`usmo.columns.blocks`); else 1.
    n_features_in_ : int
        Columns of the training table.
    feature_names_in_ : array of str
        Their names, if it is a data frame.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "max_categories": [Interval(Integral, 2, None, closed="left")],
        "unknown": [StrOptions({"error", "ignore"})],
        "text": [StrOptions({"tfidf", "hash", "none"})],
        "text_columns": [list, tuple, None],
        "embedding_columns": [list, tuple, None],
        "kinds": [dict, None],
    }

    def __init__(
        self, *, max_categories: int = 50, unknown: str = "error", text: str = "tfidf",
        text_columns: Sequence[str] | None = None, embedding_columns: Sequence[str] | None = None,
        kinds: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.max_categories = max_categories
        self.unknown = unknown
        self.text = text
        self.text_columns = text_columns
        self.embedding_columns = embedding_columns
        self.kinds = kinds

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.requires_fit = True
        return tags

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Infer the kind of every column, its categories and its scaling."""
        self._validate_params()
        with unchanged_on_failure(self):
            self._fit(X)
        return self

    def _fit(self, X: Any) -> None:
        matrix, names = matrix_of(X)
        self.columns_: list[Schema] = []
        self.matrix_names_, self.other_scale_ = names, 1.0
        if matrix is None:
            self._fit_columns(X)
            self.sparse_output_ = _is_sparse(self.columns_)
            self.n_features_in_ = len(self.columns_)
            scaling = (np.empty(0), np.empty(0), np.empty(0))
        else:
            if self.text_columns or self.embedding_columns or self.kinds:
                raise TableError(
                    "X is a matrix, which has no columns of text, vectors or kinds: give a data frame"
                )
            self.sparse_output_ = bool(sparse.issparse(matrix))
            self.n_features_in_ = int(matrix.shape[1])
            scaling = matrix_scaling(matrix)
        self.matrix_median_, self.matrix_mean_, self.matrix_scale_ = scaling

    def _fit_columns(self, X: Any) -> None:
        view = view_of(X)
        if view.names and not view.n_rows:  # a table without columns may not know its rows
            raise TableError(f"{view.source} has no rows: at least one is needed")
        kinds = dict(self.kinds or {})
        for name, kind in kinds.items():
            if kind not in KINDS:
                raise TableError(f"kinds must be {', '.join(KINDS)}, got {kind!r} for column {name!r}")
        choice = Choice(
            self.max_categories,
            self.text,
            tuple(self.text_columns or ()),
            tuple(self.embedding_columns or ()),
            kinds,
        )
        columns = column_schemas(view, choice)
        if all(schema["kind"] == "ignored" for schema in columns):
            why = "; ".join(summary_line(schema) for schema in columns[:5])
            raise TableError(f"no column of {view.source} can be learnt from ({why or 'it has none'}): add one")
        self.columns_ = columns
        used = [schema for schema in columns if schema["kind"] != "ignored"]
        documents = [schema for schema in used if schema["kind"] in _DOCUMENTS]
        others = [schema for schema in used if schema["kind"] not in _DOCUMENTS]
        if documents and others:
            self.other_scale_ = weight_beside(
                *(
                    _csr(encode(block, view, self.unknown, self.kinds or {}), block, view.n_rows)
                    for block in (documents, others)
                )
            )

    def transform(self, X: Any) -> Any:
        """Encode rows: a dense matrix, or CSR if ``sparse_output_``."""
        check_is_fitted(self)
        matrix, names = matrix_of(X)
        if (matrix is None) != bool(self.columns_):
            got, fitted = ("a matrix", "a data frame") if self.columns_ else ("a data frame", "a matrix")
            raise TableError(f"X is {got}, the encoder was fitted to {fitted}: give the same kind of table")
        if matrix is not None:
            return self._transform_matrix(matrix, names, isinstance(X, Sheet))
        view, used = view_of(X), [schema for schema in self.columns_ if schema["kind"] != "ignored"]
        present = set(view.names)
        for schema in used:
            if schema["name"] not in present:
                raise TableError(no_column(schema["name"], view.names, view.source))
        self._warn_of_extra(view.names, [schema["name"] for schema in self.columns_])
        scale = getattr(self, "other_scale_", 1.0)  # older files have none
        entries = encode(used, view, self.unknown, self.kinds or {}, scale)
        if self.sparse_output_:
            return _csr(entries, used, view.n_rows)
        out = np.zeros((view.n_rows, sum(map(width, used))))
        for rows, columns, values in entries:
            out[rows, columns] = values
        return out

    def _transform_matrix(self, matrix: Any, names: list[str], named: bool) -> Any:
        """Scale a matrix; if it comes from a sheet (``named``), first select the columns of the training table."""
        fitted, width = self.matrix_names_, self.n_features_in_
        is_sparse = sparse.issparse(matrix)
        if is_sparse != self.sparse_output_:
            got, wanted = ("CSR", "dense") if is_sparse else ("dense", "CSR")
            raise TableError(f"X is a {got} matrix, the encoder was fitted to a {wanted} one: convert it")
        if named and not is_sparse and set(names) >= set(fitted):
            self._warn_of_extra(names, fitted)
            position = {name: i for i, name in enumerate(names)}
            matrix = matrix[:, [position[name] for name in fitted]]
        elif is_sparse and named and matrix.shape[1] < width:
            # svmlight files leave out zeros: the last columns may not occur in one
            matrix = sparse.csr_matrix(
                (matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width)
            )
        elif is_sparse and named and matrix.shape[1] > width:
            self._warn_of_extra(names, names[:width])
            matrix = matrix[:, :width]
        if matrix.shape[1] != width:
            raise TableError(
                f"X has {matrix.shape[1]} features, but TableEncoder is expecting {width} features as input: give a "
                "matrix with the columns of the training table"
            )
        if is_sparse:
            return sparse.csr_matrix(matrix @ sparse.diags(1 / self.matrix_scale_))
        filled = np.where(np.isnan(matrix), self.matrix_median_, matrix)
        return standardise(filled, self.matrix_mean_, self.matrix_scale_)

    @staticmethod
    def _warn_of_extra(names: list[str], fitted: list[str]) -> None:
        expected = set(fitted)
        extra = [name for name in names if name not in expected]
        if extra:
            warn(
                f"columns that the training table did not have are ignored: {first_ten(extra)}",
                topic="extra-columns",
            )

    @property
    def feature_names_in_(self) -> np.ndarray:
        if not getattr(self, "columns_", None):
            raise AttributeError("feature_names_in_ is set by fitting to a data frame")
        return np.array([schema["name"] for schema in self.columns_], dtype=object)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the output columns: "age", "age=(missing)", "job=admin", "start (hour)", "start (weekday)".

        ``input_features`` are names for the columns of a matrix; those of a data frame are its own.
        """
        check_is_fitted(self)
        if input_features is not None:
            input_features = _check_feature_names_in(self, input_features)
        if not self.columns_:
            names = self.matrix_names_ if input_features is None else input_features
            return np.array(names, dtype=object)
        return np.array([name for schema in self.columns_ for name in output_names(schema)], dtype=object)

    def words(self) -> list[str] | None:
        """The word of each output column, or its name if it is no word; None if the table has no text."""
        check_is_fitted(self)
        if not self.named("text"):
            return None
        return [
            name
            for schema in self.columns_
            for name in (term_names if schema["kind"] == "text" else output_names)(schema)
        ]

    def named(self, kind: str) -> list[str]:
        """The names of the input columns of a kind."""
        return [schema["name"] for schema in self.columns_ if schema["kind"] == kind]

    def unparsed(self) -> list[str]:
        """The input columns that ``usmo.io.read`` must leave as text, so that they are read as in training."""
        return [
            schema["name"] for schema in self.columns_
            if schema["kind"] in ("text", "category")
            or (schema["kind"] == "number" and schema["notation"] != ".")
        ]  # fmt: skip

    def summary(self) -> list[str]:
        """One line per input column: its kind and missing values, or why it is ignored."""
        check_is_fitted(self)
        if not self.columns_:
            form = "sparse matrix, scaled to magnitude 1" if self.sparse_output_ else "matrix, standardised"
            return [f"{self.n_features_in_:,} columns of a {form}"]
        return [summary_line(schema) for schema in self.columns_]


def _csr(entries: Iterator[Entries], schemas: list[Schema], n_rows: int) -> Any:
    rows, columns, values = (np.concatenate(arrays) for arrays in zip(*entries, strict=True))
    matrix = sparse.csr_matrix((values, (rows, columns)), shape=(n_rows, sum(map(width, schemas))))
    matrix.eliminate_zeros()
    return matrix


def _is_sparse(columns: list[Schema]) -> bool:
    """Whether there is text, or the output has many columns and few non-zeros.

    A row has one non-zero in the output of every column, one more if a number is missing, and all of a vector and of
    a clock.
    """
    if any(schema["kind"] == "text" for schema in columns):
        return True
    n_output = sum(map(width, columns))
    used = [schema for schema in columns if schema["kind"] != "ignored"]
    filled = len(used) + sum(1 for schema in used if schema["kind"] != "category" and schema.get("missing"))
    filled += sum(width(schema) for schema in used if schema["kind"] == "vector")
    filled += sum(len(schema.get("clock", [])) for schema in used)
    return n_output > _SPARSE_WIDTH and filled <= _SPARSE_SHARE * n_output

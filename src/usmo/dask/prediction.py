"""Lazy predictions for Dask collections: shared by the estimators of a cluster."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
from dask.base import is_dask_collection
from dask.utils import is_dataframe_like
from sklearn.utils.validation import check_is_fitted

from usmo.dask.collections import as_rows, width_of


class LazyPredictions:
    """Mixin for an estimator whose predictions for a Dask collection are lazy."""

    n_features_in_: int
    _local: Any
    """The class of the same model on one machine."""

    @classmethod
    def from_local(cls, model: Any) -> Any:
        """Predict on a cluster with a fitted model of one machine, as :func:`usmo.load` returns it.

        The estimator predicts for Dask collections also where it cannot fit them. Models with ``kernel="forest"`` are
        fitted to a sample of the rows on one machine.
        """
        if type(model) is not cls._local:
            raise TypeError(f"model must be a {cls._local.__name__} of usmo, got {type(model).__name__}")
        check_is_fitted(model)
        parameters = model.get_params(deep=False)
        estimator = cls(**parameters)
        own = {*parameters, "_skl_callbacks"}
        estimator.__dict__.update({name: value for name, value in vars(model).items() if name not in own})
        return estimator

    def local(self) -> Any:
        """The fitted model as an estimator of :mod:`usmo`, which needs no Dask. ``save`` writes that."""
        check_is_fitted(self)
        names = self._local._get_param_names()
        model = self._local(**{name: getattr(self, name) for name in names})
        own = {*self.get_params(), "_skl_callbacks"}  # type: ignore[attr-defined]
        model.__dict__.update({name: value for name, value in vars(self).items() if name not in own})
        return model

    def save(self, path: Any, **options: Any) -> None:
        """Write the fitted model to a file that holds no code; :func:`usmo.load` reads it (:mod:`usmo.files`)."""
        self.local().save(path, **options)

    def decision_function(self, X: Any) -> Any:
        """Decision values f(x), lazy for Dask. Rows with f > 0 are predicted positive; sorting by f ranks the rows."""
        return self._lazily(X, "decision_function", np.float64)

    def predict(self, X: Any) -> Any:
        """The class of each row: the greater value of y where f > 0. Lazy for a Dask collection."""
        check_is_fitted(self)
        return self._lazily(X, "predict", self.classes_.dtype)  # type: ignore[attr-defined]

    def predict_proba(self, X: Any) -> Any:
        """The probability of either class for each row; column 1 is that of a positive. Lazy for a Dask collection."""
        if is_dask_collection(X) and not is_dataframe_like(X):
            self._check_width(X)
            whole = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
            return whole.map_blocks(
                _scored, self._sent(), "predict_proba", self.n_features_in_, dtype=np.float64,
                chunks=(whole.chunks[0], (2,)), meta=np.empty((0, 2)),
            )  # fmt: skip
        return self._lazily(X, "predict_proba", np.float64)

    def rank(self, X: Any, top: int = 100) -> Any:
        """The ``top`` rows with the highest f, highest first; lazy.

        For a ``dask.array`` their numbers and f as two arrays; for a ``dask.dataframe`` the rows themselves, with
        a column ``score``.
        """
        if not is_dask_collection(X):
            raise TypeError(f"rank needs a Dask collection, got {type(X).__name__}")
        if not isinstance(top, Integral) or top < 1:
            raise ValueError(f"top must be an integer, at least 1, got {top!r}")
        if is_dataframe_like(X) and "score" in X.columns:
            raise ValueError("X must have no column 'score', which rank adds: rename it")
        scores = self.decision_function(X)
        if is_dataframe_like(X):
            return X.assign(score=scores).nlargest(top, "score")
        if np.isnan(X.shape[0]):
            raise ValueError("rank needs known chunk sizes: call X.compute_chunk_sizes()")
        if top >= X.shape[0]:
            scores = scores.rechunk(-1)
        return da.argtopk(scores, top), da.topk(scores, top)

    def _sent(self) -> Any:
        """The model for the workers. Workers pass arrays without column names, so names are checked here."""
        model = self.local()
        model.__dict__.pop("feature_names_in_", None)
        return dask.delayed(model)

    def _check_width(self, X: Any) -> None:
        check_is_fitted(self)
        columns, names = width_of(X)
        if columns != self.n_features_in_:
            raise ValueError(f"X must have {self.n_features_in_} columns, got {columns}")
        fitted = getattr(self, "feature_names_in_", None)
        if names is not None and fitted is not None and names != list(fitted):
            raise ValueError(f"X must have the columns {list(fitted)[:5]}… in this order, got {names[:5]}…")

    def _lazily(self, X: Any, method: str, dtype: Any) -> Any:
        if not is_dask_collection(X):
            return getattr(super(), method)(X)
        self._check_width(X)
        model = self._sent()
        if is_dataframe_like(X):
            if method == "predict_proba":
                meta: Any = pd.DataFrame({str(value): np.empty(0) for value in self.classes_})  # type: ignore[attr-defined]
            else:
                meta = pd.Series(np.empty(0, dtype=dtype), name="class" if method == "predict" else "score")
            return X.map_partitions(_scored_frame, model, method, self.n_features_in_, meta, meta=meta)
        whole = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        return whole.map_blocks(
            _scored, model, method, self.n_features_in_, dtype=dtype, drop_axis=1, meta=np.empty(0, dtype=dtype)
        )


def _scored(part: Any, model: Any, method: str, columns: int) -> np.ndarray:
    rows = as_rows(part, columns, "a part of X")
    if rows.shape[0] == 0:
        return np.empty((0, 2)) if method == "predict_proba" else np.empty(0)
    return getattr(model, method)(rows)


def _scored_frame(part: Any, model: Any, method: str, columns: int, meta: Any) -> Any:
    scores = _scored(part, model, method, columns)
    if scores.ndim == 2:
        return type(meta)(scores, index=part.index, columns=meta.columns)
    return type(meta)(scores, index=part.index, name=meta.name, dtype=meta.dtype)

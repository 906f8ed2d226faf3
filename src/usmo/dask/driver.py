"""What both classifiers do on the driver's side: the client, the sample, the state that survives, predictions."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import dask
import numpy as np
from dask.base import is_dask_collection
from dask.utils import is_dataframe_like
from distributed import Client, get_client
from sklearn.utils.validation import check_is_fitted

from usmo.core.arrays import Array, Index
from usmo.core.shards import Lost
from usmo.core.table import Table
from usmo.dask.cluster import Cluster
from usmo.dask.partitions import Partitions
from usmo.dask.parts import as_rows, width_of
from usmo.fitting.checkpoint import StateFile

_SAMPLED = 50_000
"""Rows of each kind that a prior is estimated from."""

_LOSSES = 50
"""How often a fit starts again after the loss of a worker."""


def current_client() -> Client:
    """The client that is in use."""
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "a Dask collection needs a cluster: from dask.distributed import Client; client = Client()"
        ) from None


def through_losses(
    table: Partitions, open_shard: Callable[..., Any], recipe: tuple[Any, ...], attempt: Callable[[Cluster], Any]
) -> Any:
    """``attempt`` on a team of shards, again for as long as workers are lost on the way."""
    for _ in range(_LOSSES):
        team: Cluster | None = None
        try:
            team = Cluster(table.client, table.blocks, open_shard, *recipe)
            return attempt(team)
        except Lost:
            continue
        finally:
            if team is not None:
                team.close()
    raise RuntimeError(f"workers were lost {_LOSSES} times during one fit; see their logs")


class LinearState:
    """The last decision function of a fit: it survives the loss of a worker, and in a file that of the driver."""

    def __init__(self, file: StateFile | None, columns: int, start: tuple[Array, float] | None) -> None:
        self.guess, self._file = start, file
        stored = None if file is None else file.load(w=(columns,), beta=())
        if stored is not None:
            self.guess = stored["w"], float(stored["beta"])

    def note(self, w: Array, beta: float) -> None:
        """A newer decision function."""
        self.guess = w, beta
        if self._file is not None:
            self._file.save(lambda: {"w": w, "beta": beta})

    def done(self) -> None:
        """The fit is over."""
        if self._file is not None:
            self._file.done()


class Predicting:
    """Lazy predictions for Dask collections, and what the estimators of a cluster share."""

    _plain: Any
    """The class of the same model on one machine."""

    def _known(self, table: Partitions, gamma: float) -> tuple[Table, Index, dict[str, Any]]:
        """A sample of the table, which rows it has, and the prior and λ given or found from it."""
        model: Any = self
        most = max(_SAMPLED, model._selection_rows) if model.lam == "cv" else _SAMPLED
        sample, rows = table.sample(most, model.scenario, model._seed())
        known = model._known_prior(sample)
        return sample, rows, known | model._chosen_lam(sample, known["prior_"], gamma)

    def _named(self, table: Partitions) -> None:
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = table.columns
        if table.names is not None:
            self.feature_names_in_ = np.array(table.names, dtype=object)

    def local(self) -> Any:
        """The fitted model as one of :mod:`usmo`, which needs no Dask; ``save`` writes that."""
        check_is_fitted(self)
        names = self._plain._get_param_names()
        model = self._plain(**{name: getattr(self, name) for name in names})
        own = {*self.get_params(), "_skl_callbacks"}  # type: ignore[attr-defined]
        model.__dict__.update({name: value for name, value in vars(self).items() if name not in own})
        return model

    def save(self, path: Any, **options: Any) -> None:
        """Write the fitted model to a file that holds no code; :func:`usmo.load` reads it (:mod:`usmo.files`)."""
        self.local().save(path, **options)

    def decision_function(self, X: Any) -> Any:
        """f(x) for each row: positive above 0, and a ranking of the rows. Lazy for a Dask collection."""
        return self._lazily(X, "decision_function", np.float64)

    def predict(self, X: Any) -> Any:
        """The class of each row: the greater value of y where f > 0. Lazy for a Dask collection."""
        check_is_fitted(self)
        return self._lazily(X, "predict", self.classes_.dtype)  # type: ignore[attr-defined]

    def predict_proba(self, X: Any) -> Any:
        """The probability of either class for each row. Lazy for a ``dask.array``."""
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
        import dask.array as da

        if np.isnan(X.shape[0]):
            raise ValueError("rank needs known chunk sizes: call X.compute_chunk_sizes()")
        if top >= X.shape[0]:
            scores = scores.rechunk(-1)
        return da.argtopk(scores, top), da.topk(scores, top)

    def _sent(self) -> Any:
        """The model as it goes to the workers, which give it rows without names: columns are compared here."""
        model = self.local()
        model.__dict__.pop("feature_names_in_", None)
        return dask.delayed(model)

    def _check_width(self, X: Any) -> None:
        check_is_fitted(self)
        columns, names = width_of(X)
        if columns != self.n_features_in_:
            raise ValueError(f"X must have {self.n_features_in_} columns, got {columns}")
        known = getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and names != list(known):
            raise ValueError(f"X must have the columns {list(known)[:5]}… in this order, got {names[:5]}…")

    def _lazily(self, X: Any, method: str, dtype: Any) -> Any:
        if not is_dask_collection(X):
            return getattr(super(), method)(X)
        self._check_width(X)
        model = self._sent()
        if is_dataframe_like(X):
            import pandas as pd

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
    found = _scored(part, model, method, columns)
    if found.ndim == 2:
        return type(meta)(found, index=part.index, columns=meta.columns)
    return type(meta)(found, index=part.index, name=meta.name, dtype=meta.dtype)

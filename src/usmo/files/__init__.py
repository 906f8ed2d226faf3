"""Model files: one file per fitted model, without pickle, from which nothing is executed::

    save(model, "model.usmo", extra={"training": fingerprint(X, y)})
    model = load("model.usmo")
    describe("model.usmo")["certificate"]

A file is a zip of ``.npy`` arrays and a JSON manifest (:mod:`usmo.files.archive`), written whole or not at all, and
limited in memory before it is read (:mod:`usmo.files.contents`). The manifest holds a tree of values
(:mod:`usmo.files.codec`). Its objects are of registered classes
(:mod:`usmo.files.registry`), whose attributes must satisfy rules (:mod:`usmo.files.rules`) before ``load`` returns.
The format is our own because the usual ones run code (pickle, joblib) or cannot hold sparse tables, records and
parameters side by side; NumPy reads the arrays without this package.
"""

from __future__ import annotations

import json
from typing import Any, BinaryIO

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from usmo.files.archive import FORMAT, VERSION, allowance, write
from usmo.files.codec import Decoder, Encoder, plain
from usmo.files.contents import MAX_BYTES, opened
from usmo.files.digests import fingerprint
from usmo.files.errors import ModelFileError, Pathlike, guarded, named, need
from usmo.files.manifest import parsed_json
from usmo.files.registry import register
from usmo.system.version import __version__

__all__ = ["MAX_BYTES", "ModelFileError", "describe", "fingerprint", "load", "register", "save"]


def save(
    model: Any, path: Pathlike | BinaryIO, *, extra: dict[str, Any] | None = None, compress: bool = False
) -> None:
    """Write a fitted model to a file; if anything fails, the file keeps its former contents.

    Parameters
    ----------
    model : any classifier of this package, or a Pipeline that ends in one
        Steps of a pipeline before it must be scalers of scikit-learn or a :class:`usmo.columns.TableEncoder`, or be
        registered (:func:`usmo.files.register`). A model whose kernel is a function is refused: a file holds no code.
    path : path or binary stream
        By convention ``something.usmo``; a stream must be readable and seekable too.
    extra : dict, optional
        JSON values stored with the model, for example ``{"training": fingerprint(X, y)}``.
    compress : bool, default=False
        Deflate the arrays; pays for tables of few different values.
    """
    check_is_fitted(model)
    with named(path, "cannot be saved"):
        need(hasattr(model, "predict"), f"model must be a classifier, got {type(model).__name__}")
        encoder = Encoder()
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "usmo": __version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
            "model": encoder.encode(model),
            "extra": _json_values(extra),
        }
        write(path, manifest, encoder.arrays, compress)


def load(path: Pathlike | BinaryIO, *, max_bytes: int | None = None) -> Any:
    """Read a saved model.

    Parameters
    ----------
    path : path or binary stream
        A file, or a stream that can seek, that ``save`` wrote. Raises :class:`usmo.files.ModelFileError` for one that
        is damaged, no model file, of a later version or too large; FileNotFoundError and PermissionError as ``open``
        does.
    max_bytes : int, optional
        Largest number of bytes that the file may have, packed and unpacked. By default 4 GB, and unpacked at most 16
        times its size (or 128 MB), which every file written by ``save`` keeps to.
    """
    with named(path, "cannot be loaded"), guarded(), opened(path, max_bytes) as contents:
        decoder = Decoder(contents.declared, contents.array)
        model = decoder.decode(contents.manifest.get("model"))
        decoder.done()
        need(hasattr(model, "predict"), "it holds no classifier")
        check_is_fitted(model)
        return model


def describe(path: Pathlike | BinaryIO, *, max_bytes: int | None = None) -> dict[str, Any]:
    """The contents of a file as JSON values, after all checksums are verified and without building the model.

    ``class``, ``parameters``, ``certificate`` and ``fitted``, the prior, λ and kernel (of a pipeline those of its last
    step, of a search those of its chosen classifier), ``extra``, ``arrays`` with type, shape and SHA-256, ``bytes`` of
    the file, ``format``, ``version``, and the versions of ``usmo``, ``numpy`` and ``scikit-learn`` that wrote it.
    """
    with named(path, "cannot be described"), guarded(), opened(path, max_bytes) as contents:
        manifest = contents.manifest
        for name in contents.declared:
            contents.array(name)
        model = plain(manifest.get("model"), contents.listed)
        need(isinstance(model, dict) and "class" in model, "it holds no model")
        steps = model.get("steps")
        last = steps[-1][-1] if isinstance(steps, list) and steps and isinstance(steps[-1], list) else model
        last = last.get("best_estimator_", last) if isinstance(last, dict) else None
        return {
            **{key: manifest.get(key) for key in ("format", "version", "usmo", "numpy", "scikit-learn")},
            "class": model["class"],
            "parameters": {key: value for key, value in model.items() if key.strip("_") == key and key != "class"},
            "certificate": last.get("certificate_") if isinstance(last, dict) else None,
            "fitted": _fitted(last),
            "extra": manifest.get("extra"),
            "arrays": contents.listed,
            "bytes": contents.size,
        }


_SHOWN = ("class", "prior_", "prior_interval_", "lam_", "lam", "kernel", "scenario", "threshold_")
"""Attributes of a classifier that a description shows."""


def _fitted(model: Any) -> dict[str, Any]:
    return {name: model[name] for name in _SHOWN if name in model} if isinstance(model, dict) else {}


def _json_values(extra: dict[str, Any] | None) -> dict[str, Any]:
    """A copy of ``extra``, which must survive JSON unchanged."""
    try:
        text = json.dumps({} if extra is None else extra, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"extra must hold JSON values only, got {error}") from error
    values = parsed_json(text.encode("ascii"), allowance(len(text)))
    unchanged = isinstance(values, dict) and values == (extra or {})
    need(unchanged, "extra must be a dictionary of JSON values with text keys")
    return values

"""Model files: one file per fitted model, without pickle, from which nothing is executed.

    save(model, "model.usmo", extra={"training": fingerprint(X, y)})
    model = load("model.usmo")
    describe("model.usmo")["certificate"]

A file is a zip of ``.npy`` arrays and a JSON manifest (:mod:`usmo.files.archive`), written whole or not at all.
The objects in it are of registered classes (:mod:`usmo.files.registry`), checked before they are handed out.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from usmo.files import archive
from usmo.files.archive import FORMAT, VERSION
from usmo.files.codec import FORMS, Decoder, Encoder
from usmo.files.digests import fingerprint
from usmo.files.errors import ModelFileError, need
from usmo.files.registry import register

__all__ = ["MAX_BYTES", "ModelFileError", "describe", "fingerprint", "load", "register", "save"]

MAX_BYTES = 2**32
"""Size of a file, and of what is in it, up to which it is loaded if the caller says nothing else."""


def save(
    model: Any, path: str | os.PathLike[str], *, extra: dict[str, Any] | None = None, compress: bool = False
) -> None:
    """Write a fitted model to a file, which holds the whole model or, if anything fails, what it held before.

    Parameters
    ----------
    model : PUSVC, LinearPUSVC, RampPUSVC, or a Pipeline of registered steps
        Kernels that are functions are refused: a file holds no code.
    path : path
        By custom ``something.usmo``.
    extra : dict, optional
        JSON values kept with the model, for example ``{"training": fingerprint(X, y)}``.
    compress : bool, default=False
        Deflate the arrays. Worth it for tables of few different values.
    """
    check_is_fitted(model)
    from usmo import __version__

    with archive.named(path, "cannot be saved"):
        need(hasattr(model, "predict"), f"model must be a classifier, got {type(model).__name__}")
        encoder = Encoder()
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "usmo": __version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
            "model": encoder.encode(model),
            "extra": _checked_extra(extra),
        }
        archive.write(path, manifest, encoder.arrays, compress)


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Any:
    """The model in a file, as it was when it was saved.

    Raises :class:`ModelFileError` for a file that is damaged, of another kind, of a later version, or of more
    than ``max_bytes`` bytes, packed or unpacked; FileNotFoundError and PermissionError as ``open`` does.
    """
    with archive.named(path, "cannot be loaded"), archive.guarded():
        manifest, arrays, _ = archive.read(path, max_bytes)
        decoder = Decoder(arrays)
        model = decoder.decode(manifest.get("model"))
        decoder.done()
        need(hasattr(model, "predict"), "it holds no classifier")
        return model


def describe(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """What is in a file, as JSON values, after all checksums are verified and without building the model.

    ``class``, ``parameters``, ``certificate`` (of a pipeline: its last step's), ``extra``, ``arrays`` with type,
    shape and SHA-256, ``bytes`` of the file, ``format``, ``version``, and the versions of ``usmo``, ``numpy`` and
    ``scikit-learn`` that wrote it.
    """
    with archive.named(path, "cannot be described"), archive.guarded():
        manifest, _, size = archive.read(path, max_bytes)
        found = _plain(manifest.get("model"), manifest["arrays"])
        need(isinstance(found, dict) and "class" in found, "it holds no model")
        steps = found.get("steps")
        last = steps[-1][-1] if isinstance(steps, list) and steps and isinstance(steps[-1], list) else found
        parameters = {key: value for key, value in found.items() if key.strip("_") == key and key != "class"}
        header = {key: manifest.get(key) for key in ("format", "version", "usmo", "numpy", "scikit-learn")}
        return {
            **header,
            "class": found["class"],
            "parameters": parameters,
            "certificate": last.get("certificate_") if isinstance(last, dict) else None,
            "extra": manifest.get("extra"),
            "arrays": manifest["arrays"],
            "bytes": size,
        }


def _checked_extra(extra: dict[str, Any] | None) -> dict[str, Any]:
    try:
        text = json.dumps({} if extra is None else extra, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"extra must hold JSON values only, got {error}") from error
    found = archive.parsed_json(text.encode("ascii"))
    need(
        isinstance(found, dict) and found == (extra or {}),
        "extra must be a dictionary of JSON values with text keys",
    )
    return found


def _plain(tree: Any, arrays: dict[str, Any]) -> Any:
    """A tree of the manifest as plain values; of an array its type and shape."""
    if isinstance(tree, list):
        return [_plain(part, arrays) for part in tree]
    if not isinstance(tree, dict):
        return tree
    if set(tree) == {"object", "state"} and isinstance(tree["object"], str) and isinstance(tree["state"], dict):
        parts = {name: _plain(part, arrays) for name, part in tree["state"].items()}
        return {"class": tree["object"], **parts}
    need(len(tree) == 1 and set(tree) <= FORMS, "it holds a value of no known form")
    ((form, content),) = tree.items()
    if form == "array":
        need(isinstance(content, str) and content in arrays, "it refers to an array that is missing")
        return {key: arrays[content][key] for key in ("dtype", "shape")}
    if form == "dict" and isinstance(content, dict):
        return {name: _plain(part, arrays) for name, part in content.items()}
    if form == "float":
        return Decoder({}).decode(tree)
    if form == "numpy" and isinstance(content, list) and len(content) == 2:
        return _plain(content[1], arrays)
    return _plain(content, arrays)

"""Reading the tables: from USMO_DATA, from the cache, else from OpenML."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from usmo.datasets.catalogue import DataSet, info


def load(name: str, *, subset: str = "train") -> tuple[Any, np.ndarray]:
    """X and y of one of the seventeen tables.

    Files are looked for in the folder named by ``USMO_DATA``, then in the cache (``USMO_CACHE``, by default
    ``~/.cache/usmo``), and checked against their checksum. Tables that OpenML holds unchanged are otherwise
    fetched from there, and put into the cache.

    Parameters
    ----------
    name : str
        One of :data:`usmo.datasets.CATALOGUE`.
    subset : {"train", "test"}
        "test" for the tables that have a test set: adult-a9a, shuttle, mnist, poker-hand (there the training file
        of UCI, the smaller of the two).

    Returns
    -------
    X : array or CSR matrix of float
    y : array of int
        1 positive, 0 negative; the original classes for shuttle, mnist and poker-hand.
    """
    entry = info(name)
    if subset not in ("train", "test"):
        raise ValueError(f"subset must be 'train' or 'test', got {subset!r}")
    if subset == "test" and not entry.test_rows:
        raise ValueError(f"{name} has no test set; got subset='test'")
    path = _found(entry)
    if path is None:
        path = _fetched(entry)
    with np.load(path, allow_pickle=False) as stored:
        suffix = "" if subset == "train" else ("_train" if name == "poker-hand" else "_test")
        y = stored[f"y{suffix}"].astype(np.int64)
        if f"X{suffix}_indices" in stored:
            indices = stored[f"X{suffix}_indices"].astype(np.int32)
            parts = (np.ones(indices.size), indices, stored[f"X{suffix}_indptr"])
            return sparse.csr_matrix(parts, shape=tuple(stored[f"X{suffix}_shape"])), y
        return stored[f"X{suffix}"].astype(np.float64), y


def _folders() -> list[Path]:
    named = os.environ.get("USMO_DATA")
    return ([Path(named)] if named else []) + [_cache_folder()]


def _cache_folder() -> Path:
    return Path(os.environ.get("USMO_CACHE") or Path.home() / ".cache" / "usmo")


def _found(entry: DataSet) -> Path | None:
    for folder in _folders():
        path = folder / f"{entry.name}.npz"
        if path.is_file():
            stat = path.stat()
            digest = _sha256(path, stat.st_mtime_ns, stat.st_size)
            mine = folder / f"{entry.name}.sha256"  # of files that were made from OpenML
            expected = mine.read_text().strip() if mine.is_file() else entry.sha256
            if digest != expected:
                raise ValueError(
                    f"{path} is damaged or another version: its SHA-256 is {digest}, expected {expected}"
                )
            return path
    return None


@cache
def _sha256(path: Path, changed: int, size: int) -> str:
    with path.open("rb") as stream:
        return (
            hashlib.file_digest(stream, "sha256").hexdigest()
            if hasattr(hashlib, "file_digest")
            else (hashlib.sha256(stream.read()).hexdigest())
        )


def _fetched(entry: DataSet) -> Path:
    """The table from OpenML, checked against what is known about it and put into the cache."""
    where = " or ".join(str(folder) for folder in _folders())
    if entry.openml is None:
        raise FileNotFoundError(
            f"{entry.name}.npz is not in {where}, and OpenML does not hold this table unchanged: set USMO_DATA to "
            f"the folder that holds {entry.name}.npz"
        )
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(data_id=entry.openml.data_id, as_frame=True, parser="auto")
    except Exception as error:
        raise FileNotFoundError(
            f"{entry.name}.npz is not in {where}, and OpenML (data set {entry.openml.data_id}) cannot be reached: "
            f"set USMO_DATA to the folder that holds {entry.name}.npz"
        ) from error
    arrays = _converted(entry, bunch.data, bunch.target)
    folder = _cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path, new = folder / f"{entry.name}.npz", folder / f"{entry.name}.{os.getpid()}.tmp.npz"
    try:
        np.savez_compressed(new, **arrays)  # type: ignore[arg-type]
        digest = hashlib.sha256(new.read_bytes()).hexdigest()
        (folder / f"{entry.name}.sha256").write_text(digest + "\n")
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
    return path


def _converted(entry: DataSet, frame: Any, target: Any) -> dict[str, np.ndarray]:
    """OpenML's columns as numbers: categories as codes, [0, 1] scaled, the positive class as 1."""
    source = entry.openml
    assert source is not None
    columns = [
        column.cat.codes.to_numpy(dtype=np.float64) if column.dtype.name == "category" else column.to_numpy(float)
        for _, column in frame.items()
    ]
    X = np.column_stack(columns)
    if source.drop_constant:
        X = X[:, X.std(axis=0) > 0]
    if source.scaled:
        low, high = X.min(axis=0), X.max(axis=0)
        X = (X - low) / np.where(high > low, high - low, 1.0)
    text = target.astype(str).to_numpy()
    y = (text == source.positive).astype(np.int64) if source.positive is not None else text.astype(np.int64)
    rows = len(y) if source.rows is None else source.rows
    arrays = {"X": X[:rows], "y": y[:rows]}
    if entry.test_rows:
        arrays |= {"X_test": X[rows:], "y_test": y[rows:]}
    counts = {
        int(value): int(count) for value, count in zip(*np.unique(arrays["y"], return_counts=True), strict=True)
    }
    if arrays["X"].shape != (entry.rows, entry.columns) or counts != entry.classes:
        raise ValueError(
            f"OpenML's data set {source.data_id} is not the {entry.name} table known here: got shape "
            f"{arrays['X'].shape} and classes {counts}, expected {(entry.rows, entry.columns)} and {entry.classes}"
        )
    return arrays

"""Reading the tables: from USMO_DATA, from the cache, else from OpenML."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from platformdirs import user_cache_path
from scipy import sparse

from usmo.datasets.catalogue import DataSet, info
from usmo.system.atomic import write_whole


def load(name: str, *, subset: str = "train") -> tuple[Any, np.ndarray]:
    """X and y of one of the seventeen tables.

    The file is read from the folder named by ``USMO_DATA``, else from the cache (``USMO_CACHE``, by default the
    user's cache folder of the system, on Linux ``~/.cache/usmo``), and checked against its checksum. Otherwise
    tables that OpenML holds unchanged are downloaded into the cache.

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
    path = table_file(name)
    with np.load(path, allow_pickle=False) as stored:
        suffix = "" if subset == "train" else ("_train" if name == "poker-hand" else "_test")
        y = stored[f"y{suffix}"].astype(np.int64)
        if f"X{suffix}_indices" in stored:
            indices = stored[f"X{suffix}_indices"].astype(np.int32)
            arrays = (np.ones(indices.size), indices, stored[f"X{suffix}_indptr"])
            return sparse.csr_matrix(arrays, shape=tuple(stored[f"X{suffix}_shape"])), y
        return stored[f"X{suffix}"].astype(np.float64), y


def table_file(name: str) -> Path:
    """The table's file, checked, downloaded if necessary; FileNotFoundError if that is impossible."""
    entry = info(name)
    return _local_file(entry) or _downloaded(entry)


def missing_tables(names: Iterable[str]) -> list[str]:
    """Those of the tables that are in none of the folders and not on OpenML."""
    return [name for name in names if info(name).openml is None and _local_file(info(name)) is None]


def folders() -> list[Path]:
    """Where tables are looked for: the folder named by USMO_DATA, if any, then the cache."""
    data = os.environ.get("USMO_DATA")
    return ([Path(data)] if data else []) + [_cache_folder()]


def _cache_folder() -> Path:
    return Path(os.environ.get("USMO_CACHE") or user_cache_path("usmo", appauthor=False))


def _local_file(entry: DataSet) -> Path | None:
    for folder in folders():
        path = folder / f"{entry.name}.npz"
        if path.is_file():
            stat = path.stat()
            digest = _sha256(path, stat.st_mtime_ns, stat.st_size)
            stored = folder / f"{entry.name}.sha256"  # written with a table made from OpenML
            expected = stored.read_text().strip() if stored.is_file() else entry.sha256
            if digest != expected:
                raise ValueError(
                    f"{path} is damaged or another version: its SHA-256 is {digest}, expected {expected}"
                )
            return path
    return None


@cache
def _sha256(path: Path, changed: int, size: int) -> str:
    """The checksum of a file, computed again when its time of change or its size differs."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _downloaded(entry: DataSet) -> Path:
    """Download the table from OpenML, check it against the catalogue and put it into the cache."""
    where = " or ".join(str(folder) for folder in folders())
    advice = f"set USMO_DATA to the folder that holds {entry.name}.npz"
    if entry.openml is None:
        raise FileNotFoundError(
            f"{entry.name}.npz is not in {where}, and OpenML does not hold this table unchanged: {advice}"
        )
    from sklearn.datasets import fetch_openml  # slow to import, and needed for downloads only

    try:
        bunch = fetch_openml(data_id=entry.openml.data_id, as_frame=True, parser="auto")
    except Exception as error:
        raise FileNotFoundError(
            f"{entry.name}.npz is not in {where}, and OpenML (data set {entry.openml.data_id}) cannot be reached: "
            f"{advice}"
        ) from error
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **_converted(entry, bunch.data, bunch.target))  # type: ignore[arg-type]
    folder = _cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{entry.name}.npz"
    # the checksum first: a table without its own would be checked against the catalogue's
    write_whole(path.with_suffix(".sha256"), f"{hashlib.sha256(buffer.getvalue()).hexdigest()}\n".encode())
    write_whole(path, buffer.getvalue())
    return path


def _converted(entry: DataSet, frame: Any, target: Any) -> dict[str, np.ndarray]:
    """OpenML's columns as numbers: categories as codes, columns scaled to [0, 1], the positive class as 1."""
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
            f"OpenML's data set {source.data_id} is not the {entry.name} table of the catalogue: got shape "
            f"{arrays['X'].shape} and classes {counts}, expected {(entry.rows, entry.columns)} and {entry.classes}"
        )
    return arrays

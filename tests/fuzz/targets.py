"""What is fuzzed: model files, tables and checkpoints.

A target makes the name and the bytes of a file from a random generator, and checks a file: it can be used, or its
reader raises the documented error. An exception that leaves ``check`` is a finding.
"""

import contextlib
import functools
import io
import json
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import polars

from tests.files.forgeries import HOSTILE, changed, places
from tests.files.models import X, fitted, listing, opened, rows_for, signed, zipped
from tests.fuzz.mutations import mutated, other_array, repacked
from usmo.columns import TableEncoder
from usmo.files import ModelFileError, describe, load, save
from usmo.fitting.checkpoint import Checkpoint
from usmo.io import Sheet, TableError, read, write
from usmo.io.file_types import compress
from usmo.system.terminal import printable

_LONGEST = 2000
"""Characters of a message."""


@contextlib.contextmanager
def _accepted(error_class):
    """Accept this error if its message is short and safe to print."""
    try:
        yield
    except error_class as error:
        message = str(error)
        assert message == printable(message), f"control characters in the message {message!r}"
        assert 0 < len(message) < _LONGEST, f"a message of {len(message)} characters: {message[:200]!r}"


class Models:
    """A file is refused with ModelFileError, or the model decides about rows, or refuses them."""

    NAMES = ("linear", "rbf", "csr matrix", "rff", "search", "pipeline", "encoder", "mixed table")

    @staticmethod
    @functools.cache
    def _file(name):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model")
            save(fitted(name), path)
            manifest, entries = opened(path)
            return path.read_bytes(), _shortened(manifest), entries

    def originals(self):
        return {f"{name}.usmo": self._file(name)[0] for name in self.NAMES}

    def make(self, rng):
        """Changed bytes, with the last checksum right or not; or a forged file with all checksums right."""
        name = rng.choice(self.NAMES)
        data, manifest, entries = self._file(name)
        way = rng.choice(["bytes", "signed", "manifest text", *["manifest"] * 4, *["array"] * 2])
        if way in ("bytes", "signed"):
            data = mutated(rng, data)
            return f"{name}.usmo", signed(data) if way == "signed" else data
        if way == "manifest":
            for _ in range(rng.randint(1, 3)):
                at, other = rng.choices(list(places(manifest)), k=2)
                values = [rng.choice([..., *HOSTILE]), _at(manifest, other), _similar(rng, _at(manifest, at))]
                manifest = changed(manifest, at, rng.choice(values))
        elif way == "array":
            key = rng.choice(sorted(entries))
            entries = {**entries, key: other_array(rng, entries[key])}
            listed = _listed(entries[key], manifest["arrays"][key])
            manifest = {**manifest, "arrays": {**manifest["arrays"], key: listing(entries[key], listed)}}
        text = json.dumps(manifest).encode()
        if way == "manifest text":
            text = mutated(rng, text)
        kind = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
        return f"{name}.usmo", zipped([("manifest.json", text), *entries.items()], kind)

    def check(self, path):
        name = path.name.split(".")[-2]
        with _accepted(ModelFileError):
            json.dumps(describe(path))
        with _accepted(ModelFileError):
            model = load(path)
            try:
                assert len(model.predict(rows_for(name, fitted(name)))) == len(X)
            except TableError:  # a category that a forged encoder does not know
                pass
            except ValueError as error:  # a forged scaler gives huge numbers, or nan, as one of empty columns does
                if not str(error).startswith("Input X contains"):
                    raise


def _at(tree, place):
    return functools.reduce(lambda part, key: part[key], place, tree)


def _similar(rng, value):
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice([value + 1, value - 1, -value, 2 * value])
    if isinstance(value, str | list):
        return rng.choice([value[1:], value[:-1], value * 2, value[::-1]])
    return {key: part for key, part in value.items() if rng.random() < 0.8} if isinstance(value, dict) else value


def _shortened(tree):
    """A manifest whose histories have one record: else nearly all changes would hit histories."""
    if isinstance(tree, list):
        return [_shortened(part) for part in tree]
    if not isinstance(tree, dict):
        return tree
    tree = {key: _shortened(part) for key, part in tree.items()}
    if "history_" in tree:
        tree["history_"] = {"tuple": tree["history_"]["tuple"][:1]}
    return tree


def _listed(data, listed):
    """Type and shape of an array as its own header has them, if it has one."""
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except Exception:  # NumPy raises a dozen types
        return listed
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    return {**listed, "dtype": array.dtype.str, "shape": list(array.shape), "order": order}


class Tables:
    """A table is refused with TableError by ``read`` or by the encoder, or is read and encoded."""

    MAX_BYTES = 2**26
    """The limit given to the readers. Their default of 1 GB is more than a worker has."""

    @staticmethod
    @functools.cache
    def originals():
        columns = {
            "id": [f"{k:03d}" for k in range(12)], "age": [20.5 + k for k in range(12)], "flag": [True, False] * 6,
            "job": ["admin", 'smith, "the" one', None] * 4, "day": ["2020-01-02", "2021-12-31", ""] * 4,
        }  # fmt: skip
        tables = {}
        with tempfile.TemporaryDirectory() as folder:
            for ending in ("csv", "tsv", "jsonl", "parquet"):
                path = Path(folder, f"table.{ending}")
                write(columns, path)
                tables[path.name] = path.read_bytes()
        nested = [{"a": 1, "b": [1, 2], "c": {"d": "x"}}, {"a": None, "b": [], "c": None}] * 5
        tables["nested.jsonl"] = "\n".join(map(json.dumps, nested)).encode()
        for packing in ("uncompressed", "lz4", "zstd"):
            stream = io.BytesIO()
            polars.DataFrame(columns).with_columns(polars.col("job").cast(polars.Categorical)).write_ipc(
                stream, compression=packing
            )
            tables[f"{packing}.feather"] = stream.getvalue()
        csr = {"X_data": X[:, 0], "X_indices": np.arange(38) % 5, "X_indptr": np.arange(39), "X_shape": [38, 5]}
        dense = {"X": X, "y": np.arange(38) % 2, "feature_names": list("abc")}
        for name, arrays in {"dense": dense, "csr": csr}.items():
            stream = io.BytesIO()
            np.savez(stream, **arrays)
            tables[f"{name}.npz"] = stream.getvalue()
        tables["table.svm"] = b"1 1:0.5 3:2e-1\n-1 2:1 # note\n" * 6
        return tables

    def make(self, rng):
        """Changed bytes, or an archive packed anew; text may be compressed before or after the change."""
        name = rng.choice(sorted(self.originals()))
        data = self.originals()[name]
        if name.endswith("npz") and rng.random() < 0.5:
            return name, repacked(rng, data)
        data = mutated(rng, data)
        packing = "" if name.endswith(("npz", "parquet", "feather")) else rng.choice(["", "", "gz", "zst"])
        if packing:
            name, data = f"{name}.{packing}", compress(data, packing)
            data = mutated(rng, data) if rng.random() < 0.5 else data
        return name, data

    def check(self, path):
        with _accepted(TableError):
            sheet = read(path, max_bytes=self.MAX_BYTES)
            assert isinstance(sheet, Sheet)
            for name in sheet.names:
                assert len(sheet.column(name)) == sheet.n_rows
            assert TableEncoder().fit(sheet).transform(sheet).shape[0] == sheet.n_rows


class Checkpoints:
    """A checkpoint is refused with a ValueError that names it, or gives arrays of the right shape."""

    ROWS = 40

    @staticmethod
    @functools.cache
    def originals():
        n = Checkpoints.ROWS
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "state.npz")
            checkpoint = Checkpoint(path, 0.0, "digest", n)
            checkpoint.save(np.arange(n) / 7.0, lambda: np.arange(n) / 3.0, np.ones(n))
            data = path.read_bytes()
            checkpoint.remove()
        return {path.name: data}

    def make(self, rng):
        [(name, data)] = self.originals().items()
        return name, rng.choice([mutated, repacked])(rng, data)

    def check(self, path):
        checkpoint = Checkpoint(path, 0.0, "digest", self.ROWS)
        try:
            with _accepted(ValueError):
                try:
                    point, target = checkpoint.load()
                except ValueError as error:
                    assert path.name in str(error)  # noqa: PT017
                    raise
                for array in (point.sigma, point.G, target):
                    assert array.shape == (self.ROWS,)
                    assert array.dtype == np.float64
        finally:
            checkpoint.file._lock.release()


TARGETS = {"models": Models(), "tables": Tables(), "checkpoints": Checkpoints()}

"""Models for the tests of model files, and functions that take files apart and forge them without the package."""

import functools
import hashlib
import io
import json
import os
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from tests.oracles import random_table
from usmo import PUSVC, PUSVCCV, LinearPUSVC, OpenSetPUSVC, PUOutlierDetector, RampPUSVC
from usmo.columns import TableEncoder
from usmo.files import ModelFileError, contents, describe, load, save

DATA = Path(__file__).parent / "data"
X, Y = random_table(0, n=30, p=8)


def compressed_model(X, y):
    return PUSVC(0.4, lam=1e-2).fit(X, y).compress(X, n_components=5)


def named_columns(X, y):
    pandas = pytest.importorskip("pandas")
    return PUSVC(0.4).fit(pandas.DataFrame(X, columns=["a", "ü", "c"]), np.where(y, "yes", "no").astype(object))


def three_classes(y):
    """Labelled rows of two classes, -1 for the others."""
    classes = np.where(y, 1, -1)
    classes[np.flatnonzero(y)[::2]] = 2
    return classes


def random_state_in_use(X, y):
    state = np.random.RandomState(3)
    state.normal()
    return PUSVC(0.4, random_state=state).fit(X, y)


def mixed_table(X):
    """A data frame with columns of all kinds that an encoder knows, and one that it ignores."""
    polars = pytest.importorskip("polars")
    rows = range(len(X))
    columns = {f"x{i}": column for i, column in enumerate(X.T)}
    columns |= {"gaps": [None if k % 5 == 0 else k / 3 for k in rows], "flag": [k % 2 == 0 for k in rows]}
    columns |= {"job": [["admin", "smith", "ü", None][k % 4] for k in rows], "same": ["a"] * len(X)}
    columns["day"] = [f"2020-01-{1 + k % 28:02d}" for k in rows]
    columns["moment"] = [f"2020-02-{1 + k % 28:02d} {k % 23:02d}:30" if k % 7 else None for k in rows]
    return polars.DataFrame(columns)


MODELS = {
    "rbf": lambda X, y: PUSVC(0.4).fit(X, y),
    "estimated prior": lambda X, y: PUSVC().fit(X, y),
    "poly": lambda X, y: PUSVC(0.4, kernel="poly", degree=2, coef0=1.0).fit(X, y),
    "sigmoid": lambda X, y: PUSVC(0.4, kernel="sigmoid", gamma=0.01).fit(X, y),
    "linear kernel": lambda X, y: PUSVC(0.4, kernel="linear").fit(X, y),
    "precomputed": lambda X, y: PUSVC(0.4, kernel="precomputed").fit(X @ X.T, y),
    "float32": lambda X, y: PUSVC(0.4).fit(X.astype(np.float32), y),
    "columns first": lambda X, y: PUSVC(0.4).fit(np.asfortranarray(X), y),
    "forest": lambda X, y: PUSVC(0.4, kernel="forest", n_trees=3).fit(X, y),
    "forest+rbf": lambda X, y: PUSVC(0.4, kernel="forest+rbf", n_trees=3, random_state=1).fit(X, y),
    "compressed forest": lambda X, y: PUSVC(0.4, kernel="forest", n_trees=3).fit(X, y).compress(X),
    "compressed forest+rbf": lambda X, y: (
        PUSVC(0.4, kernel="forest+rbf", n_trees=3).fit(X, y).compress(X, n_components=5)
    ),
    "csr matrix": lambda X, y: PUSVC(0.4).fit(sparse.csr_matrix(np.maximum(X, 0)), y),
    "csr array": lambda X, y: PUSVC(0.4, kernel="poly").fit(sparse.csr_array(np.maximum(X, 0)), y),
    "rff": lambda X, y: PUSVC(0.4, approximation="rff", n_components=6).fit(X, y),
    "nystroem": lambda X, y: PUSVC(0.4, approximation="nystroem", n_components=6).fit(X, y),
    "compressed": compressed_model,
    "names and text": named_columns,
    "bool labels": lambda X, y: PUSVC(0.4).fit(X, y == 1),
    "text labels": lambda X, y: PUSVC(0.4).fit(X, np.where(y, "yes", "no")),
    "numpy parameters": lambda X, y: PUSVC(np.float64(0.4), lam=np.float32(0.01), max_iter=np.int64(99)).fit(X, y),
    "random state": random_state_in_use,
    "warm start": lambda X, y: PUSVC(0.4, warm_start=True, checkpoint=None).fit(X, y),
    "linear": lambda X, y: LinearPUSVC(0.4).fit(X, y),
    "linear sparse": lambda X, y: LinearPUSVC().fit(sparse.csr_array(X), y),
    "ramp": lambda X, y: RampPUSVC(0.4, lam=1e-2).fit(X, y),
    "cross-validated": lambda X, y: PUSVC(0.4, lam="cv").fit(X, y),
    "search": lambda X, y: PUSVCCV(PUSVC(0.4), lams=[0.1, 0.01], gammas=(0.5, 1.0)).fit(X, y),
    "search of kernels": lambda X, y: PUSVCCV(PUSVC(0.4, n_trees=3), kernels=["forest", "rbf"]).fit(X, y),
    "linear search": lambda X, y: PUSVCCV(LinearPUSVC(0.4), lams=np.array([0.1, 0.01]), rule="min").fit(X, y),
    "search in a pipeline": lambda X, y: make_pipeline(
        StandardScaler(), PUSVCCV(PUSVC(0.4), lams=[0.1, 0.01], gammas=[0.3, 1.0])
    ).fit(X, y),
    "outliers": lambda X, y: PUOutlierDetector(PUSVC(lam=0.1), contamination=0.2).fit(X, y),
    "open set": lambda X, y: OpenSetPUSVC(PUSVC(0.3), priors={1: 0.2, 2: 0.3}).fit(X, three_classes(y)),
    "open set of texts": lambda X, y: OpenSetPUSVC(LinearPUSVC(), priors=0.3).fit(
        X, np.array([{1: "a", 2: "b"}.get(k) for k in three_classes(y)], dtype=object)
    ),
    "pipeline": lambda X, y: make_pipeline(StandardScaler(), PUSVC(0.4)).fit(X, y),
    "encoder": lambda X, y: make_pipeline(TableEncoder(), PUSVC(0.4)).fit(X, y),
    "mixed table": lambda X, y: make_pipeline(TableEncoder(), PUSVC(0.4)).fit(mixed_table(X), y),
    "nested pipeline": lambda X, y: Pipeline(
        [
            ("scale", make_pipeline(MinMaxScaler(), RobustScaler(), MaxAbsScaler(), "passthrough")),
            ("norm", Normalizer()),
            ("model", LinearPUSVC(0.4)),
        ]
    ).fit(X, y),
}


@functools.cache
def fitted(name):
    """A model by its name; tests must not change it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[name](X, Y)


def rows_for(name, model):
    last = model[-1] if isinstance(model, Pipeline) else model
    if getattr(last, "kernel", "") == "precomputed":
        return X @ X.T
    if name == "names and text":
        pandas = pytest.importorskip("pandas")
        return pandas.DataFrame(X, columns=["a", "ü", "c"])
    if name == "mixed table":
        return mixed_table(X)
    return sparse.csr_array(np.maximum(X, 0)) if name.startswith("csr") else X


def same_state(one, two):
    """Equality of everything two objects hold, types and memory order included."""
    assert type(one) is type(two)
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape, one.flags.f_contiguous) == (two.dtype, two.shape, two.flags.f_contiguous)
        np.testing.assert_array_equal(one, two)
    elif sparse.issparse(one):
        assert one.shape == two.shape
        for part in ("data", "indices", "indptr"):
            same_state(getattr(one, part), getattr(two, part))
    elif isinstance(one, np.random.RandomState):
        assert repr(one.get_state()) == repr(two.get_state())
    elif isinstance(one, dict):
        assert list(one) == list(two)
        for key in one:
            same_state(one[key], two[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(two)
        for left, right in zip(one, two, strict=True):
            same_state(left, right)
    elif hasattr(one, "__dict__"):
        same_state(vars(one), vars(two))
    else:
        assert one == two or (one != one and two != two)


def saved(model, folder, **options):
    save(model, folder / "model.usmo", **options)
    return folder / "model.usmo"


def opened(path):
    """Manifest and entries of a file, read with nothing of the package."""
    with zipfile.ZipFile(path) as source:
        entries = {name: source.read(name) for name in source.namelist()}
    return json.loads(entries.pop("manifest.json")), entries


def signed(data):
    """The bytes with a right checksum at the end, as a forger makes them."""
    return data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode()


def zipped(entries, kind=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", kind) as target:
        target.comment = b"usmo-model sha256=" + b"0" * 64
        for name, data in entries:
            target.writestr(zipfile.ZipInfo(name), data, kind)
    return signed(stream.getvalue())


def listing(data, listed):
    return {**listed, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def written(path, manifest, entries, kind=zipfile.ZIP_STORED, relist=True):
    """A forged file: all checksums are right."""
    if relist:
        manifest = {**manifest, "arrays": dict(manifest["arrays"])}
        for name in entries:
            if name in manifest["arrays"]:
                manifest["arrays"][name] = listing(entries[name], manifest["arrays"][name])
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    path.write_bytes(zipped([("manifest.json", text), *entries.items()], kind))
    return path


def refused(path, words, **options):
    """Both readers refuse the file, in one line that names it."""
    for reader in (load, describe):
        with pytest.raises(ModelFileError, match=words) as caught:
            reader(path, **options)
        assert "\n" not in str(caught.value)
        assert repr(os.fspath(path)) in str(caught.value)


def outcome(data, monkeypatch):
    """(cause of the refusal, model) of a file of these bytes, without writing it."""
    monkeypatch.setattr(contents, "_stream", lambda path: io.BytesIO(data))
    try:
        return None, load("x")
    except ModelFileError as error:
        assert "\n" not in str(error)  # noqa: PT017
        return error.__cause__, None


def npy(array, **changes):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=changes.pop("allow_pickle", False))
    return stream.getvalue()


def write_golden():
    """The stored files of format 1: written once, by ``python -m tests.files.models``, and only read since."""
    rows = random_table(1, n=20, p=5)[0].round(3)
    table = np.maximum(X, 0).round(3)
    for name, model in {
        "model-v1": PUSVC(0.4, lam=1e-2).fit(X, Y),
        "linear-v1": LinearPUSVC(0.4).fit(X, Y),
        "sparse-v1": PUSVC(lam=1e-2, random_state=0).fit(
            sparse.csr_matrix(table), np.where(Y, "positive", "other")
        ),
    }.items():
        save(model, DATA / f"{name}.usmo", extra={"rows": 38})
        new = np.maximum(rows, 0) if name == "sparse-v1" else rows
        values = model.decision_function(sparse.csr_matrix(new) if name == "sparse-v1" else new)
        stored = {"class": type(model).__name__, "gap": model.certificate_.gap, "rows": new.tolist()}
        stored |= {"parameters": model.get_params(), "decision_values": values.tolist()}
        (DATA / f"{name}.json").write_text(json.dumps(stored) + "\n")


if __name__ == "__main__":
    write_golden()
